#include "app/round_swarm.hpp"

#include "grapevine/base/assert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace grapevine {
namespace {

constexpr Duration latency = 30ms;
constexpr Duration beat_time = 250ms;  // as a node's, like the next three
constexpr std::uint64_t beats_per_beacon = 8;
constexpr Duration beacon_ttl = 12s;
constexpr double rate_weight_new = 0.3;
// A run that takes this many times as long as its waits allow has come to a stop.
constexpr int patience = 4;

PeerId peer_number(std::size_t n) {
  std::array<std::uint8_t, 32> key{};
  key[0] = static_cast<std::uint8_t>(n);
  key[1] = static_cast<std::uint8_t>(n >> 8U);
  key[31] = 1;
  return PeerId::from_ed25519(key);
}

Hash hash_of(std::string const& text) { return sha256(as_bytes(text)); }

}  // namespace

RoundSwarm::RoundSwarm(SwarmShape shape, std::uint64_t seed)
    : shape_(std::move(shape)),
      random_(seed),
      run_(hash_of(fmt::format("run {}", seed))),
      transfers_(time_, std::vector(shape_.peers, shape_.link), random_),
      peers_(shape_.peers) {
  ASSERT(!shape_.mixing.joint && !shape_.mixing.mix1_momentum);
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    ids_.push_back(peer_number(i));
    numbers_[ids_.back()] = i;
    build(i);
  }
}

void RoundSwarm::build(std::size_t i) {
  RoundSettings settings;
  settings.run = run_;
  settings.self = ids_[i];
  settings.mixing = shape_.mixing;
  settings.shards = shape_.shards;
  settings.inner_steps = shape_.inner_steps;
  settings.mix1_bytes = shape_.parameters.bytes;
  settings.mix2_bytes = shape_.gradients.bytes;
  settings.wait_min = shape_.wait_min;
  settings.wait_max = shape_.wait_max;
  settings.beacon_ttl = beacon_ttl;
  auto& peer = peers_[i];
  peer.round = std::make_unique<Round>(settings);
  peer.shards.resize(shape_.shards);
  peer.fetch_bytes_per_s = shape_.link.down;  // it has pulled the state when it joined
  for (auto const lane : {MixLane::parameters, MixLane::gradients}) {
    if (shape_.mixing.pattern_of(lane) != MixPattern::pair) continue;
    PairSettings pair;
    pair.run = run_;
    pair.self = ids_[i];
    pair.lane = lane;
    pair.overlapped = lane == MixLane::parameters;
    pair.payload_bytes = payload(lane).bytes;
    pair.wait_min = shape_.wait_min;
    pair.wait_max = shape_.wait_max;
    peer.pairs[lane] = std::make_unique<PairExchange>(pair, peer.round->view(), PairMemory{});
  }
}

SwarmFigures RoundSwarm::run(std::uint64_t warm_up, std::uint64_t rounds) {
  warm_up_ = warm_up;
  rounds_ = rounds;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    auto const phase =
        static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(beat_time.count())));
    time_.at(Instant{}, [this, i] { feed(i, round_event::Start{version_of(peers_[i], 0, i)}); });
    time_.later(Duration(phase), [this, i] { beat(i); });
  }
  Duration const longest = shape_.inner_steps * shape_.step_time + shape_.wait_max;
  auto const limit = static_cast<std::int64_t>(warm_up + rounds) * patience * longest;
  SwarmFigures figures;
  figures.ended = time_.run(limit, [this] { return finished_ == peers_.size(); });
  Duration useful{}, elapsed{};
  for (auto const& peer : peers_) {
    useful += peer.useful;
    elapsed += peer.measured_until - peer.measured_from;
    figures.sent_bytes += (peer.sent - peer.sent_before) / static_cast<double>(rounds);
  }
  auto const count = static_cast<double>(peers_.size());
  figures.sent_bytes /= count;
  figures.utilization = elapsed > Duration{} ? to_seconds(useful) / to_seconds(elapsed) : 0;
  figures.round_s = to_seconds(elapsed) / count / static_cast<double>(rounds);
  figures.mixed_parameters = mixed_parameters_.value_or(1);
  figures.mixed_gradients = mixed_gradients_.value_or(1);
  figures.syncs = syncs_;
  return figures;
}

