#include "host_state_detail.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/log.hpp"

#include <algorithm>

namespace grapevine {

Result<> Host::State::adopt(Upgraded upgraded, Multiaddr address, Direction direction) {
  if (stopping) return fail(Errc::closed, "we are stopping");
  auto const peer = upgraded.peer;
  auto const remote = upgraded.socket->ends().remote.ip;
  if (connections.size() >= limits::connections_max)
    return fail(Errc::limit_exceeded, "too many connections");
  if (auto const at = peers.find(peer);
      at != peers.end() && at->second.connections.size() >= limits::connections_per_peer_max)
    return fail(Errc::limit_exceeded, "too many connections with " + peer.text());
  if (!admission.connected(remote))
    return fail(Errc::limit_exceeded, "too many connections with " + remote.text());

  Connection::Info info{++connections_made, peer, std::move(address), direction, doors.clock.now()};
  auto made = std::make_unique<Connection>(
      doors.clock, std::move(upgraded), info,
      [this, peer](std::unique_ptr<MuxStream> stream) { serve(peer, std::move(stream)); });
  auto& connection = *made;
  connections.emplace(info.id, std::move(made));
  auto& known = peers[peer];
  for (auto* const older : known.connections) older->probe();  // the peer may have restarted
  known.connections.push_back(&connection);
  if (known.connections.size() == 1) {
    emit({Event::connected, peer, direction, info.address, {}});
    tasks.spawn(identify_new(peer));
  }
  tasks.spawn(run_connection(connection, remote));
  pool_changed.notify_all();
  return {};
}

Awaitable<> Host::State::run_connection(Connection& connection, IpAddress remote) {
  // Cancelled or not, the connection leaves the pool with its task.
  struct Membership {
    State& state;
    std::uint64_t id;
    IpAddress remote;
    std::string reason = "cancelled";
    ~Membership() {
      state.admission.disconnected(remote);
      state.remove(id, reason);
    }
  };
  Membership membership{*this, connection.info().id, remote};
  auto const reason = co_await connection.run();
  membership.reason =
      reason.detail().empty() ? std::string(explain(reason.errc()).title) : reason.detail();
}

void Host::State::remove(std::uint64_t id, std::string reason) {
  auto const at = connections.find(id);
  ASSERT(at != connections.end());
  auto const info = at->second->info();
  auto const totals = at->second->snapshot();
  counters.bytes_in += totals.bytes_in;
  counters.bytes_out += totals.bytes_out;
  auto const known = peers.find(info.peer);
  ASSERT(known != peers.end());
  std::erase(known->second.connections, at->second.get());
  if (known->second.connections.empty()) {
    peers.erase(known);
    emit({Event::disconnected, info.peer, info.direction, info.address, std::move(reason)});
  }
  connections.erase(at);
  pool_changed.notify_all();
}

// The oldest, so that both sides of a double connection tend to choose the same one.
Connection* Host::State::usable_connection(PeerId const& peer) const {
  auto const at = peers.find(peer);
  if (at == peers.end()) return nullptr;
  auto const& all = at->second.connections;
  auto const one =
      std::find_if(all.begin(), all.end(), [](Connection const* each) { return each->usable(); });
  return one == all.end() ? nullptr : *one;
}

void Host::State::emit(Event event) {
  events.push_back(std::move(event));
  events_ready.notify_all();
}

// In a task of its own, so that a listener never runs inside a call to the host.
Awaitable<> Host::State::event_loop() {
  while (true) {
    while (events.empty()) co_await events_ready.wait();
    auto const event = std::move(events.front());
    events.pop_front();
    for (std::size_t i = 0; i < event_listeners.size(); ++i) event_listeners[i](event);
  }
}

}  // namespace grapevine
