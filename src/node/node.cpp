#include "grapevine/node/node.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/log.hpp"
#include "grapevine/node/identity_file.hpp"
#include "node/node_state_detail.hpp"
#include "node/pause_file_detail.hpp"
#include "node/port_file_detail.hpp"

namespace grapevine {
namespace {

// How long a peer that has a state listens for others before it trains on by itself.
constexpr Duration look_around_time = 4s;
constexpr Duration beacon_ttl = 12s;
// How long a newcomer waits for somebody's first beacon before it says that nobody is there.
constexpr Duration first_beacon_patience = 60s;

// A peer that starts when others have done more than a quarter of a round would only hold them up.
constexpr std::uint32_t late_start_share = 4;

std::string_view agent() { return "grapevine/" GRAPEVINE_VERSION; }

}  // namespace

Node::State::State(Doors the_doors, NodeOptions the_options)
    : doors(the_doors), options(std::move(the_options)), tasks(doors.executor) {
  started = doors.clock.now();
}

Awaitable<Result<>> Node::State::run() {
  Result<> begun;
  std::vector<Awaitable<>> until_stopped;
  until_stopped.push_back(begin(begun));
  until_stopped.push_back(stop_asked());
  co_await first_of(std::move(until_stopped));
  if (begun && !stop_requested) co_await take_part();
  co_await shut_down();
  co_return begun;
}

Awaitable<> Node::State::begin(Result<>& result) {
  result = co_await open_home();
  if (result) result = co_await find_run();
  if (result) result = co_await make_trainer();
  if (result) result = co_await first_state();
}

Awaitable<> Node::State::stop_asked() {
  while (!stop_requested) co_await stop_gate.wait();
}

Awaitable<Result<>> Node::State::open_home() {
  CO_TRY_ASSIGN(identity, load_or_create_identity(doors.storage, doors.random));
  self = PeerId::from_ed25519(identity->public_key().raw());
  if (options.name.empty()) options.name = self.brief();
  std::uint64_t const unix_ns = doors.clock.unix_ns();
  std::uint16_t port = 0;
  bool rest = false;
  MonthTraffic kept;
  auto open = [this, unix_ns, &port, &rest, &kept](std::stop_token) -> Result<std::uint64_t> {
    if (options.keep_port) port = load_port(doors.storage);
    TRY_ASSIGN(peer_store, PeerStore::open(doors.storage));
    TRY_ASSIGN(ledger, Ledger::open(doors.storage));
    rest = pause_is_asked_for(doors.storage);
    if (options.allowance.month_bytes > 0) kept = MonthTraffic::load(doors.storage);
    return peer_store->reserve_sequence(unix_ns);
  };
  auto const sequence = co_await run_on<Result<std::uint64_t>>(doors.heavy, open);
  if (!sequence) co_return tl::unexpected(sequence.error());
  month = kept;
  if (rest) pause_for(PauseReason::asked, std::nullopt);
  for (auto const& aside : {peer_store->set_aside(), ledger->set_aside()})
    if (!aside.empty()) problem(Error(Errc::database_corrupt, "set aside as " + aside));
  ledger_head = ledger->head();
  beacon_sequence = *sequence;

  HostOptions host_options;
  host_options.listen = options.listen;
  host_options.port_wanted = port;
  host_options.announce = options.announce;
  host_options.agent = agent();
  host = std::make_unique<Host>(doors, *identity, host_options);
  BlobExchange::Options blob_options;
  blob_options.up_bytes_per_s = options.allowance.up_bytes_per_s;
  blob_options.down_bytes_per_s = options.allowance.down_bytes_per_s;
  pubsub = std::make_unique<PubSub>(
      doors, *host, PubSub::Options{.seqno_first = *sequence, .authors_count_up = true});
  blobs = std::make_unique<BlobExchange>(doors, *host, blob_options);
  host->on_event([this](Host::Event const& event) {
    if (event.kind == Host::Event::disconnected && round != nullptr)
      feed(round_event::PeerLost{event.peer});
    if (event.kind == Host::Event::disconnected) feed_pairs(pair_event::PeerLost{event.peer});
  });
  CO_TRY(host->start());
  if (options.keep_port) {
    CO_TRY(co_await keep_port(port));
  }
  pubsub->start();
  blobs->start();
  changed();
  co_return Result<>{};
}

Awaitable<Result<>> Node::State::keep_port(std::uint16_t before) {
  auto const port = host->port();
  if (port == before) co_return Result<>{};
  if (before != 0)
    log_warn(
        "port {} is taken: this peer listens on {} from now on, and others join by another line",
        before, port);
  auto save = [this, port](std::stop_token) { return save_port(doors.storage, port); };
  co_return co_await run_on<Result<>>(doors.heavy, save);
}

Awaitable<Result<>> Node::State::make_trainer() {
  if (trainer != nullptr) co_return Result<>{};  // made while the run was created
  auto make = [this](std::stop_token) -> Result<> {
    TRY_ASSIGN(trainer, options.make_trainer(manifest->manifest, self));
    layout = trainer->layout();
    trainer_info = trainer->info();
    return {};
  };
  CO_TRY(co_await run_on<Result<>>(doors.train, make));
  auto const& agreed = manifest->manifest;
  if (sha256(as_bytes(layout.canonical_text())) != agreed.schema_hash)
    co_return fail(Errc::schema_mismatch,
                   "this program builds " + std::to_string(layout.elements()) +
                       " parameters, the run has " + std::to_string(agreed.parameters) +
                       " of other names or shapes");
  co_return Result<>{};
}

// A state to train from: the newest checkpoint, or the initial one of a run that was just created;
// a newcomer without either pulls it from the swarm.
Awaitable<Result<>> Node::State::first_state() {
  auto const& agreed = manifest->manifest;
  RoundSettings settings;
  settings.run = manifest->run;
  settings.self = self;
  settings.mixing = agreed.mixing;
  settings.shards = agreed.shards;
  settings.inner_steps = agreed.inner_steps;
  settings.rounds = agreed.rounds;
  settings.mix1_bytes = lane_bytes(MixLane::parameters);
  settings.mix2_bytes = lane_bytes(MixLane::gradients);
  settings.wait_min = from_seconds(agreed.deadline_s_min);
  settings.wait_max = from_seconds(agreed.deadline_s_max);
  settings.beacon_ttl = beacon_ttl;
  round = std::make_unique<Round>(settings);
  tell_round_of_pauses();
  subscribe();
  tasks.spawn(beat());
  tasks.spawn(keep_connected());
  tasks.spawn(remember_peers());

  CO_TRY_ASSIGN(auto checkpoint, co_await newest_checkpoint());
  if (checkpoint) {
    auto build = [this, &checkpoint](std::stop_token) -> Result<ModelStatePtr> {
      TRY(trainer->restore(checkpoint->trainer));
      Hash const run = checkpoint->round == 0 ? Hash{} : manifest->run;
      return make_state(run, checkpoint->round, manifest->manifest.shards, checkpoint->parameters,
                        checkpoint->outer_momentum);
    };
    CO_TRY_ASSIGN(auto restored, co_await run_on<Result<ModelStatePtr>>(doors.train, build));
    CO_TRY(co_await adopt_state(restored));
    CO_TRY(co_await set_trainer(restored, false));
    on_disk = Version{restored->round, restored->hash()};
    tokens_total = checkpoint->tokens_total;
  }
  if (agreed.mixing.has(MixPattern::pair)) {
    CO_TRY(co_await start_pairing());
  }
  bool const alone = options.bootstrap.empty() && host->peers().empty();
  // Who has nothing waits for somebody who has; but the run's creator may be the one all wait for.
  bool const creator = manifest->creator == identity->public_key();
  Duration const patience_time = state && alone     ? Duration{}
                                 : state || creator ? look_around_time
                                                    : first_beacon_patience;
  Instant patience = doors.clock.now() + patience_time;
  while (!stop_requested && doors.clock.now() < patience) {
    auto const newest = round->view().newest();
    if (newest && (!state || newest->round >= state->round)) break;
    co_await doors.clock.sleep_for(100ms);
  }
  bool provisional = state && round_is_under_way();
  std::function<bool()> const wanted = [this] { return !stop_requested; };
  while (!stop_requested) {
    if (paused() && state) break;
    if (paused()) {
      co_await doors.clock.sleep_for(100ms);
      continue;
    }
    auto const newest = round->view().newest();
    if (state && (!newest || newest->round <= state->round)) break;
    if (!newest && doors.clock.now() < patience) {
      co_await doors.clock.sleep_for(100ms);
      continue;
    }
    if (!newest) {
      CO_TRY(co_await initial_state());
      break;
    }
    auto pulled = co_await pull_state(*newest, round->view().holders(*newest), wanted);
    if (pulled) {
      CO_TRY(co_await adopt_state(*pulled));
      CO_TRY(co_await set_trainer(*pulled, false));
      pairing.state_replaced = true;
      provisional = round_is_under_way();  // who comes at its beginning counts at once
      break;
    }
    if (stop_requested) break;
    problem(pulled.error());
    patience = doors.clock.now() + patience_time;  // whoever had it may only have lost its link
    co_await doors.clock.sleep_for(500ms);
  }
  if (!stop_requested) feed(round_event::Start{{state->round, state->hash()}, provisional});
  co_return Result<>{};
}

// Nobody has a state to give: the run begins again from the one its manifest names, which every
// trainer makes from the run's seed.
Awaitable<Result<>> Node::State::initial_state() {
  auto make = [this](std::stop_token) {
    std::vector<float> parameters(layout.elements());
    trainer->read(parameters);
    return make_state(Hash{}, 0, manifest->manifest.shards, parameters, {});
  };
  auto const initial = co_await run_on<ModelStatePtr>(doors.train, make);
  if (initial->hash() != manifest->manifest.initial_state)
    co_return fail(Errc::no_holder,
                   "no peer of the run has a state to give, and this one's "
                   "trainer begins from another than the run's");
  CO_TRY(co_await adopt_state(initial));
  co_return co_await set_trainer(initial, false);
}

// Others are well into the round this peer would begin: it trains with weight zero until the next.
bool Node::State::round_is_under_way() const {
  for (auto const& [peer, view] : round->view().peers())
    if (view.counts() && view.beacon.round == state->round &&
        (view.beacon.state == PeerState::mixing ||
         view.beacon.inner_step > view.beacon.inner_steps / late_start_share))
      return true;
  return false;
}

Awaitable<> Node::State::take_part() {
  while (!stop_requested && !finished) co_await stop_gate.wait();
  if (!finished) co_return;
  // Those who are not done yet still need what we hold.
  Instant const until = doors.clock.now() + options.linger;
  bool const same_state = manifest->manifest.mixing.one_state();
  auto others_done = [this, same_state] {
    for (auto const& [peer, view] : round->view().peers())
      if (view.beacon.state != PeerState::paused &&
          (view.beacon.state != PeerState::stopping ||
           view.beacon.round != round->version().round ||
           (same_state && view.version() != round->version())))
        return false;
    return true;
  };
  Instant const at_least = doors.clock.now() + std::min<Duration>(options.linger, 2s);
  while (!stop_requested && doors.clock.now() < until) {
    if (doors.clock.now() >= at_least && others_done() && !in_doubt()) break;
    co_await doors.clock.sleep_for(250ms);
  }
}

Awaitable<> Node::State::shut_down() {
  ++inner_generation;
  while (checkpoint_running) co_await checkpoint_gate.wait();
  if (blobs != nullptr) release_round_before();
  if (round_start && on_disk != Version{round_start->state->round, round_start->state->hash()}) {
    auto written = co_await write_checkpoint(*round_start);
    if (!written) problem(written.error());
  }
  if (round != nullptr && pubsub != nullptr) {
    stop_requested = true;
    send_beacon();
  }
  closing = true;
  tasks.cancel();
  co_await tasks.join();
  if (pubsub != nullptr) co_await pubsub->stop();
  if (blobs != nullptr) co_await blobs->stop();
  if (host != nullptr) co_await host->stop();
  if (host != nullptr && options.allowance.month_bytes > 0) {
    count_traffic();
    co_await save_month();
  }
  auto end_trainer = [this](std::stop_token) { return trainer.reset(), true; };
  co_await run_on<bool>(doors.train, end_trainer);
  auto close = [this](std::stop_token) {
    ledger.reset();
    peer_store.reset();
    pairing.store.reset();
    return true;
  };
  co_await run_on<bool>(doors.heavy, close);
}

void Node::State::problem(Error const& error) {
  log_warn("{}", error.message());
  auto& seen = problems.try_emplace(std::string(error.code()), Seen{error}).first->second;
  seen = Seen{error, seen.count + 1, doors.clock.now()};
  changed();
}

void Node::State::changed() {
  for (auto const& listener : listeners) listener();
}

Node::Node(Doors doors, NodeOptions options)
    : state_(std::make_unique<State>(doors, std::move(options))) {}
Node::~Node() = default;

Awaitable<Result<>> Node::run() { return state_->run(); }

void Node::stop() {
  state_->stop_requested = true;
  state_->stop_gate.notify_all();
}

Awaitable<Result<>> Node::pause() { return state_->ask_for_pause(true); }

Awaitable<Result<>> Node::resume() { return state_->ask_for_pause(false); }

Awaitable<Result<>> Node::checkpoint() { return state_->checkpoint_now(); }

bool Node::saved() const { return state_->closing && !state_->checkpoint_running; }

Snapshot Node::snapshot() const { return state_->snapshot(); }

Awaitable<Result<std::vector<RoundRecord>>> Node::history(std::uint64_t since) {
  constexpr std::size_t rounds_max = 1000;
  auto read = [this, since](std::stop_token) -> Result<std::vector<RoundRecord>> {
    if (state_->ledger == nullptr) return std::vector<RoundRecord>{};
    return state_->ledger->history(since, rounds_max);
  };
  co_return co_await run_on<Result<std::vector<RoundRecord>>>(state_->doors.heavy, read);
}

Hash Node::state_hash() const { return state_->state == nullptr ? Hash{} : state_->state->hash(); }

bool Node::ready() const {
  if (state_->round == nullptr) return false;
  auto const shown = state_->round->beacon_state();
  return shown == PeerState::training || shown == PeerState::mixing;
}

void Node::on_change(std::function<void()> listener) {
  state_->listeners.push_back(std::move(listener));
}

std::vector<Multiaddr> Node::addresses() const {
  if (state_->host == nullptr) return {};
  std::vector<Multiaddr> full;
  for (auto const& address : state_->host->addresses())
    full.push_back(address.with_peer(state_->self));
  return full;
}

}  // namespace grapevine