void RoundSwarm::feed(std::size_t i, RoundEvent const& event) {
  for (auto const& action : peers_[i].round->on(event, time_.now()))
    std::visit([&](auto const& a) { perform(i, a); }, action);
}

void RoundSwarm::feed_pair(std::size_t i, MixLane lane, PairEvent const& event) {
  for (auto const& action : peers_[i].pairs.at(lane)->on(event, time_.now()))
    std::visit([&](auto const& a) { perform(i, a); }, action);
}

void RoundSwarm::feed_pairs(std::size_t i, PairEvent const& event) {
  for (auto const& [lane, machine] : peers_[i].pairs) feed_pair(i, lane, event);
}

void RoundSwarm::beat(std::size_t i) {
  auto& peer = peers_[i];
  if (peer.beats++ % beats_per_beacon == 0) send_beacon(i);
  feed(i, round_event::Rates{1 / to_seconds(shape_.step_time), peer.fetch_bytes_per_s});
  feed(i, round_event::Tick{});
  feed_pairs(i, pair_event::Tick{});
  time_.later(beat_time, [this, i] { beat(i); });
}

void RoundSwarm::send_beacon(std::size_t i) {
  auto& peer = peers_[i];
  Beacon beacon;
  beacon.sequence = ++peer.beacons;
  beacon.state = peer.round->beacon_state();
  beacon.round = peer.round->version().round;
  beacon.state_hash = peer.round->version().state;
  beacon.inner_steps = peer.steps;
  auto const done = (time_.now() - peer.inner_started) / shape_.step_time;
  beacon.inner_step = static_cast<std::uint32_t>(std::min<std::int64_t>(peer.steps, done));
  beacon.steps_per_s = static_cast<float>(1 / to_seconds(shape_.step_time));
  beacon.bytes_per_s = static_cast<float>(peer.fetch_bytes_per_s);
  time_.later(latency, [this, i, beacon] {
    for (std::size_t to = 0; to < peers_.size(); ++to)
      if (to != i) feed(to, round_event::BeaconSeen{ids_[i], beacon});
  });
}

void RoundSwarm::announce(std::size_t i, Announcement const& announcement) {
  time_.later(latency, [this, i, announcement] {
    for (std::size_t to = 0; to < peers_.size(); ++to) tell(to, i, announcement);
  });
}

void RoundSwarm::tell(std::size_t to, std::size_t from, Announcement const& announcement) {
  if (to == from) return;
  if (auto const* const contribution = std::get_if<Contribution>(&announcement))
    feed(to, round_event::ContributionSeen{ids_[from], *contribution});
  else
    feed(to, round_event::ResultSeen{ids_[from], std::get<ShardResult>(announcement)});
}

// A node says again what it has announced, for those who were in another round when it did. None
// is lost here, so only they have to hear it.
void RoundSwarm::announce_again(std::size_t to) {
  time_.later(beats_per_beacon * beat_time, [this, to] {
    for (std::size_t from = 0; from < peers_.size(); ++from) {
      auto const announced = peers_[from].announced;
      for (auto const& announcement : announced) tell(to, from, announcement);
    }
  });
}

void RoundSwarm::stop_training(std::size_t i) {
  auto& peer = peers_[i];
  ++peer.inner_generation;
  if (std::exchange(peer.training, false)) peer.trained += time_.now() - peer.inner_started;
}

