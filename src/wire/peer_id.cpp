#include "grapevine/wire/peer_id.hpp"

#include "grapevine/wire/base58.hpp"
#include "grapevine/wire/multibase.hpp"

namespace grapevine {
namespace {

enum Multihash : std::uint8_t { identity = 0x00, sha2_256 = 0x12 };
constexpr std::size_t identity_bytes_max = 42;
constexpr std::array<std::uint8_t, 2> cid_prefix = {0x01, 0x72};  // version 1, libp2p-key
// Identity hash of an Ed25519 public key protobuf; the key follows.
constexpr std::array<std::uint8_t, 6> ed25519_prefix = {0x00, 0x24, 0x08, 0x01, 0x12, 0x20};
constexpr std::size_t brief_characters = 6;

bool starts_with(ByteView bytes, ByteView prefix) {
  return bytes.size() >= prefix.size() && std::ranges::equal(bytes.first(prefix.size()), prefix);
}

}  // namespace

Result<PeerId> PeerId::from_bytes(ByteView multihash) {
  if (multihash.size() < 2 || multihash[1] != multihash.size() - 2)
    return fail(Errc::malformed, "peer id of a wrong length");
  bool const known =
      (multihash[0] == identity && multihash[1] > 0 && multihash[1] <= identity_bytes_max) ||
      (multihash[0] == sha2_256 && multihash[1] == 32);
  if (!known) return fail(Errc::malformed, "peer id that is no identity or sha2-256 multihash");
  PeerId id;
  std::ranges::copy(multihash, id.bytes_.begin());
  id.size_ = static_cast<std::uint8_t>(multihash.size());
  return id;
}

PeerId PeerId::from_ed25519(std::span<std::uint8_t const, 32> public_key) {
  PeerId id;
  std::ranges::copy(ed25519_prefix, id.bytes_.begin());
  std::ranges::copy(public_key, id.bytes_.begin() + ed25519_prefix.size());
  id.size_ = ed25519_prefix.size() + 32;
  return id;
}

Result<PeerId> PeerId::parse(std::string_view text) {
  if (text.starts_with('1') || text.starts_with("Qm")) {
    TRY_ASSIGN(auto const multihash, from_base58(text));
    return from_bytes(multihash);
  }
  TRY_ASSIGN(auto const cid, from_multibase(text));
  if (!starts_with(cid, cid_prefix))
    return fail(Errc::malformed, "peer id as a CID of another version or codec than libp2p-key");
  return from_bytes(ByteView(cid).subspan(cid_prefix.size()));
}

std::string PeerId::text() const { return to_base58(bytes()); }

std::string PeerId::cid() const {
  Bytes binary(cid_prefix.begin(), cid_prefix.end());
  append(binary, bytes());
  return to_multibase(Multibase::base32, binary);
}

std::string PeerId::brief() const {
  std::string const whole = text();
  return whole.substr(whole.size() - std::min(whole.size(), brief_characters));
}

Result<std::array<std::uint8_t, 32>> PeerId::ed25519() const {
  std::array<std::uint8_t, 32> key{};
  if (size_ != ed25519_prefix.size() + key.size() || !starts_with(bytes(), ed25519_prefix))
    return fail(Errc::unsupported, "peer id " + text() + " holds no Ed25519 key");
  std::ranges::copy(bytes().subspan(ed25519_prefix.size()), key.begin());
  return key;
}

}  // namespace grapevine
