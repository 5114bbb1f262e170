// What this peer brings to the mixings of a round, encoded as the run has it, and what its
// encodings left out.

#include "grapevine/tensor/layout.hpp"
#include "node/node_state_detail.hpp"

#include <algorithm>

namespace grapevine {
namespace {

Codec codec_of(Mixing const& mixing, bool gradient) {
  return gradient ? mixing.mix2_codec : mixing.mix1_codec;
}

}  // namespace

// Parameters, momentum, gradients: as many times the shards of the layout.
std::vector<Node::State::ShardShape> Node::State::shapes(MixLane lane) const {
  auto const& agreed = manifest->manifest;
  std::uint32_t const of_state = lane == MixLane::gradients    ? 0
                                 : agreed.mixing.mix1_momentum ? 2
                                                               : 1;
  std::uint32_t const of_gradients = lane == MixLane::parameters ? 0 : 1;
  std::vector<ShardShape> shapes;
  for (std::uint32_t i = 0; i < (of_state + of_gradients) * agreed.shards; ++i) {
    auto const elements = shard_range(layout.elements(), agreed.shards, i % agreed.shards).count;
    bool const gradient = i >= of_state * agreed.shards;
    shapes.push_back({elements, codec_of(agreed.mixing, gradient)});
  }
  return shapes;
}

std::uint64_t Node::State::ShardShape::bytes() const {
  return encoded_bytes({.codec = codec}, elements);
}

Node::State::ShardShape Node::State::shape_of(ShardBlob const& what) const {
  auto shape = shapes(what.lane)[what.shard];
  if (what.result) shape.codec = manifest->manifest.mixing.result_codec(what.lane);
  return shape;
}

std::uint64_t Node::State::lane_bytes(MixLane lane) const {
  std::uint64_t sent = 0, results = 0;
  auto const result_codec = manifest->manifest.mixing.result_codec(lane);
  for (auto const& shape : shapes(lane)) {
    sent += shape.bytes();
    results += ShardShape{shape.elements, result_codec}.bytes();
  }
  return std::max(sent, results);
}

void Node::State::perform(round_action::Prepare const& action) {
  if (action.lane == MixLane::parameters)
    tasks.spawn(bring_parameters(action));
  else
    tasks.spawn(bring_gradient(action));
}

Contribution Node::State::empty_contribution(round_action::Prepare const& action) const {
  Contribution contribution;
  contribution.run = manifest->run;
  contribution.round = action.round;
  contribution.lane = action.lane;
  contribution.base = action.base;
  contribution.tokens = 1;
  return contribution;
}

// The shards of the state, which are served in fp32 already, as they travel.
Result<std::vector<SentShard>> Node::State::encode_state(ModelState const& own) const {
  auto const& mixing = manifest->manifest.mixing;
  std::vector<SentShard> encoded;
  for (auto const* const shards : {&own.parameters, &own.momentum}) {
    if (shards == &own.momentum && !mixing.mix1_momentum) break;
    for (auto const& shard : *shards) {
      if (mixing.mix1_codec == Codec::fp32) {
        encoded.push_back({shard, shard.blob});
      } else {
        TRY_ASSIGN(auto sent, encode_shard(mixing.mix1_codec, shard.blob));
        encoded.push_back(std::move(sent));
      }
    }
  }
  return encoded;
}

Awaitable<> Node::State::bring_parameters(round_action::Prepare action) {
  ModelStatePtr const own = state;
  Result<std::vector<SentShard>> encoded;
  if (manifest->manifest.mixing.mix1_codec == Codec::fp32) {
    encoded = encode_state(*own);
  } else {
    auto encode = [this, &own](std::stop_token) { return encode_state(*own); };
    encoded = co_await run_on<Result<std::vector<SentShard>>>(doors.heavy, encode);
  }
  if (!encoded) {
    problem(encoded.error());
    co_return;  // Mix1 ends without this peer
  }
  auto contribution = empty_contribution(action);
  contribution.shards = serve(MixLane::parameters, *encoded);
  contribution.probe = shown_probe(action.round, MixLane::parameters);
  feed(round_event::Prepared{std::move(contribution)});
}

// The outer gradient; where both are mixed with one partner the state goes with it.
Result<Node::State::Brought> Node::State::encode_gradient(std::span<float const> theta) {
  auto const& agreed = manifest->manifest;
  auto const codec = agreed.mixing.mix2_codec;
  Brought brought;
  if (agreed.mixing.joint) {
    TRY_ASSIGN(brought.shards, encode_state(*state));
  }
  TRY_ASSIGN(brought.gradient, outer_gradient(*inner_start, theta, agreed.shards));
  if (codec != Codec::fp32 && feedback.empty())
    for (auto const& shard : brought.gradient.shards)
      feedback.emplace_back(CodecSettings{.codec = codec}, agreed.mixing.error_decay,
                            shard->size() / sizeof(float));
  for (auto& left_out : feedback) left_out.undo();  // of a round that this peer left half-way
  for (std::size_t i = 0; i < agreed.shards; ++i) {
    auto const& values = brought.gradient.shards[i];
    auto sent =
        feedback.empty() ? encode_shard(codec, values) : encode_shard(codec, feedback[i], values);
    if (!sent) {
      for (auto& left_out : feedback) left_out.reset();
      return tl::unexpected(sent.error());
    }
    brought.shards.push_back(std::move(*sent));
  }
  TRY_ASSIGN(brought.norm, norm_of_shards(std::span(brought.shards).last(agreed.shards)));
  return brought;
}

Awaitable<> Node::State::bring_gradient(round_action::Prepare action) {
  mix_began = doors.clock.now();
  counters_at_mix2 = host->counters();
  struct Trained {
    std::vector<float> theta;
    std::optional<Result<ProbeAnswer>> answer;
  };
  auto read = [this](std::stop_token) {
    Trained trained{std::vector<float>(layout.elements()), ask_probe()};
    trainer->read(trained.theta);
    return trained;
  };
  auto trained = co_await run_on<Trained>(doors.train, read);
  auto encode = [this, &trained](std::stop_token) { return encode_gradient(trained.theta); };
  auto brought = co_await run_on<Result<Brought>>(doors.heavy, encode);
  if (!brought) {
    problem(brought.error());
    feed(round_event::InnerFailed{});
    co_return;
  }
  co_await show_probe(action.round, std::move(trained.answer));
  auto contribution = empty_contribution(action);
  contribution.tokens = contribution_tokens();
  contribution.steps = round_steps;
  if (!round_loss) round_loss = loss;  // ended before its last step
  contribution.loss = *round_loss;
  contribution.norm = static_cast<float>(brought->norm);
  own_gradient = std::move(brought->gradient.shards);
  own_norm = brought->norm;
  auto const lane = manifest->manifest.mixing.joint ? MixLane::joint : MixLane::gradients;
  contribution.shards = serve(lane, brought->shards);
  contribution.probe = shown_probe(action.round, lane);
  feed(round_event::Prepared{std::move(contribution)});
}

std::vector<BlobRef> Node::State::serve(MixLane lane, std::vector<SentShard>& shards) {
  std::vector<BlobRef> refs;
  auto& values = sent_values[lane];
  values.clear();
  for (std::uint32_t i = 0; i < shards.size(); ++i) {
    auto& [served, decoded] = shards[i];
    refs.push_back(served.ref);
    kept_gradients.push_back(served.ref);
    blobs->keep_as(served.ref, std::move(served.leaves), served.blob);
    round_blobs[{lane, i, false, served.ref}] = decoded;
    values.push_back(std::move(decoded));
  }
  return refs;
}

// What an encoding of a gradient left out is kept once the rest of it has reached the others.
// Where it has not, the whole is still this peer's: in the trainer, which goes on from there, in
// its own outer step, or else (a shard that was averaged without it) in what is kept.
Awaitable<> Node::State::settle_feedback(round_action::Apply action) {
  if (feedback.empty()) co_return;
  auto const of_gradients = [](auto const& mixed) { return mixed.lane != MixLane::parameters; };
  auto const found = std::ranges::find_if(action.mixed, of_gradients);
  bool const lost = manifest->manifest.mixing.one_state() && !action.keep_progress;
  auto settle = [this, &action, found, lost](std::stop_token) {
    for (std::size_t i = 0; i < feedback.size(); ++i) {
      if (!feedback[i].open()) continue;
      bool const with_ours = found != action.mixed.end() && found->takes_ours(i);
      if (with_ours)
        feedback[i].commit();
      else if (lost)
        feedback[i].discard();
      else
        feedback[i].undo();
    }
    return true;
  };
  co_await run_on<bool>(doors.heavy, settle);
}

}  // namespace grapevine