void RoundSwarm::perform(std::size_t i, round_action::StartInner const& action) {
  auto& peer = peers_[i];
  stop_training(i);
  if (!action.again)
    feed_pairs(i, pair_event::Began{peer.round->version().round,
                                    std::exchange(peer.state_replaced, false)});
  auto const generation = peer.inner_generation;
  peer.training = true;
  peer.steps = action.steps;
  peer.inner_started = time_.now();
  Duration const took = action.steps * shape_.step_time;
  time_.later(took, [this, i, generation, steps = action.steps, took] {
    if (peers_[i].inner_generation != generation) return;
    stop_training(i);
    feed(i, round_event::InnerDone{steps, took});
  });
}

void RoundSwarm::perform(std::size_t i, round_action::Prepare const& action) {
  Contribution mine;
  mine.run = run_;
  mine.round = action.round;
  mine.lane = action.lane;
  mine.base = action.base;
  mine.tokens = action.lane == MixLane::parameters ? 1 : peers_[i].steps;
  for (std::uint32_t s = 0; s < shape_.shards; ++s) {
    auto const root =
        hash_of(fmt::format("{} {} {} {}", to_string(action.lane), i, action.round, s));
    mine.shards.push_back({root, payload(action.lane).bytes / shape_.shards});
    peers_[i].blobs[root] = action.round;
  }
  time_.at(time_.now(), [this, i, mine] { feed(i, round_event::Prepared{mine}); });
}

void RoundSwarm::perform(std::size_t i, round_action::Publish const& action) {
  peers_[i].announced.push_back(action.announcement);
  announce(i, action.announcement);
}

void RoundSwarm::perform(std::size_t i, round_action::Fetch const& action) {
  auto const ended = [this, i, what = action.what](bool here) {
    if (here && what.result) peers_[i].blobs[what.blob.root] = peers_[i].round->version().round;
    feed(i, round_event::Fetched{what, here ? "" : "nobody could serve it"});
  };
  auto const has = [this, root = action.what.blob.root](std::size_t holder) {
    return peers_[holder].blobs.contains(root);
  };
  peers_[i].fetches[action.what].push_back(
      pull(i, action.holders, has, action.what.blob.bytes, action.deadline, ended));
}

void RoundSwarm::perform(std::size_t i, round_action::StopFetch const& action) {
  auto const found = peers_[i].fetches.extract(action.what);
  if (!found.empty())
    for (auto const& pull : found.mapped()) stop(*pull);
}

// From one holder after the other that has it, until one has given all of it.
std::shared_ptr<RoundSwarm::Pull> RoundSwarm::pull(std::size_t to, std::vector<PeerId> holders,
                                                   Has const& has, std::uint64_t bytes,
                                                   Instant deadline,
                                                   std::function<void(bool)> done) {
  auto const made = std::make_shared<Pull>();
  made->to = to;
  for (auto const& holder : holders) made->holders.push_back(numbers_.at(holder));
  for (auto left = made->holders.size(); left > 1; --left)
    std::swap(made->holders[left - 1], made->holders[random_.below(left)]);
  made->has = has;
  made->bytes = bytes;
  made->deadline = deadline;
  made->done = std::move(done);
  pull_from_next(made);
  return made;
}

void RoundSwarm::pull_from_next(std::shared_ptr<Pull> const& pull) {
  pull->transfer.reset();
  while (!pull->holders.empty() && !pull->has(pull->holders.back())) pull->holders.pop_back();
  if (pull->holders.empty() || time_.now() >= pull->deadline)
    return time_.later(latency, [pull] {
      if (!pull->stopped) pull->done(false);
    });
  auto const from = pull->holders.back();
  pull->holders.pop_back();
  pull->transfer_began = time_.now();
  auto ended = [this, pull](TimedTransfers::Ended const& transfer) {
    note_rate(pull->to, transfer.bytes, time_.now() - pull->transfer_began);
    if (transfer.here) return pull->done(true);
    pull_from_next(pull);
  };
  pull->transfer = transfers_.start(from, pull->to, pull->bytes, link_fails(from, pull->to),
                                    pull->deadline, std::move(ended));
}

void RoundSwarm::stop(Pull& pull) {
  pull.stopped = true;
  if (pull.transfer)
    note_rate(pull.to, transfers_.stop(*pull.transfer), time_.now() - pull.transfer_began);
}

