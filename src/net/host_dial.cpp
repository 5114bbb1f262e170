#include "host_state_detail.hpp"

#include "grapevine/base/log.hpp"

#include <algorithm>

namespace grapevine {

// One attempt at a peer, however many wait for it.
struct Host::State::Dial {
  std::vector<Multiaddr> addresses;
  std::optional<PeerId> expected;
  std::optional<Result<PeerId>> result;
  Gate done;
};

// The addresses of one attempt against each other, a little apart; the first connection wins.
struct Host::State::Race {
  struct Lane {
    Multiaddr address;  // as given
    Endpoint endpoint;
  };
  std::vector<Lane> lanes;
  std::optional<PeerId> expected;
  std::size_t next = 0;
  std::size_t running = 0;
  std::optional<PeerId> winner;
  std::vector<Error> failures;
  Gate changed;
};

namespace {

IpFamily family_of(Multiaddr::Code code) {
  if (code == Multiaddr::dns4) return IpFamily::v4;
  return code == Multiaddr::dns6 ? IpFamily::v6 : IpFamily::any;
}

Errc summary_of(std::vector<Error> const& failures) {
  auto const first = failures.front().errc();
  auto const has = [&failures](Errc errc) {
    return std::any_of(failures.begin(), failures.end(),
                       [errc](Error const& one) { return one.errc() == errc; });
  };
  if (has(Errc::wrong_peer)) return Errc::wrong_peer;
  bool const alike = std::all_of(failures.begin(), failures.end(),
                                 [first](Error const& one) { return one.errc() == first; });
  return alike ? first : Errc::dial_failed;
}

// What all the addresses answered, in one error.
tl::unexpected<Error> all_failed(std::vector<Error> const& failures) {
  if (failures.empty()) return fail(Errc::dial_failed, "no address to dial");
  auto const summary = summary_of(failures);
  return fail(summary, details_of(failures, summary));
}

Error with_address(Error const& error, std::string const& address) {
  auto const& detail = error.detail();
  return Error(error.errc(), address + (detail.empty() ? "" : ": " + detail));
}

// A name with what it was resolved to: it may have several addresses.
std::string place_of(Multiaddr const& address, Endpoint const& endpoint) {
  if (address.tcp_endpoint()) return address.text();
  return address.text() + " at " + endpoint.text();
}

Awaitable<> wait_for(Gate& gate) { co_await gate.wait(); }

}  // namespace

Awaitable<Result<PeerId>> Host::State::connect(PeerId peer) {
  if (connected(peer)) co_return peer;
  if (peer == credentials.peer) co_return fail(Errc::wrong_peer, "that is ourselves");
  auto const key = peer.text();
  if (!dials.contains(key)) {
    if (book.addresses(peer).empty())
      co_return fail(Errc::not_connected, "no address known of " + key);
    if (book.dialable(peer, doors.clock.now()).empty())
      co_return fail(Errc::dial_failed, key + " failed lately; waiting before the next try");
  }
  co_return co_await dial(key, book.dialable(peer, doors.clock.now()), peer);
}

Awaitable<Result<PeerId>> Host::State::dial(std::string key, std::vector<Multiaddr> addresses,
                                            std::optional<PeerId> expected) {
  while (true) {
    if (stopping) co_return fail(Errc::closed, "we are stopping");
    auto const running = dials.find(key);
    bool const joined = running != dials.end();
    auto const attempt = joined ? running->second : std::make_shared<Dial>();
    if (!joined) {
      attempt->addresses = addresses;
      attempt->expected = expected;
      dials.emplace(key, attempt);
      tasks.spawn(run_dial(key, attempt));
    }
    while (!attempt->result) co_await attempt->done.wait();
    // One we only joined may have tried other addresses than ours.
    bool const same = std::all_of(addresses.begin(), addresses.end(), [&](Multiaddr const& one) {
      auto const& tried = attempt->addresses;
      return std::find(tried.begin(), tried.end(), one) != tried.end();
    });
    if (!joined || attempt->result->has_value() || same) co_return *attempt->result;
  }
}

Awaitable<> Host::State::run_dial(std::string key, std::shared_ptr<Dial> dial) {
  // Those who wait are released even when this task is cancelled.
  struct Entry {
    State& state;
    std::string const& key;
    Dial& dial;
    ~Entry() {
      if (!dial.result) dial.result = fail(Errc::cancelled, "dial of " + key);
      state.dials.erase(key);
      dial.done.notify_all();
    }
  };
  Entry const entry{*this, key, *dial};
  auto result = co_await race_addresses(dial);
  if (!result) ++counters.dials_failed;
  dial->result = std::move(result);
}

Awaitable<Result<PeerId>> Host::State::race_addresses(std::shared_ptr<Dial> dial) {
  Race race;
  race.expected = dial->expected;
  for (auto const& address : dial->addresses) {
    if (auto const endpoint = address.tcp_endpoint()) {
      race.lanes.push_back({address, *endpoint});
    } else if (auto const name = address.tcp_name()) {
      auto lookup = doors.network.resolve(name->host, family_of(name->family));
      auto const deadline = doors.clock.now() + limits::dial_connect_deadline;
      auto const found = co_await with_deadline(doors.clock, deadline, std::move(lookup));
      if (!found) race.failures.push_back(with_address(found.error(), address.text()));
      for (auto const& ip : found.value_or(std::vector<IpAddress>{}))
        race.lanes.push_back({address, {ip, name->port}});
    } else {
      race.failures.emplace_back(Errc::unsupported, address.text());
    }
  }
  if (race.lanes.size() > limits::dial_addresses_max) race.lanes.resize(limits::dial_addresses_max);
  std::function<Awaitable<>(TaskGroup&)> const body = [this, &race](TaskGroup& group) {
    return run_race(group, race);
  };
  co_await with_tasks(body);
  if (race.winner) co_return *race.winner;
  co_return all_failed(race.failures);
}

Awaitable<> Host::State::run_race(TaskGroup& group, Race& race) {
  while (!race.winner && (race.next < race.lanes.size() || race.running > 0)) {
    bool const start = race.next < race.lanes.size() && race.running < limits::dials_per_peer_max;
    if (start) {
      ++race.running;
      group.spawn(attempt(race, race.next++));
    }
    std::vector<Awaitable<>> either;
    either.push_back(wait_for(race.changed));
    if (start && race.next < race.lanes.size())
      either.push_back(doors.clock.sleep_for(limits::dial_stagger));
    co_await first_of(std::move(either));
  }
}

Awaitable<> Host::State::attempt(Race& race, std::size_t index) {
  struct Place {
    State& state;
    ~Place() {
      --state.dials_running;
      state.dial_ended.notify_all();
    }
  };
  while (dials_running >= limits::dials_parallel_max) co_await dial_ended.wait();
  ++dials_running;
  Place const place{*this};
  auto const& lane = race.lanes[index];
  auto const found = co_await dial_endpoint(lane.endpoint, lane.address, race.expected);
  --race.running;
  if (found)
    race.winner = *found;
  else
    race.failures.push_back(with_address(found.error(), place_of(lane.address, lane.endpoint)));
  race.changed.notify_all();
}

Awaitable<Result<PeerId>> Host::State::dial_endpoint(Endpoint endpoint, Multiaddr address,
                                                     std::optional<PeerId> expected) {
  auto& clock = doors.clock;
  auto connecting = doors.network.connect(endpoint);
  auto socket = co_await with_deadline(clock, clock.now() + limits::dial_connect_deadline,
                                       std::move(connecting));
  if (!socket) {
    if (expected) book.failed(*expected, address, clock.now());
    if (socket.error().errc() != Errc::timed_out) co_return tl::unexpected(socket.error());
    co_return fail(Errc::unreachable, "nobody answers");
  }
  auto upgrading = upgrade_outbound(*std::move(socket), credentials, doors.random, expected);
  auto upgraded =
      co_await with_deadline(clock, clock.now() + limits::upgrade_deadline, std::move(upgrading));
  if (!upgraded) {
    if (expected && upgraded.error().errc() == Errc::wrong_peer)
      book.forget(*expected, address);
    else if (expected)
      book.failed(*expected, address, clock.now());
    co_return tl::unexpected(upgraded.error());
  }
  auto const peer = upgraded->peer;
  CO_TRY(adopt(*std::move(upgraded), address, Direction::outbound));
  book.worked(peer, address);
  co_return peer;
}

}  // namespace grapevine
