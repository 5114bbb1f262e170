// Finding the run and the others. A run shows itself by its topics: whoever takes part is
// subscribed to grapevine/RUN/beacon, and the manifest is a blob whose root is RUN.

#include "grapevine/base/limits.hpp"
#include "grapevine/base/log.hpp"
#include "node/node_state_detail.hpp"

#include <fmt/core.h>

#include <bit>

namespace grapevine {
namespace {

constexpr std::string_view manifest_path = "manifest.json";
constexpr std::string_view topic_prefix = "grapevine/";
constexpr std::string_view topic_suffix = "/beacon";
constexpr Duration discover_patience = 20s;
constexpr Duration bootstrap_patience = 45s;
constexpr Duration bootstrap_pause = 2s;
constexpr Duration look_patience = 5s;  // of a peer that can go on without
constexpr std::size_t connections_wanted = 12;
constexpr Duration connect_pause = 2s;
constexpr std::uint64_t bootstrap_turns = 8;  // of that pause
constexpr Duration remember_pause = 500ms;
constexpr Duration remember_again = 10s;

// Peers subscribe to whatever they like: only what is a hash names a run.
std::optional<std::string> run_of_topic(std::string_view topic) {
  if (!topic.starts_with(topic_prefix) || !topic.ends_with(topic_suffix)) return std::nullopt;
  if (topic.size() <= topic_prefix.size() + topic_suffix.size()) return std::nullopt;
  auto const run =
      topic.substr(topic_prefix.size(), topic.size() - topic_prefix.size() - topic_suffix.size());
  auto const hash = Hash::parse(run);
  if (!hash || hash->hex() != run) return std::nullopt;
  return std::string(run);
}

}  // namespace

Awaitable<Result<>> Node::State::find_run() {
  auto read_manifest = [this](std::stop_token) {
    return doors.storage.read(manifest_path, limits::manifest_json_max);
  };
  auto const saved = co_await run_on<Result<Bytes>>(doors.heavy, read_manifest);
  if (saved) {
    auto read = signed_manifest_from_json(as_text(*saved));
    if (!read)
      co_return fail(
          Errc::config_invalid,
          fmt::format("{} says which run this home is of, and is damaged: {}; restore it, "
                      "or join again with another --home",
                      doors.storage.describe(manifest_path), read.error().detail()));
    auto known = std::move(*read);
    auto recent = [this](std::stop_token) {
      return peer_store->recent(limits::address_book_addresses_max);
    };
    auto const peers = co_await run_on<Result<std::vector<PeerStore::Known>>>(doors.heavy, recent);
    if (peers)
      for (auto const& known_peer : *peers) host->remember(known_peer.peer, known_peer.addresses);
    CO_TRY(co_await check_bootstrap(known));
    log_info("resuming run {} ({})", known.manifest.name, known.run.hex().substr(0, 12));
    co_return co_await adopt(std::move(known));
  }
  // What is there and cannot be read is somebody's run all the same.
  if (saved.error().errc() == Errc::oversize)
    co_return fail(Errc::config_invalid, saved.error().detail());
  if (saved.error().errc() != Errc::not_found) co_return tl::unexpected(saved.error());
  if (options.create) co_return co_await create_run();
  co_return co_await join_run();
}

Awaitable<Result<>> Node::State::create_run() {
  RunManifest draft = *options.create;
  draft.created_unix_s = doors.clock.unix_ns() / 1'000'000'000;
  auto make = [this, &draft](std::stop_token) -> Result<ModelStatePtr> {
    TRY_ASSIGN(trainer, options.make_trainer(draft, self));
    layout = trainer->layout();
    trainer_info = trainer->info();
    std::vector<float> parameters(layout.elements());
    trainer->read(parameters);
    return make_state(Hash{}, 0, draft.shards, parameters, {});
  };
  CO_TRY_ASSIGN(auto initial, co_await run_on<Result<ModelStatePtr>>(doors.train, make));
  draft.schema_hash = sha256(as_bytes(layout.canonical_text()));
  draft.parameters = layout.elements();
  draft.initial_state = initial->hash();
  CO_TRY(check(draft));
  CO_TRY(co_await adopt(sign_manifest(draft, *identity)));
  CO_TRY(co_await adopt_state(initial));
  co_return co_await set_trainer(initial, false);
}

// Whoever was there may be gone by the time it is asked, or may not have the manifest yet.
Awaitable<Result<>> Node::State::join_run() {
  while (true) {
    auto joined = co_await try_to_join();
    if (joined || !options.retry || stop_requested) co_return joined;
    auto const errc = joined.error().errc();
    if (errc != Errc::no_run_found && errc != Errc::no_holder && errc != Errc::timed_out)
      co_return joined;
    problem(joined.error());
    co_await doors.clock.sleep_for(bootstrap_pause);
  }
}

Awaitable<Result<>> Node::State::try_to_join() {
  CO_TRY(co_await dial_bootstrap());
  CO_TRY_ASSIGN(auto const run, co_await discover_run());
  CO_TRY_ASSIGN(auto const id, Hash::parse(run));
  auto const topic = std::string(topic_prefix) + run + std::string(topic_suffix);
  auto const seen = pubsub->topics_seen();
  auto const holders = seen.find(topic);
  if (holders == seen.end()) co_return fail(Errc::no_run_found, "the bootstrap peer left");
  std::vector<PeerId> const from(holders->second.begin(), holders->second.end());
  CO_TRY_ASSIGN(auto const fetched,
                co_await blobs->fetch({id, 0}, from, doors.clock.now() + discover_patience));
  CO_TRY_ASSIGN(auto found, verify_manifest(*fetched.blob));
  if (found.run != id) co_return fail(Errc::hash_mismatch, "the manifest of run " + run);
  if (protocol_version < found.manifest.protocol_oldest ||
      protocol_version > found.manifest.protocol)
    co_return fail(Errc::version_mismatch,
                   "the run speaks protocol " + std::to_string(found.manifest.protocol_oldest) +
                       " to " + std::to_string(found.manifest.protocol) + ", this program " +
                       std::to_string(protocol_version));
  co_return co_await adopt(std::move(found));
}

// A peer that answered at this address and is still connected.
bool Node::State::reached(Multiaddr const& address) const {
  auto const known = bootstrap_peers.find(address);
  return known != bootstrap_peers.end() && host->connected(known->second);
}

// Every address is tried until one answers; with `retry` for ever, else for a while. The last
// error of each address is reported when none does: refused is not the same as unreachable.
Awaitable<Result<>> Node::State::dial_bootstrap() {
  // A host takes only so many connections from one peer: each try must not open one more.
  for (auto const& address : options.bootstrap)
    if (reached(address)) co_return Result<>{};
  Instant const patience = doors.clock.now() + bootstrap_patience;
  for (std::uint64_t tries = 1; !stop_requested; ++tries) {
    std::vector<Error> failures;
    bool refused = true;
    for (auto const& address : options.bootstrap) {
      auto const dialled = co_await host->dial(address);
      if (dialled) bootstrap_peers[address] = *dialled;
      if (dialled) co_return Result<>{};
      if (dialled.error().errc() == Errc::wrong_peer) co_return tl::unexpected(dialled.error());
      refused &= dialled.error().errc() == Errc::refused;
      failures.push_back(dialled.error());
    }
    auto const errc = refused ? Errc::refused : Errc::bootstrap_unreachable;
    Error const error(errc, details_of(failures, errc));
    // A host that says no will not soon say yes; one that is silent may still be starting.
    if (!options.retry && (refused || doors.clock.now() >= patience))
      co_return tl::unexpected(error);
    if (std::has_single_bit(tries)) problem(error);  // said once, then ever more rarely
    co_await doors.clock.sleep_for(bootstrap_pause);
  }
  co_return Result<>{};
}

// A home has one run. Who names an address, or a run, means the one there: to go on with another
// would not be what was asked for. An address that does not answer keeps nobody from going on.
Awaitable<Result<>> Node::State::check_bootstrap(SignedManifest const& known) {
  auto const own = known.run.hex();
  auto const another = [this, &known, &own](std::string const& theirs) {
    return fail(Errc::home_of_another_run, doors.storage.describe(manifest_path) + " is of run \"" +
                                               known.manifest.name + "\" (" + own + "), " + theirs);
  };
  if (options.run && *options.run != known.run)
    co_return another("--run names " + options.run->hex());
  if (options.bootstrap.empty()) co_return Result<>{};
  BootstrapLook look;
  std::vector<Awaitable<>> in_time;
  in_time.push_back(look_at_bootstrap(look));
  in_time.push_back(doors.clock.sleep_for(look_patience));
  co_await first_of(std::move(in_time));
  if (look.runs.contains(own)) co_return Result<>{};
  if (!look.runs.empty()) {
    auto const& [run, address] = *look.runs.begin();
    co_return another("the peer at " + address.text() + " takes part in run " + run);
  }
  if (look.reached) {
    log_warn("no bootstrap peer shows a run yet: going on with run {} of this home", own);
    co_return Result<>{};
  }
  auto const why = look.failures.empty() ? std::string("no answer yet")
                                         : details_of(look.failures, Errc::bootstrap_unreachable);
  problem(Error(Errc::bootstrap_unreachable,
                why + "; going on with the run and the peers that this home knows"));
  co_return Result<>{};
}

Awaitable<> Node::State::look_at_bootstrap(BootstrapLook& look) {
  for (auto const& address : options.bootstrap) {
    auto const dialled = co_await host->dial(address);
    if (!dialled) {
      look.failures.push_back(dialled.error());
      continue;
    }
    bootstrap_peers[address] = *dialled;
    look.reached = true;
    auto runs = runs_of(*dialled);
    for (; runs.empty(); runs = runs_of(*dialled)) co_await doors.clock.sleep_for(100ms);
    for (auto const& run : runs) look.runs.emplace(run, address);
  }
}

std::set<std::string> Node::State::runs_of(PeerId const& peer) const {
  std::set<std::string> runs;
  for (auto const& [topic, peers] : pubsub->topics_seen())
    if (auto const run = run_of_topic(topic); run && peers.contains(peer)) runs.insert(*run);
  return runs;
}

Awaitable<Result<std::string>> Node::State::discover_run() {
  Instant const patience = doors.clock.now() + discover_patience;
  while (!stop_requested && doors.clock.now() < patience) {
    std::set<std::string> runs;
    for (auto const& [topic, peers] : pubsub->topics_seen())
      if (auto const run = run_of_topic(topic); run && !peers.empty()) runs.insert(*run);
    if (options.run) {
      if (runs.contains(options.run->hex())) co_return options.run->hex();
    } else if (runs.size() == 1) {
      co_return *runs.begin();
    } else if (runs.size() > 1) {
      std::string names;
      for (auto const& run : runs) names += (names.empty() ? "" : ", ") + run;
      co_return fail(Errc::many_runs_found, names);
    }
    co_await doors.clock.sleep_for(100ms);
  }
  co_return fail(Errc::no_run_found,
                 options.run ? "the bootstrap peer does not take part in run " + options.run->hex()
                             : "the bootstrap peer shows no run");
}

Awaitable<Result<>> Node::State::adopt(SignedManifest found) {
  manifest = std::move(found);
  auto const bytes = std::make_shared<Bytes const>(manifest->bytes);
  CO_TRY(co_await blobs->keep(bytes));
  std::string const json = to_json(*manifest);
  auto save = [this, &json](std::stop_token) {
    return doors.storage.write_atomic(manifest_path, as_bytes(json));
  };
  CO_TRY(co_await run_on<Result<>>(doors.heavy, save));
  changed();
  co_return Result<>{};
}

Awaitable<> Node::State::dial_missing_bootstrap() {
  for (auto const& address : options.bootstrap) {
    if (reached(address)) continue;
    auto const dialled = co_await host->dial(address);
    if (dialled) bootstrap_peers[address] = *dialled;
  }
}

// Holds a handful of connections: the bootstrap peers while nobody else is known, then whoever the
// beacons name.
Awaitable<> Node::State::keep_connected() {
  for (std::uint64_t turn = 0;; ++turn) {
    // Now and then even when others are there: a bootstrap peer that came back alone would not find
    // us, and the swarm would go on in two parts.
    if (host->peers().empty() || turn % bootstrap_turns == 0) co_await dial_missing_bootstrap();
    std::set<PeerId> const connected = [this] {
      auto const peers = host->peers();
      return std::set<PeerId>(peers.begin(), peers.end());
    }();
    if (connected.size() < connections_wanted) {
      std::vector<PeerId> candidates;
      for (auto const& [peer, view] : round->view().peers())
        if (!connected.contains(peer)) candidates.push_back(peer);
      if (connected.empty()) {
        auto recent = [this](std::stop_token) { return peer_store->recent(connections_wanted); };
        auto const known =
            co_await run_on<Result<std::vector<PeerStore::Known>>>(doors.heavy, recent);
        if (known)
          for (auto const& peer : *known) candidates.push_back(peer.peer);
      }
      doors.random.shuffle(std::span(candidates));
      if (candidates.size() > connections_wanted) candidates.resize(connections_wanted);
      for (auto const& peer : candidates)
        if (peer != self) (void)co_await host->connect(peer);
    }
    co_await doors.clock.sleep_for(connect_pause);
  }
}

std::vector<PeerStore::Known> Node::State::worth_remembering() const {
  std::map<PeerId, std::vector<Multiaddr>> addresses;
  for (auto const& [peer, view] : round->view().peers())
    if (!view.beacon.addresses.empty()) addresses[peer] = view.beacon.addresses;
  // What led us here may lead us back, whatever that peer says of itself.
  for (auto const& [address, peer] : bootstrap_peers) {
    auto& known = addresses[peer];
    auto const bare = address.without_peer();
    if (std::ranges::find(known, bare) == known.end()) known.push_back(bare);
  }
  std::vector<PeerStore::Known> known;
  for (auto& [peer, all] : addresses) known.push_back({peer, std::move(all)});
  return known;
}

// Newcomers at once, for this peer may be gone the next moment; else now and then who was seen.
Awaitable<> Node::State::remember_peers() {
  std::vector<PeerStore::Known> saved;
  Instant due{};
  while (true) {
    co_await doors.clock.sleep_for(remember_pause);
    auto known = worth_remembering();
    if (known.empty() || (known == saved && doors.clock.now() < due)) continue;
    double const now = static_cast<double>(doors.clock.unix_ns()) * 1e-9;
    auto save = [this, &known, now](std::stop_token) { return peer_store->remember(known, now); };
    auto const done = co_await run_on<Result<>>(doors.heavy, save);
    if (!done) problem(done.error());
    saved = std::move(known);
    due = doors.clock.now() + remember_again;
  }
}

}  // namespace grapevine