// For a round and in one direction: whoever tries again meets the same.
bool RoundSwarm::link_fails(std::size_t from, std::size_t to) const {
  if (shape_.transfer_failure <= 0) return false;
  auto const drawn =
      hash_of(fmt::format("{} {} {} {}", run_.hex(), peers_[to].round->version().round, from, to));
  return SeededRandom(read_be<std::uint64_t>(drawn.view())).unit() < shape_.transfer_failure;
}

// As a node measures it: each fetch by itself.
void RoundSwarm::note_rate(std::size_t i, double bytes, Duration took) {
  if (bytes <= 0 || took <= Duration{}) return;
  auto& smoothed = peers_[i].fetch_bytes_per_s;
  double const rate = bytes / to_seconds(took);
  smoothed = smoothed == 0 ? rate : smoothed + rate_weight_new * (rate - smoothed);
}

void RoundSwarm::perform(std::size_t i, round_action::Average const& action) {
  std::string name = "average";
  for (auto const& input : action.inputs) name += input.root.hex();
  round_event::Averaged event{action.lane, action.round, action.shard, {}, ""};
  event.result = {hash_of(name), payload(action.lane).average_bytes / shape_.shards};
  peers_[i].blobs[event.result.root] = action.round;
  time_.at(time_.now(), [this, i, event] { feed(i, event); });
}

void RoundSwarm::perform(std::size_t i, round_action::Pair const& action) {
  MixOffer offer;
  offer.run = run_;
  offer.round = action.mine.round;
  offer.lane = action.lane;
  offer.tokens = action.mine.tokens;
  offer.shards = action.mine.shards;
  pair_event::Ready ready{std::move(offer), action.inner_took, peers_[i].fetch_bytes_per_s};
  feed_pair(i, action.lane, ready);
}

void RoundSwarm::perform(std::size_t i, round_action::Apply const& action) {
  measure(i, action);
  auto& peer = peers_[i];
  if (shape_.mixing.one_state()) {
    auto const& results = action.mixed.front().results;
    for (std::size_t s = 0; s < results.size(); ++s)
      if (results[s]) peer.shards[s] = hash_of(peer.shards[s].hex() + results[s]->root.hex());
  }
  peer.pulls.clear();
  peer.fetches.clear();
  std::erase_if(peer.blobs, [&](auto const& entry) { return entry.second < action.round; });
  std::erase_if(peer.announced, [&](auto const& announcement) {
    return std::visit([&](auto const& a) { return a.round < action.round; }, announcement);
  });
  auto const next = version_of(peer, action.round + 1, i);
  time_.at(time_.now(), [this, i, next] { feed(i, round_event::Applied{next}); });
}

// Only the shards that differ are pulled.
void RoundSwarm::perform(std::size_t i, round_action::Sync const& action) {
  auto const version = action.version;
  auto const is_at = [this, version](std::size_t holder) {
    return peers_[holder].round->version() == version;
  };
  auto const model = std::ranges::find_if(
      action.holders, [&](PeerId const& holder) { return is_at(numbers_.at(holder)); });
  if (model == action.holders.end())
    return time_.later(latency, [=, this] { sync_ended(i, version, std::nullopt); });
  auto const shards = peers_[numbers_.at(*model)].shards;
  std::size_t differ = 0;
  for (std::size_t s = 0; s < shards.size(); ++s)
    if (!shape_.mixing.one_state() || shards[s] != peers_[i].shards[s]) ++differ;
  auto const ended = [=, this](bool here) {
    sync_ended(i, version, here ? std::optional(shards) : std::nullopt);
  };
  pull(i, action.holders, is_at, shape_.state_bytes / shape_.shards * differ,
       time_.now() + shape_.wait_max, ended);
}

