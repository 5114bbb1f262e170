#include "grapevine/crypto/aead.hpp"

#include "sodium_detail.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <limits>

namespace grapevine {
namespace {

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

enum Direction : int { opening = 0, sealing = 1 };

Context make_context(AeadKey const& key, Direction direction) {
  // Fetched once: an implicit fetch takes locks.
  static EVP_CIPHER const* const cipher = EVP_CIPHER_fetch(nullptr, "ChaCha20-Poly1305", nullptr);
  Context context(EVP_CIPHER_CTX_new());
  ASSERT(cipher != nullptr && context != nullptr);
  ASSERT(EVP_CipherInit_ex2(context.get(), cipher, key.data(), nullptr, direction, nullptr) == 1);
  return context;
}

int int_size(ByteView bytes) {
  ASSERT(bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()));
  return static_cast<int>(bytes.size());
}

void start(Context const& context, AeadNonce const& nonce, ByteView associated) {
  // Direction -1 keeps the one set with the key.
  ASSERT(EVP_CipherInit_ex2(context.get(), nullptr, nullptr, nonce.data(), -1, nullptr) == 1);
  int written = 0;
  if (!associated.empty())
    ASSERT(EVP_CipherUpdate(context.get(), nullptr, &written, associated.data(),
                            int_size(associated)) == 1);
}

void run(Context const& context, ByteView from, std::uint8_t* to) {
  if (from.empty()) return;
  int written = 0;
  ASSERT(EVP_CipherUpdate(context.get(), to, &written, from.data(), int_size(from)) == 1);
  ASSERT(static_cast<std::size_t>(written) == from.size());
}

}  // namespace

struct Aead::State {
  AeadKey key;
  Context seal;  // each made at its first use: most keys serve one direction
  Context open;

  explicit State(AeadKey const& k) : key(k) {}
  ~State() { sodium_memzero(key.data(), key.size()); }
  State(State const&) = delete;
  State& operator=(State const&) = delete;
};

Aead::Aead(AeadKey const& key) : state_(std::make_unique<State>(key)) { use_sodium(); }
Aead::~Aead() = default;
Aead::Aead(Aead&&) noexcept = default;
Aead& Aead::operator=(Aead&&) noexcept = default;

void Aead::seal(AeadNonce const& nonce, ByteView associated, ByteView plain, MutableByteView out) {
  ASSERT(out.size() == plain.size() + aead_tag_bytes);
  auto& context = state_->seal;
  if (!context) context = make_context(state_->key, sealing);
  start(context, nonce, associated);
  run(context, plain, out.data());
  auto* const tag = out.data() + plain.size();
  int written = 0;
  ASSERT(EVP_CipherFinal_ex(context.get(), tag, &written) == 1);
  ASSERT(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, aead_tag_bytes, tag) == 1);
}

Result<> Aead::open(AeadNonce const& nonce, ByteView associated, ByteView sealed,
                    MutableByteView out) {
  if (sealed.size() < aead_tag_bytes)
    return fail(Errc::decrypt_failed, "sealed message shorter than its tag");
  auto const cipher_text = sealed.first(sealed.size() - aead_tag_bytes);
  ASSERT(out.size() == cipher_text.size());
  std::array<std::uint8_t, aead_tag_bytes> tag{};
  std::memcpy(tag.data(), sealed.data() + cipher_text.size(), tag.size());
  auto& context = state_->open;
  if (!context) context = make_context(state_->key, opening);
  start(context, nonce, associated);
  ASSERT(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, aead_tag_bytes, tag.data()) ==
         1);
  run(context, cipher_text, out.data());
  std::array<std::uint8_t, aead_tag_bytes> rest{};
  int written = 0;
  if (EVP_CipherFinal_ex(context.get(), rest.data(), &written) != 1)
    return fail(Errc::decrypt_failed, "wrong tag");
  return {};
}

X25519KeyPair::~X25519KeyPair() { sodium_memzero(secret.data(), secret.size()); }

X25519KeyPair X25519KeyPair::generate(Random& random) {
  std::array<std::uint8_t, 32> secret{};
  random.fill(secret);
  X25519KeyPair pair = from_secret(secret);
  sodium_memzero(secret.data(), secret.size());
  return pair;
}

X25519KeyPair X25519KeyPair::from_secret(std::span<std::uint8_t const, 32> secret) {
  use_sodium();
  X25519KeyPair pair;
  std::copy(secret.begin(), secret.end(), pair.secret.begin());
  crypto_scalarmult_base(pair.public_key.data(), pair.secret.data());
  return pair;
}

Result<std::array<std::uint8_t, 32>> x25519(std::span<std::uint8_t const, 32> secret,
                                            std::span<std::uint8_t const, 32> public_key) {
  use_sodium();
  std::array<std::uint8_t, 32> shared{};
  if (crypto_scalarmult(shared.data(), secret.data(), public_key.data()) != 0)
    return fail(Errc::bad_key, "X25519 public key of small order");
  return shared;
}

}  // namespace grapevine
