// How far apart the models of the swarm are at the end of the inner steps: what they expect on the
// run's probe batch (js), and their parameters (l2). Measured beside a round, which never waits for
// it: an answer that has not come until the round is over is not known.

#include "grapevine/base/limits.hpp"
#include "grapevine/base/log.hpp"
#include "grapevine/mix/average.hpp"
#include "grapevine/mix/js_distance.hpp"
#include "grapevine/train/probe_batch.hpp"
#include "node/mixed_state_detail.hpp"
#include "node/node_state_detail.hpp"

#include <algorithm>
#include <cmath>

namespace grapevine {

// Answers travel with what is mixed after the inner steps; where that is nothing, with the
// parameters that are mixed in the next round.
MixLane Node::State::probe_lane() const {
  auto const& mixing = manifest->manifest.mixing;
  if (mixing.mix2 == MixPattern::none) return MixLane::parameters;
  return mixing.joint ? MixLane::joint : MixLane::gradients;
}

// On the train worker.
std::optional<Result<ProbeAnswer>> Node::State::ask_probe() {
  auto const& agreed = manifest->manifest;
  if (trainer_info.vocab == 0 || agreed.mixing.nothing()) return std::nullopt;
  return trainer->probe(probe_batch(agreed.seed, trainer_info.vocab));
}

// Serves our answer, made at the end of the inner steps of `of_round`, and compares it with what is
// there of the others.
Awaitable<> Node::State::show_probe(std::uint64_t of_round,
                                    std::optional<Result<ProbeAnswer>> answer) {
  if (!answer) co_return;
  if (!*answer) {
    problem(answer->error());
    co_return;
  }
  auto mine = std::make_shared<ProbeAnswer const>(std::move(**answer));
  auto write = [&mine](std::stop_token) {
    return hash_blob(std::make_shared<Bytes const>(encode(*mine)));
  };
  auto blob = co_await run_on<HashedBlob>(doors.heavy, write);
  kept_gradients.push_back(blob.ref);
  blobs->keep_as(blob.ref, std::move(blob.leaves), blob.blob);
  std::uint64_t const mixed_in = probe_lane() == MixLane::parameters ? of_round + 1 : of_round;
  probing.mine = {mixed_in, blob.ref, std::move(mine)};
  std::erase_if(probing.distances,
                [mixed_in](auto const& one) { return one.first.first == mixed_in; });
  probing.seen.erase(probing.seen.begin(), probing.seen.lower_bound({mixed_in, PeerId{}}));
  for (auto const& [whose, ref] : probing.seen)
    if (whose.first == mixed_in) tasks.spawn(compare_probe(mixed_in, whose.second, ref));
}

bool Node::State::answered(std::uint64_t of_round) const {
  return probing.mine.answer != nullptr && probing.mine.round == of_round;
}

std::optional<BlobRef> Node::State::shown_probe(std::uint64_t of_round, MixLane lane) const {
  if (lane != probe_lane() || !answered(of_round)) return std::nullopt;
  return probing.mine.ref;
}

// The first few of a round: in a large swarm some say what all would say.
void Node::State::probe_seen(std::uint64_t of_round, MixLane lane, PeerId const& peer,
                             std::optional<BlobRef> const& ref) {
  auto const now = round->version().round;
  if (!ref || closing || lane != probe_lane() || of_round < now || of_round > now + 1) return;
  auto const is_of_it = [of_round](auto const& one) { return one.first.first == of_round; };
  auto const known = std::ranges::count_if(probing.seen, is_of_it);
  if (known >= static_cast<std::ptrdiff_t>(limits::probe_partners_max)) return;
  bool const is_new = probing.seen.emplace(std::pair{of_round, peer}, *ref).second;
  if (is_new && answered(of_round)) tasks.spawn(compare_probe(of_round, peer, *ref));
}

// Both sides of a pair come to the same number: it is symmetric in two answers that both hold.
Awaitable<> Node::State::compare_probe(std::uint64_t of_round, PeerId peer, BlobRef ref) {
  auto const mine = probing.mine.answer;
  auto const deadline = doors.clock.now() + limits::probe_deadline;
  std::vector<PeerId> const holders{peer};
  auto const fetched = co_await blobs->fetch(ref, holders, deadline);
  if (!fetched) {
    log_debug("the probe answer of {} did not come: {}", peer.brief(), fetched.error().message());
    co_return;
  }
  auto const blob = fetched->blob;
  auto compare = [&mine, &blob](std::stop_token) -> Result<double> {
    TRY_ASSIGN(auto const theirs, decode_probe_answer(*blob));
    return js_distance(*mine, theirs);
  };
  auto const distance = co_await run_on<Result<double>>(doors.heavy, compare);
  if (!distance)
    problem(distance.error());
  else if (!answered(of_round) || probing.mine.answer == mine)  // or it is compared once more
    probing.distances[{of_round, peer}] = *distance;
}

// The mean over the partners whose answer came; what came of earlier rounds is forgotten.
std::optional<double> Node::State::js_of(std::uint64_t of_round) {
  double sum = 0;
  std::size_t count = 0;
  for (auto const& [whose, distance] : probing.distances) {
    if (whose.first != of_round) continue;
    sum += distance;
    ++count;
  }
  probing.distances.erase(probing.distances.begin(),
                          probing.distances.lower_bound({of_round + 1, PeerId{}}));
  return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
}

// What travels in a lane is what the peers have, and not a rounding of it.
bool Node::State::exact(MixLane lane) const {
  auto const& mixing = manifest->manifest.mixing;
  return mixing.mix2_codec == Codec::fp32 &&
         (lane == MixLane::gradients || mixing.mix1_codec == Codec::fp32);
}

// Our side of a joint exchange, to be compared with the partner's; nothing where that cannot be.
std::vector<Blob> Node::State::joint_side(MixLane lane) const {
  auto const brought = sent_values.find(lane);
  bool const known = lane == MixLane::joint && exact(lane) && brought != sent_values.end();
  return known ? brought->second : std::vector<Blob>{};
}

// Everybody began with the same parameters, so that their distances are those of the outer
// gradients. Not known where they were rounded, or a shard has missed one of the inputs.
Awaitable<std::optional<double>> Node::State::spread_of(round_action::Mixed mixed) {
  if (!exact(mixed.lane)) co_return std::nullopt;
  std::vector<WeightedNorm> norms;
  for (auto const& input : mixed.inputs) {
    if (input.shards != manifest->manifest.shards) co_return std::nullopt;
    norms.push_back({static_cast<double>(input.tokens), double{input.norm}});
  }
  auto const results = results_of(mixed);
  if (norms.size() < 2 || std::ranges::count(results, nullptr) > 0) co_return std::nullopt;
  auto measure = [&norms, &results](std::stop_token) {
    double squares = 0;
    for (auto const& result : results) squares += squared_norm(floats_of(*result));
    return std::sqrt(mean_squared_distance(norms, squares));
  };
  co_return co_await run_on<double>(doors.heavy, measure);
}

// What is known of it when a round has been mixed.
Awaitable<Snapshot::Consensus> Node::State::consensus_of(round_action::Apply action) {
  Snapshot::Consensus consensus;
  consensus.js = js_of(action.round);
  consensus.l2 = std::exchange(probing.l2, std::nullopt);
  if (manifest->manifest.mixing.one_state())
    consensus.l2 = co_await spread_of(action.mixed.front());
  co_return consensus;
}

}  // namespace grapevine
