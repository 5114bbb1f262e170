#include "upgrade_detail.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"
#include "negotiate_detail.hpp"

#include <algorithm>

namespace grapevine {
namespace {

constexpr std::string_view noise_protocol = "/noise";
constexpr std::string_view yamux_protocol = "/yamux/1.0.0";

std::vector<std::string> const& our_muxers() {
  static std::vector<std::string> const muxers{std::string(yamux_protocol)};
  return muxers;
}

multistream::Negotiation propose(std::string_view protocol) {
  return multistream::Negotiation::propose({std::string(protocol)});
}
multistream::Negotiation answer(std::string_view protocol) {
  return multistream::Negotiation::answer(
      [protocol](std::string_view name) { return name == protocol; });
}

Awaitable<Result<>> write_message(ByteStream& socket, ByteView message) {
  Bytes framed;
  append_be<std::uint16_t>(framed, static_cast<std::uint16_t>(message.size()));
  append(framed, message);
  co_return co_await socket.write(framed);
}

Awaitable<Result<Bytes>> read_message(ByteStream& socket) {
  std::array<std::uint8_t, 2> length{};
  CO_TRY(co_await read_exactly(socket, length));
  Bytes message(read_be<std::uint16_t>(length));
  CO_TRY(co_await read_exactly(socket, message));
  co_return message;
}

// Noise frames as a byte stream, for the few lines that agree on the muxer.
class NoiseStream final : public ByteStream {
 public:
  NoiseStream(ByteStream& socket, noise::Ciphers& ciphers) : socket_(socket), ciphers_(ciphers) {}

  Awaitable<Result<std::size_t>> read_some(MutableByteView into) override {
    while (read_ == plain_.size()) {
      CO_TRY_ASSIGN(auto message, co_await read_message(socket_));
      CO_TRY_ASSIGN(auto const plain, ciphers_.receive.open(message));
      plain_.assign(plain.begin(), plain.end());
      read_ = 0;
    }
    auto const count = std::min(into.size(), plain_.size() - read_);
    std::copy_n(plain_.begin() + static_cast<std::ptrdiff_t>(read_), count, into.begin());
    read_ += count;
    co_return count;
  }
  Awaitable<Result<>> write(ByteView bytes) override {
    ASSERT(bytes.size() <= limits::noise_plaintext_max);
    Bytes message(bytes.begin(), bytes.end());
    message.resize(message.size() + aead_tag_bytes);
    ciphers_.send.seal(message);
    co_return co_await write_message(socket_, message);
  }
  Awaitable<Result<>> close_write() override { co_return co_await socket_.close_write(); }
  void reset() override { socket_.reset(); }

  [[nodiscard]] Bytes leftover() const {
    return {plain_.begin() + static_cast<std::ptrdiff_t>(read_), plain_.end()};
  }

 private:
  ByteStream& socket_;
  noise::Ciphers& ciphers_;
  Bytes plain_;
  std::size_t read_ = 0;
};

// Early negotiation when both sent lists that meet; otherwise multistream, as rust and py need.
Awaitable<Result<Upgraded>> agree_on_muxer(std::unique_ptr<Socket> socket, noise::Ciphers ciphers,
                                           noise::Remote remote, noise::Role role) {
  bool const dialled = role == noise::Role::initiator;
  auto const early = dialled ? noise::choose_muxer(our_muxers(), remote.muxers)
                             : noise::choose_muxer(remote.muxers, our_muxers());
  Upgraded upgraded{std::move(socket), std::move(ciphers), remote.peer, {}};
  if (early) co_return upgraded;
  NoiseStream stream(*upgraded.socket, upgraded.ciphers);
  auto machine = dialled ? propose(yamux_protocol) : answer(yamux_protocol);
  CO_TRY(co_await negotiate(stream, std::move(machine)));
  upgraded.leftover = stream.leftover();
  co_return upgraded;
}

Result<noise::Remote> check_remote(ByteView payload, noise::Handshake const& handshake,
                                   PeerId const& ourselves) {
  TRY_ASSIGN(auto remote, noise::verify_payload(payload, handshake.remote_static()));
  if (remote.peer == ourselves)
    return fail(Errc::wrong_peer, "ourselves (" + ourselves.text() + ") are at the other end");
  return remote;
}

}  // namespace

Credentials make_credentials(Identity const& identity, Random& random) {
  Credentials made;
  made.peer = PeerId::from_ed25519(identity.public_key().raw());
  made.static_key = X25519KeyPair::generate(random);
  made.payload = noise::make_payload(identity, made.static_key.public_key, our_muxers());
  return made;
}

Awaitable<Result<Upgraded>> upgrade_outbound(std::unique_ptr<Socket> socket,
                                             Credentials const& credentials, Random& random,
                                             std::optional<PeerId> expected) {
  CO_TRY(co_await negotiate(*socket, propose(noise_protocol)));
  noise::Handshake handshake(noise::Role::initiator, credentials.static_key,
                             X25519KeyPair::generate(random));
  CO_TRY_ASSIGN(auto const first, handshake.write({}));
  CO_TRY(co_await write_message(*socket, first));
  CO_TRY_ASSIGN(auto const second, co_await read_message(*socket));
  CO_TRY_ASSIGN(auto const payload, handshake.read(second));
  CO_TRY_ASSIGN(auto remote, check_remote(payload, handshake, credentials.peer));
  if (expected && remote.peer != *expected)
    co_return fail(Errc::wrong_peer,
                   "expected " + expected->text() + ", found " + remote.peer.text());
  CO_TRY_ASSIGN(auto const third, handshake.write(credentials.payload));
  CO_TRY(co_await write_message(*socket, third));
  co_return co_await agree_on_muxer(std::move(socket), handshake.split(), std::move(remote),
                                    noise::Role::initiator);
}

Awaitable<Result<Upgraded>> upgrade_inbound(std::unique_ptr<Socket> socket,
                                            Credentials const& credentials, Random& random) {
  CO_TRY(co_await negotiate(*socket, answer(noise_protocol)));
  noise::Handshake handshake(noise::Role::responder, credentials.static_key,
                             X25519KeyPair::generate(random));
  CO_TRY_ASSIGN(auto const first, co_await read_message(*socket));
  CO_TRY_ASSIGN(auto const nothing, handshake.read(first));
  if (!nothing.empty()) co_return fail(Errc::protocol_violation, "noise payload in the clear");
  CO_TRY_ASSIGN(auto const second, handshake.write(credentials.payload));
  CO_TRY(co_await write_message(*socket, second));
  CO_TRY_ASSIGN(auto const third, co_await read_message(*socket));
  CO_TRY_ASSIGN(auto const payload, handshake.read(third));
  CO_TRY_ASSIGN(auto remote, check_remote(payload, handshake, credentials.peer));
  co_return co_await agree_on_muxer(std::move(socket), handshake.split(), std::move(remote),
                                    noise::Role::responder);
}

}  // namespace grapevine