void RoundSwarm::sync_ended(std::size_t i, Version const& version,
                            std::optional<std::vector<Hash>> shards) {
  auto& peer = peers_[i];
  if (!shards) return feed(i, round_event::SyncFailed{version, "nobody could serve it"});
  if (!peer.round->awaits(version)) return;
  ++syncs_;
  peer.shards = std::move(*shards);
  if (peer.round->phase() == RoundPhase::syncing) {
    peer.state_replaced = true;
    peer.trained = {};  // it goes on from what the others have
  }
  feed(i, round_event::Synced{version});
  announce_again(i);
}

void RoundSwarm::measure(std::size_t i, round_action::Apply const& action) {
  auto& peer = peers_[i];
  auto const trained = std::exchange(peer.trained, Duration{});
  if (++peer.applied > warm_up_ + rounds_) return;
  peer.measured_until = time_.now();
  peer.sent = transfers_.links().sent(i);
  if (peer.applied == warm_up_) {
    peer.measured_from = time_.now();
    peer.sent_before = peer.sent;
  }
  if (peer.applied <= warm_up_) return;
  peer.useful += trained;
  for (auto const& mixed : action.mixed) measure(mixed);
  if (peer.applied == warm_up_ + rounds_) ++finished_;
}

void RoundSwarm::measure(round_action::Mixed const& mixed) {
  if (mixed.pattern == MixPattern::none) return;
  auto& share = mixed.lane == MixLane::parameters ? mixed_parameters_ : mixed_gradients_;
  if (mixed.pattern == MixPattern::pair) return share.add(mixed.partner ? 1 : 0);
  double const shards = shape_.shards;
  double all = 0;
  for (auto const& input : mixed.inputs) all += input.shards;
  share.add((all / shards - 1) / static_cast<double>(peers_.size() - 1));
}

void RoundSwarm::perform(std::size_t i, pair_action::Send const& action) {
  auto const to = numbers_.at(action.to);
  time_.later(latency, [this, i, to, action] {
    if (auto const* const offer = std::get_if<MixOffer>(&action.message))
      feed_pair(to, offer->lane, pair_event::OfferSeen{ids_[i], *offer});
    else if (auto const* const answer = std::get_if<MixAnswer>(&action.message))
      feed_pair(to, answer->lane, pair_event::AnswerSeen{ids_[i], *answer});
  });
}

void RoundSwarm::perform(std::size_t i, pair_action::Pull const& action) {
  std::uint64_t bytes = 0;
  for (auto const& shard : action.theirs.shards) bytes += shard.bytes;
  auto const ended = [this, i, exchange = action.exchange](bool here) {
    pair_event::Pulled const event{exchange, here ? "" : "nobody could serve it"};
    feed_pair(i, exchange.lane, event);
  };
  auto const has = [](std::size_t) { return true; };
  peers_[i].pulls[action.exchange] =
      pull(i, {action.exchange.partner}, has, bytes, action.deadline, ended);
}

void RoundSwarm::perform(std::size_t i, pair_action::StopPull const& action) {
  stop(*peers_[i].pulls.at(action.exchange));
}

void RoundSwarm::perform(std::size_t i, pair_action::Decide const& action) {
  time_.at(time_.now(), [this, i, exchange = action.exchange] {
    feed_pair(i, exchange.lane, pair_event::Decided{exchange, ""});
  });
}

void RoundSwarm::perform(std::size_t i, pair_action::Closed const& action) {
  time_.at(time_.now(), [this, i, action] { feed(i, round_event::PairClosed{action, 1, 1, 1}); });
}

SwarmShape::Payload const& RoundSwarm::payload(MixLane lane) const {
  return lane == MixLane::parameters ? shape_.parameters : shape_.gradients;
}

// With one state it is named by its content, else by whose it is.
Version RoundSwarm::version_of(Peer const& peer, std::uint64_t round, std::size_t i) const {
  if (!shape_.mixing.one_state()) return {round, hash_of(fmt::format("state {} {}", i, round))};
  std::string name;
  for (auto const& shard : peer.shards) name += shard.hex();
  return {round, hash_of(name)};
}

}  // namespace grapevine
