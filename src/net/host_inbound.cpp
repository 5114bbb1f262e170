#include "host_state_detail.hpp"

#include "grapevine/base/log.hpp"

namespace grapevine {
namespace {

// After a failure to accept (as when file descriptors run out) nothing is gained by haste.
constexpr Duration accept_pause = 100ms;

}  // namespace

Result<Multiaddr> Host::State::listen(Multiaddr const& at) {
  auto const endpoint = at.tcp_endpoint();
  if (!endpoint) return fail(Errc::unsupported, "cannot listen on " + at.text());
  auto wanted = *endpoint;
  if (wanted.port == 0) wanted.port = options.port_wanted;
  auto listener = doors.network.listen(wanted);
  if (!listener && wanted.port != endpoint->port) listener = doors.network.listen(*endpoint);
  if (!listener) {
    auto const& error = listener.error();
    if (error.errc() != Errc::address_in_use) return tl::unexpected(error);
    return fail(Errc::port_in_use, at.text());
  }
  auto& one = listeners.emplace_back();
  one.listener = *std::move(listener);
  one.address = Multiaddr::tcp_address(one.listener->local());
  tasks.spawn(accept_loop(*one.listener));
  return one.address;
}

std::vector<Multiaddr> Host::State::addresses() const {
  if (!options.announce.empty()) return options.announce;
  std::vector<Multiaddr> all;
  for (auto const& one : listeners) {
    auto const local = one.listener->local();
    if (!local.ip.is_unspecified()) {
      all.push_back(one.address);
      continue;
    }
    for (auto const& ip : doors.network.interfaces())
      if (ip.is_v6 == local.ip.is_v6) all.push_back(Multiaddr::tcp_address({ip, local.port}));
  }
  return all;
}

Awaitable<> Host::State::accept_loop(Listener& listener) {
  while (!stopping) {
    auto socket = co_await listener.accept();
    if (socket) {
      admit(*std::move(socket));
      continue;
    }
    if (stopping || socket.error().errc() == Errc::closed) co_return;
    log_warn("{}", socket.error().message());
    co_await doors.clock.sleep_for(accept_pause);
  }
}

void Host::State::admit(std::unique_ptr<Socket> socket) {
  auto const serial = ++handshakes_begun;
  auto const decision = admission.begin(serial, socket->ends().remote.ip, doors.clock.now());
  if (decision.evicted) evict(*decision.evicted);
  if (!decision.admitted || stopping) {
    ++counters.inbound_refused;
    socket->reset();
    return;
  }
  tasks.spawn(welcome(std::move(socket), serial));
}

// Frees the slot however the handshake ends.
class Host::State::Slot {
 public:
  Slot(State& state, std::uint64_t serial) : state_(state), serial_(serial) {
    state_.handshakes.emplace(serial_, this);
  }
  ~Slot() {
    state_.handshakes.erase(serial_);
    state_.admission.finished(serial_);
  }
  Slot(Slot const&) = delete;

  void evict() {
    evicted_ = true;
    changed_.notify_all();
  }
  Awaitable<> wait_for_eviction() {
    while (!evicted_) co_await changed_.wait();
  }

 private:
  State& state_;
  std::uint64_t serial_;
  bool evicted_ = false;
  Gate changed_;
};

void Host::State::evict(std::uint64_t serial) {
  ++counters.inbound_refused;
  if (auto const at = handshakes.find(serial); at != handshakes.end()) at->second->evict();
}

Awaitable<> Host::State::welcome(std::unique_ptr<Socket> socket, std::uint64_t serial) {
  Slot slot(*this, serial);
  auto const remote = socket->ends().remote;
  std::optional<Result<Upgraded>> upgraded;
  std::vector<Awaitable<>> race;
  race.push_back(upgrade_in_time(std::move(socket), upgraded));
  race.push_back(slot.wait_for_eviction());
  co_await first_of(std::move(race));
  if (!upgraded) co_return;
  auto adopted = upgraded->and_then([&](Upgraded& one) {
    return adopt(std::move(one), Multiaddr::tcp_address(remote), Direction::inbound);
  });
  if (adopted) co_return;
  ++counters.inbound_refused;
  log_debug("inbound {}: {}", remote.text(), adopted.error().message());
}

Awaitable<> Host::State::upgrade_in_time(std::unique_ptr<Socket> socket,
                                         std::optional<Result<Upgraded>>& into) {
  auto upgrade = upgrade_inbound(std::move(socket), credentials, doors.random);
  auto const deadline = doors.clock.now() + limits::upgrade_deadline;
  into.emplace(co_await with_deadline(doors.clock, deadline, std::move(upgrade)));
}

}  // namespace grapevine
