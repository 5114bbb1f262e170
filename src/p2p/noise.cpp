#include "grapevine/p2p/noise.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"

#include <limits>

namespace grapevine::noise {
namespace {

constexpr std::string_view protocol_name = "Noise_XX_25519_ChaChaPoly_SHA256";
static_assert(protocol_name.size() == 32);

// Four zero bytes, then the counter, little-endian (Noise 12.3): the usual big-endian slip shows
// only from the second message on.
AeadNonce nonce_of(std::uint64_t counter) {
  AeadNonce nonce{};
  for (std::size_t i = 0; i < 8; ++i) nonce[4 + i] = static_cast<std::uint8_t>(counter >> (8 * i));
  return nonce;
}

struct DerivedKeys {
  Hash first;
  Hash second;
};

DerivedKeys hkdf(Hash const& chaining_key, ByteView input) {
  Hash const temporary = hmac_sha256(chaining_key.view(), input);
  std::uint8_t const one = 1;
  DerivedKeys keys;
  keys.first = hmac_sha256(temporary.view(), {&one, 1});
  Bytes rest(keys.first.bytes.begin(), keys.first.bytes.end());
  rest.push_back(2);
  keys.second = hmac_sha256(temporary.view(), rest);
  return keys;
}

}  // namespace

void CipherState::seal(MutableByteView message) {
  ASSERT(message.size() >= aead_tag_bytes);
  ASSERT(message.size() <= limits::noise_message_max);
  ASSERT(nonce_ != std::numeric_limits<std::uint64_t>::max());
  aead_.seal(nonce_of(nonce_++), {}, message.first(message.size() - aead_tag_bytes), message);
}

Result<MutableByteView> CipherState::open(MutableByteView message) {
  if (message.size() < aead_tag_bytes)
    return fail(Errc::malformed, "noise message shorter than its tag");
  if (nonce_ == std::numeric_limits<std::uint64_t>::max())
    return fail(Errc::limit_exceeded, "noise nonces used up");
  auto const plain = message.first(message.size() - aead_tag_bytes);
  TRY(aead_.open(nonce_of(nonce_), {}, message, plain));
  ++nonce_;  // only now: an unauthentic message must not move the state
  return plain;
}

struct Handshake::Reader {
  ByteView left;

  Result<ByteView> take(std::size_t size) {
    if (left.size() < size) return fail(Errc::truncated, "noise handshake message");
    auto const taken = left.first(size);
    left = left.subspan(size);
    return taken;
  }
};

Handshake::Handshake(Role role, X25519KeyPair static_key, X25519KeyPair ephemeral,
                     ByteView prologue)
    : role_(role), static_(static_key), ephemeral_(ephemeral) {
  auto const name = as_bytes(protocol_name);
  std::copy(name.begin(), name.end(), hash_.bytes.begin());
  chaining_key_ = hash_;
  mix_hash(prologue);
}

bool Handshake::writes_next() const {
  return !complete() && (messages_ % 2 == 0) == (role_ == Role::initiator);
}

Result<Bytes> Handshake::write(ByteView payload) {
  ASSERT(writes_next());
  if (failed_) return fail(Errc::protocol_violation, "noise handshake failed before");
  auto message = write_tokens(payload);
  failed_ = !message.has_value();
  ++messages_;
  return message;
}

Result<Bytes> Handshake::read(ByteView message) {
  ASSERT(!complete());
  ASSERT(!writes_next());
  if (failed_) return fail(Errc::protocol_violation, "noise handshake failed before");
  auto payload = read_tokens(message);
  failed_ = !payload.has_value();
  ++messages_;
  return payload;
}

Ciphers Handshake::split() const {
  ASSERT(complete());
  ASSERT(!failed_);
  auto const keys = hkdf(chaining_key_, {});
  CipherState first(keys.first.bytes), second(keys.second.bytes);
  if (role_ == Role::initiator) return {std::move(first), std::move(second)};
  return {std::move(second), std::move(first)};
}

void Handshake::mix_hash(ByteView data) {
  Sha256 hasher;
  hasher.update(hash_.view());
  hasher.update(data);
  hash_ = hasher.finish();
}

Result<> Handshake::mix_key(StaticKey const& secret, StaticKey const& public_key) {
  TRY_ASSIGN(auto const shared, x25519(secret, public_key));
  auto const keys = hkdf(chaining_key_, shared);
  chaining_key_ = keys.first;
  cipher_.emplace(keys.second.bytes);
  nonce_ = 0;
  return {};
}

Result<> Handshake::encrypt_and_hash(ByteView plain, Bytes& out) {
  auto const start = out.size();
  append(out, plain);
  if (cipher_) {
    out.resize(out.size() + aead_tag_bytes);
    if (out.size() > limits::noise_message_max)
      return fail(Errc::oversize, "noise handshake payload");
    auto const sealed = MutableByteView(out).subspan(start);
    cipher_->seal(nonce_of(nonce_++), hash_.view(), sealed.first(plain.size()), sealed);
  }
  mix_hash(ByteView(out).subspan(start));
  return {};
}

Result<Bytes> Handshake::decrypt_and_hash(ByteView sealed) {
  if (!cipher_) {
    mix_hash(sealed);
    return Bytes(sealed.begin(), sealed.end());
  }
  if (sealed.size() < aead_tag_bytes) return fail(Errc::truncated, "noise handshake message");
  Bytes plain(sealed.size() - aead_tag_bytes);
  TRY(cipher_->open(nonce_of(nonce_), hash_.view(), sealed, plain));
  ++nonce_;
  mix_hash(sealed);
  return plain;
}

// XX:  -> e    <- e, ee, s, es    -> s, se
Result<Bytes> Handshake::write_tokens(ByteView payload) {
  Bytes out;
  if (messages_ < 2) {
    append(out, ephemeral_.public_key);
    mix_hash(ephemeral_.public_key);
  }
  if (messages_ == 1) {
    TRY(mix_key(ephemeral_.secret, remote_ephemeral_));
    TRY(encrypt_and_hash(static_.public_key, out));
    TRY(mix_key(static_.secret, remote_ephemeral_));
  } else if (messages_ == 2) {
    TRY(encrypt_and_hash(static_.public_key, out));
    TRY(mix_key(static_.secret, remote_ephemeral_));
  }
  TRY(encrypt_and_hash(payload, out));
  return out;
}

Result<Bytes> Handshake::read_tokens(ByteView message) {
  Reader in{message};
  if (messages_ < 2) {
    TRY(read_ephemeral(in));
  }
  if (messages_ == 1) {
    TRY(mix_key(ephemeral_.secret, remote_ephemeral_));
    TRY(read_static(in));
    TRY(mix_key(ephemeral_.secret, remote_static_));
  } else if (messages_ == 2) {
    TRY(read_static(in));
    TRY(mix_key(ephemeral_.secret, remote_static_));
  }
  return decrypt_and_hash(in.left);
}

Result<> Handshake::read_ephemeral(Reader& in) {
  TRY_ASSIGN(auto const key, in.take(remote_ephemeral_.size()));
  std::copy(key.begin(), key.end(), remote_ephemeral_.begin());
  mix_hash(key);
  return {};
}

Result<> Handshake::read_static(Reader& in) {
  TRY_ASSIGN(auto const sealed, in.take(remote_static_.size() + aead_tag_bytes));
  TRY_ASSIGN(auto const key, decrypt_and_hash(sealed));
  std::copy(key.begin(), key.end(), remote_static_.begin());
  return {};
}

}  // namespace grapevine::noise
