#include "host_state_detail.hpp"

#include "grapevine/base/log.hpp"
#include "grapevine/wire/framing.hpp"

#include <algorithm>

namespace grapevine {
namespace {

// Messages until the end of the stream, merged into one.
Awaitable<Result<identify::Message>> read_messages(ByteStream& stream) {
  identify::Message message;
  FrameSplitter frames(limits::identify_message_max);
  Bytes buffer(limits::identify_message_max);
  std::size_t count = 0;
  while (true) {
    auto const got = co_await stream.read_some(buffer);
    if (!got && got.error().errc() == Errc::closed && count > 0 && frames.empty())
      co_return message;
    if (!got) co_return tl::unexpected(got.error());
    frames.feed(ByteView(buffer).first(*got));
    while (true) {
      CO_TRY_ASSIGN(auto const frame, frames.next());
      if (!frame) break;
      if (++count > limits::identify_messages_max)
        co_return fail(Errc::limit_exceeded, "too many identify messages");
      CO_TRY(identify::merge(message, *frame));
    }
  }
}

Awaitable<Result<>> send_message(ByteStream& stream, Bytes framed) {
  CO_TRY(co_await stream.write(framed));
  co_return co_await stream.close_write();  // FIN, not RST: go reads to the end
}

}  // namespace

void Host::State::serve_identify() {
  handlers[std::string(identify::protocol)] = [this](PeerStream stream) {
    return answer_identify(std::move(stream));
  };
  handlers[std::string(identify::push_protocol)] = [this](PeerStream stream) {
    return take_push(std::move(stream));
  };
}

Bytes Host::State::identify_message(PeerId const& to) const {
  identify::Message message;
  message.public_key = identity.public_key().protobuf();
  message.listen = addresses();
  message.protocol_version = options.protocol;
  message.agent_version = options.agent;
  for (auto const& [protocol, handler] : handlers) message.protocols.push_back(protocol);
  if (auto* const connection = usable_connection(to))
    message.observed = connection->info().address.without_peer();
  Bytes framed;
  append_frame(framed, identify::encode(message));
  return framed;
}

Awaitable<> Host::State::answer_identify(PeerStream stream) {
  auto sending = send_message(*stream.stream, identify_message(stream.peer));
  auto const deadline = doors.clock.now() + limits::identify_deadline;
  auto const sent = co_await with_deadline(doors.clock, deadline, std::move(sending));
  if (!sent) log_debug("identify for {}: {}", stream.peer.text(), sent.error().message());
}

Awaitable<> Host::State::take_push(PeerStream stream) {
  auto reading = read_messages(*stream.stream);
  auto const deadline = doors.clock.now() + limits::identify_deadline;
  auto message = co_await with_deadline(doors.clock, deadline, std::move(reading));
  if (!message) co_return;
  (void)learn(stream.peer, *std::move(message));
  (void)co_await stream.stream->close_write();
}

Awaitable<> Host::State::identify_new(PeerId peer) {
  auto const told = co_await identify(peer);
  if (!told) log_debug("identify of {}: {}", peer.text(), told.error().message());
}

// js closes streams that come in the first instant of a connection: one more try, a second later.
Awaitable<Result<IdentifyInfo>> Host::State::identify(PeerId peer) {
  auto told = co_await ask_identify(peer);
  if (told || !connected(peer)) co_return told;
  co_await doors.clock.sleep_for(limits::identify_retry_after);
  co_return co_await ask_identify(peer);
}

Awaitable<Result<IdentifyInfo>> Host::State::ask_identify(PeerId peer) {
  std::vector<std::string> const protocols(1, std::string(identify::protocol));
  CO_TRY_ASSIGN(auto stream, co_await open_stream(peer, protocols));
  auto reading = read_messages(*stream.stream);
  auto const deadline = doors.clock.now() + limits::identify_deadline;
  CO_TRY_ASSIGN(auto message, co_await with_deadline(doors.clock, deadline, std::move(reading)));
  (void)co_await stream.stream->close_write();
  co_return learn(peer, std::move(message));
}

Result<IdentifyInfo> Host::State::learn(PeerId const& peer, identify::Message message) {
  if (!message.public_key.empty()) {
    auto const key = PublicKey::from_protobuf(message.public_key);
    if (!key || PeerId::from_ed25519(key->raw()) != peer)
      return fail(Errc::wrong_peer, "identify message of " + peer.text() + " has another's key");
  }
  auto const at = peers.find(peer);
  auto* const connection = usable_connection(peer);
  if (at == peers.end() || connection == nullptr) return fail(Errc::not_connected, peer.text());

  // A loopback address means something only to those on the same machine.
  auto const seen = connection->info().address.tcp_endpoint();
  bool const same_machine = seen && seen->ip.is_loopback();
  std::vector<Multiaddr> useful;
  for (auto const& address : message.listen) {
    auto const endpoint = address.tcp_endpoint();
    bool const local = endpoint && endpoint->ip.is_loopback();
    if ((endpoint || address.tcp_name()) && (!local || same_machine)) useful.push_back(address);
  }
  book.remember(peer, useful);
  at->second.identified = IdentifyInfo{
      std::move(message.agent_version), std::move(message.protocol_version),
      std::move(message.listen), std::move(message.observed), std::move(message.protocols)};
  auto const& info = connection->info();
  emit({Event::identified, peer, info.direction, info.address, {}});
  return *at->second.identified;
}

void Host::State::want_push() {
  push_wanted = true;
  push_changed.notify_all();
}

// What changes together goes out together.
Awaitable<> Host::State::push_loop() {
  push_wanted = false;
  while (true) {
    while (!push_wanted) co_await push_changed.wait();
    co_await doors.clock.sleep_for(limits::identify_push_delay);
    push_wanted = false;
    std::vector<PeerId> interested;
    for (auto const& [peer, known] : peers) {
      if (!known.identified) continue;
      auto const& spoken = known.identified->protocols;
      if (std::find(spoken.begin(), spoken.end(), identify::push_protocol) != spoken.end())
        interested.push_back(peer);
    }
    for (auto const& peer : interested) tasks.spawn(push_to(peer));
  }
}

Awaitable<> Host::State::push_to(PeerId peer) {
  std::vector<std::string> const protocols(1, std::string(identify::push_protocol));
  auto stream = co_await open_stream(peer, protocols);
  if (!stream) co_return;
  auto sending = send_message(*stream->stream, identify_message(peer));
  auto const deadline = doors.clock.now() + limits::identify_deadline;
  (void)co_await with_deadline(doors.clock, deadline, std::move(sending));
}

}  // namespace grapevine
