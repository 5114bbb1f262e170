// Noise_XX_25519_ChaChaPoly_SHA256 as libp2p uses it: the handshake, the payload that ties the
// static key to a peer's identity, and the two ciphers it leaves behind. Pure: the caller injects
// the keys and moves the messages, framed or not. Nothing a payload says is to be used before
// verify_payload accepted it. A failed handshake stays failed.
// Sources: the Noise protocol framework (revision 34), libp2p specs noise/README.md.
#pragma once

#include "grapevine/base/bytes.hpp"
#include "grapevine/crypto/aead.hpp"
#include "grapevine/crypto/hash.hpp"
#include "grapevine/crypto/identity.hpp"
#include "grapevine/wire/peer_id.hpp"

#include <optional>
#include <string>
#include <vector>

namespace grapevine::noise {

enum class Role : std::uint8_t { initiator, responder };

using StaticKey = std::array<std::uint8_t, 32>;

// One direction of the transport phase: nonces count from zero, one per message.
class CipherState {
 public:
  explicit CipherState(AeadKey const& key) : aead_(key) {}

  // `message` holds the plaintext and 16 spare bytes behind it; it is encrypted where it lies.
  void seal(MutableByteView message);
  // Decrypts where it lies and returns the plaintext. Errc::decrypt_failed ends the connection.
  Result<MutableByteView> open(MutableByteView message);

 private:
  Aead aead_;
  std::uint64_t nonce_ = 0;
};

struct Ciphers {
  CipherState send;
  CipherState receive;
};

class Handshake {
 public:
  Handshake(Role role, X25519KeyPair static_key, X25519KeyPair ephemeral, ByteView prologue = {});

  [[nodiscard]] bool complete() const { return messages_ == 3; }
  [[nodiscard]] bool writes_next() const;
  // The next message with `payload` inside, when writes_next().
  Result<Bytes> write(ByteView payload);
  // The payload of the peer's next message, otherwise.
  Result<Bytes> read(ByteView message);

  [[nodiscard]] StaticKey const& remote_static() const { return remote_static_; }
  [[nodiscard]] Hash const& hash() const { return hash_; }
  // Once, when complete.
  [[nodiscard]] Ciphers split() const;

 private:
  struct Reader;
  void mix_hash(ByteView data);
  Result<> mix_key(StaticKey const& secret, StaticKey const& public_key);
  Result<> encrypt_and_hash(ByteView plain, Bytes& out);
  Result<Bytes> decrypt_and_hash(ByteView sealed);
  Result<Bytes> write_tokens(ByteView payload);
  Result<Bytes> read_tokens(ByteView message);
  Result<> read_ephemeral(Reader& in);
  Result<> read_static(Reader& in);

  Role role_;
  X25519KeyPair static_;
  X25519KeyPair ephemeral_;
  StaticKey remote_static_{};
  StaticKey remote_ephemeral_{};
  Hash hash_;
  Hash chaining_key_;
  std::optional<Aead> cipher_;  // none before the first mix_key
  std::uint64_t nonce_ = 0;
  int messages_ = 0;
  bool failed_ = false;
};

// The handshake payload protobuf: identity key, signature over the static key, muxers we speak.
[[nodiscard]] Bytes make_payload(Identity const& identity, StaticKey const& static_key,
                                 std::vector<std::string> const& muxers);

struct Remote {
  PublicKey key;
  PeerId peer;
  std::vector<std::string> muxers;  // empty when it sent none, or an unreasonable list
};
// Errc::malformed, Errc::bad_key, Errc::bad_signature.
[[nodiscard]] Result<Remote> verify_payload(ByteView payload, StaticKey const& remote_static);

// The initiator's first that the responder has too; nothing: negotiate by multistream.
[[nodiscard]] std::optional<std::string> choose_muxer(std::vector<std::string> const& initiator,
                                                      std::vector<std::string> const& responder);

}  // namespace grapevine::noise
