// Beacons and announcements: what this peer tells, and what it takes in.

#include "grapevine/base/limits.hpp"
#include "grapevine/base/log.hpp"
#include "node/node_state_detail.hpp"

#include <algorithm>

namespace grapevine {
namespace {

constexpr Duration beat_time = 250ms;
constexpr int beats_per_beacon = 8;
// A contribution may hold what was carried over from a round that closed without it.
constexpr std::uint64_t rounds_in_a_contribution_max = 4;

}  // namespace

void Node::State::subscribe() {
  auto const run = manifest->run.hex();
  auto nothing_left = [](GossipMessage const&) {
  };  // valid messages are taken in as they are checked
  pubsub->subscribe(
      "grapevine/" + run + "/beacon",
      [this](GossipMessage const& message) { return take_beacon(message); }, nothing_left);
  pubsub->subscribe(
      "grapevine/" + run + "/announce",
      [this](GossipMessage const& message) { return take_announcement(message); }, nothing_left);
}

Verdict Node::State::take_beacon(GossipMessage const& message) {
  auto const beacon = verify_beacon(message.data, manifest->run);
  if (!beacon || beacon->signer() != message.from) return Verdict::reject;
  if (beacon->signer() == self) return Verdict::ignore;
  auto const& told = **beacon;
  auto const last = manifest->manifest.rounds;
  if (last > 0 && told.round > last) return Verdict::reject;
  if (!round->view().takes(beacon->signer(), told, doors.clock.now())) return Verdict::ignore;
  host->remember(beacon->signer(), told.addresses);
  feed(round_event::BeaconSeen{beacon->signer(), told});
  return Verdict::accept;
}

Verdict Node::State::take_announcement(GossipMessage const& message) {
  auto const announcement = verify_announcement(message.data, manifest->run);
  if (!announcement || announcement->signer() != message.from) return Verdict::reject;
  if (announcement->signer() == self) return Verdict::ignore;
  if (auto const fits = acceptable(**announcement); !fits) {
    problem(fits.error());
    return Verdict::reject;
  }
  if (auto const* const contribution = std::get_if<Contribution>(&**announcement)) {
    remember_contribution(contribution->round, announcement->signer(), message.data);
    feed(round_event::ContributionSeen{announcement->signer(), *contribution});
  } else {
    feed(round_event::ResultSeen{announcement->signer(), std::get<ShardResult>(**announcement)});
  }
  return Verdict::accept;
}

// The first of this round and of the next, as the machine takes them; bounded, whoever signs.
void Node::State::remember_contribution(std::uint64_t of_round, PeerId const& author,
                                        ByteView message) {
  auto const now = round->version().round;
  if (of_round < now || of_round > now + 1) return;
  if (contribution_hashes.size() < 2 * limits::round_peers_max)
    contribution_hashes.emplace(std::pair(of_round, author), sha256(message));
}

// What a message must satisfy beyond its schema: the sizes of this run's shards, and a weight that
// could have been trained.
// Who was left out for longer has learned more, and counts for no more.
std::uint64_t Node::State::contribution_tokens_max() const {
  auto const& agreed = manifest->manifest;
  return rounds_in_a_contribution_max * agreed.inner_steps * agreed.inner.batch *
         agreed.model.context;
}

Result<> Node::State::acceptable(Announcement const& announcement) const {
  auto const& agreed = manifest->manifest;
  auto shard_bytes = [&](std::uint32_t index) {
    return shard_range(layout.elements(), agreed.shards, index).count * sizeof(float);
  };
  if (auto const* const result = std::get_if<ShardResult>(&announcement)) {
    if (result->shard >= agreed.shards || result->result.bytes != shard_bytes(result->shard))
      return fail(Errc::schema_mismatch, "a shard result of another size");
    return {};
  }
  auto const& contribution = std::get<Contribution>(announcement);
  if (contribution.shards.size() != agreed.shards)
    return fail(Errc::schema_mismatch, "a contribution of another number of shards");
  for (std::uint32_t i = 0; i < agreed.shards; ++i)
    if (contribution.shards[i].bytes != shard_bytes(i))
      return fail(Errc::schema_mismatch, "a contribution with a shard of another size");
  auto const tokens_max = contribution_tokens_max();
  if (contribution.tokens == 0 || contribution.tokens > tokens_max)
    return fail(Errc::limit_exceeded, "a contribution that claims " +
                                          std::to_string(contribution.tokens) +
                                          " tokens of at most " + std::to_string(tokens_max));
  return {};
}

// Who still has to learn what became of an exchange is not done, and others stay for it.
PeerState Node::State::shown_state() const {
  if (stop_requested) return PeerState::stopping;
  bool const at_the_end = round->phase() == RoundPhase::finished;
  return at_the_end && in_doubt() ? PeerState::syncing : round->beacon_state();
}

void Node::State::send_beacon() {
  Beacon beacon;
  beacon.run = manifest->run;
  beacon.sequence = ++beacon_sequence;
  beacon.name = options.name;
  beacon.agent = "grapevine/" GRAPEVINE_VERSION;
  beacon.protocol = protocol_version;
  beacon.state = shown_state();
  if (state != nullptr) {
    beacon.round = state->round;
    beacon.state_hash = state->hash();
  }
  beacon.inner_step = inner_done;
  beacon.inner_steps = round->inner_target();
  beacon.steps_per_s = static_cast<float>(steps_per_s);
  beacon.bytes_per_s = static_cast<float>(blobs->counters().fetch_bytes_per_s);
  beacon.tokens_total = tokens_total;
  beacon.loss = loss;
  for (auto const& address : host->addresses())
    if (beacon.addresses.size() < limits::beacon_addresses_max) beacon.addresses.push_back(address);
  auto const sent = pubsub->publish("grapevine/" + manifest->run.hex() + "/beacon",
                                    sign_beacon(beacon, *identity));
  if (!sent) problem(sent.error());
}

void Node::State::announce(Announcement announcement) {
  auto const sent = pubsub->publish("grapevine/" + manifest->run.hex() + "/announce",
                                    sign_announcement(announcement, *identity));
  if (!sent) problem(sent.error());
}

// The pulse of the node: ticks for the machine, a beacon every two seconds, and with it once more
// what was announced in this round and the last, for those whom gossip missed.
Awaitable<> Node::State::beat() {
  for (int count = 0;; ++count) {
    if (count % beats_per_beacon == 0) {
      send_beacon();
      auto const behind = [this](auto const& entry) {
        return entry.second.counts() && entry.second.beacon.round + 1 == round->version().round;
      };
      if (round->phase() == RoundPhase::collecting)
        for (auto const& announcement : announced) announce(announcement);
      if (std::ranges::any_of(round->view().peers(), behind))
        for (auto const& announcement : announced_before) announce(announcement);
      auto const counters = host->counters();
      rate_samples.push_back({doors.clock.now(), counters.bytes_in, counters.bytes_out});
      if (rate_samples.size() > 5) rate_samples.pop_front();
    }
    feed(round_event::Rates{steps_per_s, blobs->counters().fetch_bytes_per_s});
    feed(round_event::Tick{});
    feed_pair(pair_event::Tick{});
    co_await doors.clock.sleep_for(beat_time);
  }
}

}  // namespace grapevine
