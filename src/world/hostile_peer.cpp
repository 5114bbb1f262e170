#include "grapevine/world/hostile_peer.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/crypto/merkle.hpp"
#include "grapevine/tensor/layout.hpp"
#include "grapevine/wire/framing.hpp"
#include "grapevine/wire/messages.hpp"
#include "grapevine/wire/protobuf.hpp"
#include "world/bare_peer_detail.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace grapevine::world {
namespace {

constexpr Duration beat_time = 1s;
constexpr std::string_view blob_protocol = "/grapevine/1/blob";
constexpr std::string_view mix_protocol = "/grapevine/1/mix";
constexpr std::size_t replayed_max = 16;

Blob blob_of(std::vector<float> const& values) {
  auto const* const data = reinterpret_cast<std::uint8_t const*>(values.data());
  return std::make_shared<Bytes const>(data, data + values.size() * sizeof(float));
}

Verdict accept(GossipMessage const&) { return Verdict::accept; }
void deliver_nothing(GossipMessage const&) {}

class HostilePeer final : public sim::Program {
 public:
  HostilePeer(Doors doors, HostileOptions options)
      : ways_(std::move(options.ways)),
        other_identity_(Identity::generate(doors.random)),
        peer_(doors, std::move(options.bootstrap)) {}

  // Never ends by itself: it is crashed.
  Awaitable<> run() override {
    if (!peer_.start()) co_return;
    bend_streams();
    co_await peer_.join();
    follow();
    for (;;) {
      if (seen_) send_beacon();
      if (is(Bent::mesh_spam)) co_await spam();
      co_await peer_.doors.clock.sleep_for(beat_time);
    }
  }

 private:
  [[nodiscard]] bool is(Bent bent) const { return ways_.contains(bent); }

  void bend_streams() {
    peer_.host.handle(std::string(mix_protocol), take_nothing);
    if (is(Bent::withheld)) peer_.host.handle(std::string(blob_protocol), take_nothing);
    if (is(Bent::false_bytes))
      peer_.host.handle(std::string(blob_protocol),
                        [this](PeerStream stream) { return serve_falsely(std::move(stream)); });
  }

  static Awaitable<> take_nothing(PeerStream stream) {
    Bytes asked(4096);
    while (co_await stream.stream->read_some(asked)) continue;
  }

