#include "host_state_detail.hpp"
#include "negotiate_detail.hpp"

#include "grapevine/base/log.hpp"

#include <algorithm>

namespace grapevine {
namespace {

// How long an opener waits before it asks for a slot again.
constexpr Duration slot_retry = 10ms;

}  // namespace

void Host::State::serve(PeerId const& peer, std::unique_ptr<MuxStream> stream) {
  tasks.spawn(serve_stream(peer, std::move(stream)));
}

Awaitable<> Host::State::serve_stream(PeerId peer, std::unique_ptr<MuxStream> stream) {
  auto knows = [this](std::string_view protocol) { return handlers.contains(protocol); };
  auto agreement = negotiate(*stream, multistream::Negotiation::answer(knows));
  auto const protocol = co_await with_deadline(
      doors.clock, doors.clock.now() + limits::negotiation_deadline, std::move(agreement));
  if (!protocol) {
    log_debug("stream of {}: {}", peer.text(), protocol.error().message());
    co_return;
  }
  stream->negotiated();
  auto const at = handlers.find(*protocol);
  if (at == handlers.end()) co_return;  // unhandled meanwhile
  auto const handler = at->second;      // a copy: it may be replaced while it runs
  PeerStream agreed{peer, *protocol, std::move(stream)};
  co_await handler(std::move(agreed));
}

// A slot may have to be waited for: streams the peer has not acknowledged are limited.
Awaitable<Result<std::unique_ptr<MuxStream>>> Host::State::new_stream(PeerId peer) {
  auto const deadline = doors.clock.now() + limits::negotiation_deadline;
  while (true) {
    auto* const connection = usable_connection(peer);
    if (connection == nullptr) co_return fail(Errc::not_connected, peer.text());
    auto stream = connection->open();
    if (stream || stream.error().errc() != Errc::limit_exceeded || doors.clock.now() >= deadline)
      co_return stream;
    co_await doors.clock.sleep_for(slot_retry);
  }
}

Awaitable<Result<PeerStream>> Host::State::open_stream(PeerId peer,
                                                       std::vector<std::string> protocols) {
  if (!connected(peer)) {
    CO_TRY(co_await connect(peer));
  }
  if (auto const at = peers.find(peer); at != peers.end() && at->second.identified) {
    auto const& spoken = at->second.identified->protocols;
    std::stable_partition(protocols.begin(), protocols.end(), [&spoken](std::string const& one) {
      return std::find(spoken.begin(), spoken.end(), one) != spoken.end();
    });
  }
  CO_TRY_ASSIGN(auto stream, co_await new_stream(peer));
  auto agreement = negotiate(*stream, multistream::Negotiation::propose(std::move(protocols)));
  CO_TRY_ASSIGN(auto protocol, co_await with_deadline(
                                   doors.clock, doors.clock.now() + limits::negotiation_deadline,
                                   std::move(agreement)));
  co_return PeerStream{std::move(peer), std::move(protocol), std::move(stream)};
}

}  // namespace grapevine
