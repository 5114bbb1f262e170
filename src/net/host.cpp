#include "host_state_detail.hpp"

#include "grapevine/base/assert.hpp"

namespace grapevine {

Host::State::State(Doors doors_, Identity identity_, HostOptions options_)
    : doors(doors_),
      identity(std::move(identity_)),
      options(std::move(options_)),
      credentials(make_credentials(identity, doors.random)),
      admission(options.loopback_exempt, doors.clock.now()),
      tasks(doors.executor) {
  serve_identify();
  serve_ping();
  if (options.perf) serve_perf();
}

Host::Host(Doors doors, Identity identity, HostOptions options)
    : state_(std::make_unique<State>(doors, std::move(identity), std::move(options))) {}

Host::~Host() = default;

Result<> Host::start() {
  ASSERT(!state_->started);
  for (auto const& address : state_->options.listen) {
    TRY(state_->listen(address));
  }
  state_->started = true;
  state_->tasks.spawn(state_->event_loop());
  state_->tasks.spawn(state_->push_loop());
  return {};
}

Awaitable<> Host::stop() {
  auto& state = *state_;
  state.stopping = true;
  for (auto& one : state.listeners) one.listener->close();
  for (auto const& [id, connection] : state.connections)
    connection->close(Error(Errc::closed, "we are stopping"));
  // Each connection ends by itself after its goodbye.
  while (!state.connections.empty()) co_await state.pool_changed.wait();
  state.tasks.cancel();
  co_await state.tasks.join();
}

PeerId const& Host::id() const { return state_->credentials.peer; }
Identity const& Host::identity() const { return state_->identity; }
std::uint16_t Host::port() const {
  auto const& listeners = state_->listeners;
  return listeners.empty() ? 0 : listeners.front().listener->local().port;
}

std::vector<Multiaddr> Host::addresses() const { return state_->addresses(); }

void Host::handle(std::string protocol, StreamHandler handler) {
  state_->handlers[std::move(protocol)] = std::move(handler);
  state_->want_push();
}

void Host::unhandle(std::string_view protocol) {
  auto const at = state_->handlers.find(protocol);
  if (at == state_->handlers.end()) return;
  state_->handlers.erase(at);
  state_->want_push();
}

Awaitable<Result<Multiaddr>> Host::listen(Multiaddr at) {
  auto const bound = state_->listen(at);
  if (bound) state_->want_push();
  co_return bound;
}

Awaitable<Result<PeerId>> Host::dial(Multiaddr address) {
  auto const expected = address.peer();
  if (expected && state_->connected(*expected)) co_return *expected;
  auto const key = expected ? expected->text() : address.text();
  std::vector<Multiaddr> const addresses{address.without_peer()};
  co_return co_await state_->dial(key, addresses, expected);
}

Awaitable<Result<PeerId>> Host::connect(PeerId peer) {
  co_return co_await state_->connect(std::move(peer));
}

Awaitable<Result<PeerStream>> Host::open_stream(PeerId peer, std::vector<std::string> protocols) {
  co_return co_await state_->open_stream(std::move(peer), std::move(protocols));
}

void Host::disconnect(PeerId const& peer) {
  auto const at = state_->peers.find(peer);
  if (at == state_->peers.end()) return;
  for (auto* connection : at->second.connections)
    connection->close(Error(Errc::closed, "closed by us"));
}

bool Host::connected(PeerId const& peer) const { return state_->connected(peer); }

std::vector<PeerConnection> Host::connections() const {
  std::vector<PeerConnection> all;
  for (auto const& [id, connection] : state_->connections) all.push_back(connection->snapshot());
  return all;
}

std::vector<PeerId> Host::peers() const {
  std::vector<PeerId> all;
  for (auto const& [peer, known] : state_->peers)
    if (state_->connected(peer)) all.push_back(peer);
  return all;
}

IdentifyInfo const* Host::identified(PeerId const& peer) const {
  auto const at = state_->peers.find(peer);
  if (at == state_->peers.end() || !at->second.identified) return nullptr;
  return &*at->second.identified;
}

Awaitable<Result<IdentifyInfo>> Host::identify(PeerId peer) {
  co_return co_await state_->identify(std::move(peer));
}

Awaitable<Result<std::vector<double>>> Host::ping(PeerId peer, std::uint32_t count) {
  co_return co_await state_->ping(std::move(peer), count);
}

Awaitable<Result<Host::PerfResult>> Host::perf(PeerId peer, std::uint64_t upload,
                                               std::uint64_t download) {
  co_return co_await state_->perf(std::move(peer), upload, download);
}

void Host::remember(PeerId const& peer, std::vector<Multiaddr> addresses) {
  if (peer != id()) state_->book.remember(peer, addresses);
}

std::vector<Multiaddr> Host::known_addresses(PeerId const& peer) const {
  return state_->book.addresses(peer);
}

void Host::on_event(std::function<void(Event const&)> listener) {
  state_->event_listeners.push_back(std::move(listener));
}

Host::Counters Host::counters() const {
  auto shown = state_->counters;
  for (auto const& [id, connection] : state_->connections) {
    auto const one = connection->snapshot();
    shown.bytes_in += one.bytes_in;
    shown.bytes_out += one.bytes_out;
  }
  shown.connections = state_->connections.size();
  shown.handshakes = state_->admission.handshakes();
  return shown;
}

}  // namespace grapevine
