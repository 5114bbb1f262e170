#include "grapevine/crypto/hash.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/base32.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>

namespace grapevine {
namespace {

constexpr std::array<std::uint8_t, 4> cid_prefix = {0x01, 0x55, 0x12, 0x20};  // v1, raw, sha2-256
constexpr std::size_t cid_text_bytes = 59;  // 'b' and 36 bytes in base32

EVP_MD const* sha256_algorithm() {
  // Fetched once: an implicit fetch costs more than the hash of a small message.
  static EVP_MD const* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  ASSERT(algorithm != nullptr);
  return algorithm;
}

}  // namespace

std::string Hash::hex() const { return to_hex(bytes); }

std::string Hash::cid() const {
  Bytes binary(cid_prefix.begin(), cid_prefix.end());
  append(binary, bytes);
  return 'b' + to_base32(binary);
}

Result<Hash> Hash::parse(std::string_view text) {
  if (text.size() == 2 * sizeof(Hash::bytes)) {
    TRY_ASSIGN(auto const raw, from_hex(text));
    return from_bytes(raw);
  }
  if (text.size() != cid_text_bytes || text.front() != 'b')
    return fail(Errc::malformed, "not a hash: 64 hex digits or a CID that starts with bafkrei");
  TRY_ASSIGN(auto const binary, from_base32(text.substr(1)));
  if (!std::equal(cid_prefix.begin(), cid_prefix.end(), binary.begin()))
    return fail(Errc::unsupported, "a CID that is not version 1, raw, sha2-256");
  return from_bytes(ByteView(binary).subspan(cid_prefix.size()));
}

Result<Hash> Hash::from_bytes(ByteView bytes) {
  Hash hash;
  if (bytes.size() != hash.bytes.size())
    return fail(Errc::malformed, "hash of " + std::to_string(bytes.size()) + " bytes");
  std::copy(bytes.begin(), bytes.end(), hash.bytes.begin());
  return hash;
}

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();

  State() {
    ASSERT(context != nullptr);
    start();
  }
  ~State() { EVP_MD_CTX_free(context); }
  State(State const&) = delete;
  State& operator=(State const&) = delete;
  void start() { ASSERT(EVP_DigestInit_ex2(context, sha256_algorithm(), nullptr) == 1); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(ByteView data) {
  ASSERT(EVP_DigestUpdate(state_->context, data.data(), data.size()) == 1);
}

Hash Sha256::finish() {
  Hash hash;
  ASSERT(EVP_DigestFinal_ex(state_->context, hash.bytes.data(), nullptr) == 1);
  state_->start();
  return hash;
}

Hash sha256(ByteView data) {
  thread_local Sha256 hasher;  // spares an allocation a call
  hasher.update(data);
  return hasher.finish();
}

Hash hmac_sha256(ByteView key, ByteView data) {
  if (key.data() == nullptr) key = as_bytes("");  // libcrypto takes null for a missing key
  Hash hash;
  ASSERT(HMAC(sha256_algorithm(), key.data(), static_cast<int>(key.size()), data.data(),
              data.size(), hash.bytes.data(), nullptr) != nullptr);
  return hash;
}

}  // namespace grapevine