  Awaitable<> serve_falsely(PeerStream stream) {
    Bytes asked(limits::chunk_request_bytes_max);
    while (co_await stream.stream->read_some(asked)) {
      ChunkResponse response;
      response.count = 1;
      response.bytes = peer_.doors.random.below(1 << 20);
      response.leaves.resize(1 + peer_.doors.random.below(4));
      Bytes answer;
      append_frame(answer, encode(response));
      Bytes garbage(1 + peer_.doors.random.below(100'000));
      peer_.doors.random.fill(garbage);
      append(answer, garbage);
      if (!co_await stream.stream->write(answer)) co_return;
    }
  }

  void follow() {
    auto take_beacon = [this](GossipMessage const& message) {
      auto const beacon = verify_beacon(message.data, peer_.manifest.run);
      if (!beacon) return Verdict::reject;
      bool const at_work =
          (*beacon)->state == PeerState::training || (*beacon)->state == PeerState::mixing;
      if (at_work && (!seen_ || (*beacon)->round > seen_->round)) {
        seen_ = **beacon;
        strike();
      }
      return Verdict::accept;
    };
    auto take_announcement = [this](GossipMessage const& message) {
      if (heard_.size() < replayed_max) heard_.push_back(message.data);
      return Verdict::accept;
    };
    peer_.pubsub.subscribe(peer_.topic("announce"), take_announcement, deliver_nothing);
    peer_.pubsub.subscribe(peer_.topic("beacon"), take_beacon, deliver_nothing);
    if (!is(Bent::wrong_manifest)) return;
    RunManifest other = peer_.manifest.manifest;
    other.name = "another";
    auto const elsewhere = sign_manifest(other, peer_.identity).run;
    peer_.pubsub.subscribe(fmt::format("grapevine/{}/beacon", elsewhere.hex()), accept,
                           deliver_nothing);
  }

  // Once a round, with a contribution to it.
  void strike() {
    auto const contribution = contribution_to(*seen_, gradient());
    auto const message = sign_announcement(contribution, peer_.identity);
    peer_.publish("announce", message);
    if (is(Bent::bad_signature)) tell_with_bad_signatures(contribution, message);
    if (is(Bent::replay))
      for (auto const& old : heard_) peer_.publish("announce", old);
    heard_.push_back(message);
    if (heard_.size() > replayed_max) heard_.erase(heard_.begin());
    if (is(Bent::equivocation)) {
      peer_.publish("announce",
                    sign_announcement(contribution_to(*seen_, gradient()), peer_.identity));
    }
    if (is(Bent::oversize)) tell_oversize(contribution);
  }

  void tell_with_bad_signatures(Contribution const& contribution, Bytes changed) {
    peer_.publish("announce", sign_announcement(contribution, other_identity_));
    changed[peer_.doors.random.below(changed.size())] ^= 1;
    peer_.publish("announce", changed);
  }

  void tell_oversize(Contribution contribution) {
    contribution.round += 1;
    contribution.shards.front().bytes += sizeof(float);
    peer_.publish("announce", sign_announcement(contribution, peer_.identity));
    contribution.shards.front().bytes = limits::blob_bytes_max;
    peer_.publish("announce", sign_announcement(contribution, peer_.identity));
    contribution.shards.resize(limits::shards_max, contribution.shards.front());
    contribution.tokens = limits::round_tokens_max;
    peer_.publish("announce", sign_announcement(contribution, peer_.identity));
    Bytes noise(limits::gossip_rpc_sent_max - 1024);
    peer_.doors.random.fill(noise);
    peer_.publish("announce", noise);
    peer_.publish("beacon", noise);
  }

  std::vector<float> gradient() {
    std::vector<float> values(peer_.manifest.manifest.parameters);
    for (auto& value : values) value = static_cast<float>(0.01 * (peer_.doors.random.unit() - 0.5));
    if (is(Bent::huge_norm))
      for (auto& value : values) value *= 1e15F;
    if (is(Bent::not_finite))
      values[peer_.doors.random.below(values.size())] = std::numeric_limits<float>::quiet_NaN();
    return values;
  }

  // As it must be, but for what is in it; its blobs are served.
  Contribution contribution_to(Beacon const& round, std::vector<float> const& values) {
    auto const& agreed = peer_.manifest.manifest;
    Contribution contribution;
    contribution.run = peer_.manifest.run;
    contribution.round = round.round;
    contribution.base = round.state_hash;
    contribution.steps = agreed.inner_steps;
    contribution.tokens =
        std::uint64_t{agreed.inner_steps} * agreed.inner.batch * agreed.model.context;
    contribution.loss = 1;
    double squares = 0;
    for (float const value : values)
      squares += std::isfinite(value) ? double{value} * double{value} : 0;
    contribution.norm = static_cast<float>(std::sqrt(squares));
    for (std::uint32_t i = 0; i < agreed.shards; ++i) {
      auto const range = shard_range(agreed.parameters, agreed.shards, i);
      auto const from = values.begin() + static_cast<std::ptrdiff_t>(range.first);
      auto blob = encoded({from, from + static_cast<std::ptrdiff_t>(range.count)});
      auto leaves = merkle_leaves(*blob, limits::blob_chunk_bytes);
      BlobRef const ref{merkle_root(leaves), blob->size()};
      contribution.shards.push_back(ref);
      peer_.blobs.keep_as(ref, std::move(leaves), std::move(blob));
    }
    return contribution;
  }

  // As the run sends it; what no codec takes becomes bytes that nobody can read.
  [[nodiscard]] Blob encoded(std::vector<float> const& values) const {
    CodecSettings const settings{.codec = peer_.manifest.manifest.mixing.mix2_codec};
    if (settings.codec == Codec::fp32) return blob_of(values);
    auto bytes = std::make_shared<Bytes>(encoded_bytes(settings, values.size()));
    if (!encode(settings, values, *bytes)) std::ranges::fill(*bytes, std::uint8_t{0xFF});
    return bytes;
  }

  void send_beacon() {
    Beacon beacon;
    beacon.run = peer_.manifest.run;
    beacon.sequence = ++sequence_;
    beacon.name = "hostile";
    beacon.agent = "hostile";
    beacon.state = PeerState::mixing;
    beacon.round = seen_->round;
    beacon.state_hash = seen_->state_hash;
    beacon.inner_step = beacon.inner_steps = peer_.manifest.manifest.inner_steps;
    beacon.addresses = peer_.host.addresses();
    if (is(Bent::far_round)) {
      beacon.round += 1000;
      beacon.state_hash = sha256(as_bytes("nowhere"));
    }
    auto const message = sign_beacon(beacon, peer_.identity);
    peer_.publish("beacon", message);
    if (is(Bent::bad_signature)) peer_.publish("beacon", sign_beacon(beacon, other_identity_));
  }

  // Raw RPCs of gossipsub: subscriptions 1, control 3 with ihave 1, iwant 2, graft 3, prune 4.
  Awaitable<> spam() {
    Bytes frames;
    for (int count = 0; count < 50; ++count) append_frame(frames, spam_rpc());
    for (auto const& peer : peer_.host.peers()) {
      std::vector<std::string> const protocols{"/meshsub/1.2.0"};
      auto opening = peer_.host.open_stream(peer, protocols);
      auto const opened = co_await with_deadline(
          peer_.doors.clock, peer_.doors.clock.now() + beat_time, std::move(opening));
      if (!opened) continue;
      auto writing = opened->stream->write(frames);
      (void)co_await with_deadline(peer_.doors.clock, peer_.doors.clock.now() + beat_time,
                                   std::move(writing));
    }
  }

  Bytes spam_rpc() {
    protobuf::Writer control;
    Bytes id(40);
    peer_.doors.random.fill(id);
    protobuf::Writer ids;
    ids.string(1, peer_.topic("announce"));
    ids.bytes(2, id);
    control.bytes(1, ids.view());
    protobuf::Writer wanted;
    wanted.bytes(1, id);
    control.bytes(2, wanted.view());
    for (auto const* const name : {"announce", "beacon", "nothing"}) {
      protobuf::Writer of_topic;
      of_topic.string(1, peer_.topic(name));
      control.bytes(peer_.doors.random.below(2) == 0 ? 3 : 4, of_topic.view());
    }
    protobuf::Writer subscription;
    subscription.varint(1, 1);
    subscription.string(2, fmt::format("spam/{}", peer_.doors.random.below(1000)));
    protobuf::Writer rpc;
    rpc.bytes(1, subscription.view());
    rpc.bytes(3, control.view());
    return rpc.take();
  }

  std::set<Bent> ways_;
  Identity other_identity_;
  BarePeer peer_;
  std::uint64_t sequence_ = 0;
  std::optional<Beacon> seen_;  // of whoever is furthest
  std::vector<Bytes> heard_;    // announcements, to be replayed
};

}  // namespace

std::string_view to_string(Bent bent) {
  switch (bent) {
    case Bent::bad_signature:
      return "bad signatures";
    case Bent::replay:
      return "replays";
    case Bent::equivocation:
      return "equivocation";
    case Bent::oversize:
      return "too large";
    case Bent::wrong_manifest:
      return "another run";
    case Bent::huge_norm:
      return "huge numbers";
    case Bent::not_finite:
      return "NaN";
    case Bent::withheld:
      return "withheld gradients";
    case Bent::false_bytes:
      return "false bytes";
    case Bent::mesh_spam:
      return "mesh spam";
    case Bent::far_round:
      return "a far round";
  }
  return "?";
}

std::unique_ptr<sim::Program> make_hostile_peer(Doors doors, HostileOptions options) {
  return std::make_unique<HostilePeer>(doors, std::move(options));
}

}  // namespace grapevine::world
