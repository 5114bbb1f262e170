// Beacons and announcements: what this peer tells, and what it takes in.

#include "grapevine/base/limits.hpp"
#include "grapevine/base/log.hpp"
#include "node/claimed_tokens_detail.hpp"
#include "node/node_state_detail.hpp"

#include <algorithm>

namespace grapevine {
namespace {

constexpr Duration beat_time = 250ms;
constexpr int beats_per_beacon = 8;

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
  auto const beacon = verify_beacon(message.data, manifest->run, &message.from);
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
    remember_contribution(contribution->round, contribution->lane, announcement->signer(),
                          message.data);
    probe_seen(contribution->round, contribution->lane, announcement->signer(),
               contribution->probe);
    feed(round_event::ContributionSeen{announcement->signer(), *contribution});
  } else {
    feed(round_event::ResultSeen{announcement->signer(), std::get<ShardResult>(**announcement)});
  }
  return Verdict::accept;
}

// The first of this round and of the next, as the machine takes them; bounded, whoever signs.
void Node::State::remember_contribution(std::uint64_t of_round, MixLane lane, PeerId const& author,
                                        ByteView message) {
  auto const now = round->version().round;
  if (of_round < now || of_round > now + 1) return;
  if (contribution_hashes.size() < 4 * limits::round_peers_max)
    contribution_hashes.emplace(ContributionKey{of_round, lane, author}, sha256(message));
}

// Who was left out for longer has learned more, and counts for no more.
std::uint64_t Node::State::contribution_tokens() const {
  return std::min(round_tokens, claimed_tokens_max(manifest->manifest, MixLane::gradients));
}

// What a message must satisfy beyond its schema: the sizes of this run's shards, and a weight that
// could have been trained.
Result<> Node::State::acceptable(Announcement const& announcement) const {
  auto const& agreed = manifest->manifest;
  auto const lane = std::visit([](auto const& one) { return one.lane; }, announcement);
  if (agreed.mixing.pattern_of(lane) != MixPattern::global)
    return fail(Errc::schema_mismatch, "an announcement of what this run does not announce");
  auto const expected = shapes(lane);
  if (auto const* const result = std::get_if<ShardResult>(&announcement)) {
    if (result->shard >= expected.size() ||
        result->result.bytes != shape_of({lane, result->shard, true, {}}).bytes())
      return fail(Errc::schema_mismatch, "a shard result of another size");
    return {};
  }
  auto const& contribution = std::get<Contribution>(announcement);
  if (contribution.shards.size() != expected.size())
    return fail(Errc::schema_mismatch, "a contribution of another number of shards");
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (contribution.shards[i].bytes != expected[i].bytes())
      return fail(Errc::schema_mismatch, "a contribution with a shard of another size");
  if (contribution.tokens == 0)
    return fail(Errc::limit_exceeded, "a contribution that claims no tokens");
  return check_claimed_tokens(agreed, lane, contribution.tokens);
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
    pause_as_due();
    if (count % beats_per_beacon == 0) {
      send_beacon();
      auto const behind = [this](auto const& entry) {
        return entry.second.counts() && entry.second.beacon.round + 1 == round->version().round;
      };
      if (round->waits_for_others())
        for (auto const& announcement : announced) announce(announcement);
      if (std::ranges::any_of(round->view().peers(), behind))
        for (auto const& announcement : announced_before) announce(announcement);
      auto const counters = host->counters();
      rate_samples.push_back({doors.clock.now(), counters.bytes_in, counters.bytes_out});
      if (rate_samples.size() > 5) rate_samples.pop_front();
    }
    feed(round_event::Rates{steps_per_s, blobs->counters().fetch_bytes_per_s});
    feed(round_event::Tick{});
    feed_pairs(pair_event::Tick{});
    co_await doors.clock.sleep_for(beat_time);
  }
}

}  // namespace grapevine
