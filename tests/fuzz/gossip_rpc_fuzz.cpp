// Two peers that send a gossip router any bytes, between heartbeats, reconnections and judgements.
// Input: steps of one byte (what), and for an RPC two bytes of length and that many bytes.
// Whatever they send, what is held for them is bounded and what is sent to them keeps to the caps.
#include "grapevine/base/assert.hpp"
#include "grapevine/p2p/gossip.hpp"

using namespace grapevine;

namespace {

Identity identity(std::uint64_t seed) {
  SeededRandom random(seed);
  return Identity::generate(random);
}

class Party {
 public:
  Party() : router_(identity(1), 1, random_) {
    for (auto const& peer : peers_) join(peer);
    router_.subscribe("test", now_);
    router_.subscribe("other", now_);
  }

  ByteView step(ByteView input) {
    auto const what = input[0];
    auto const& peer = peers_[what & 1];
    input = input.subspan(1);
    switch (what >> 1 & 7) {
      case 0:
        now_ += std::chrono::seconds(1);
        router_.heartbeat(now_);
        break;
      case 1:
        router_.remove_peer(peer);
        join(peer);
        break;
      case 2:
        router_.close(peer);
        break;
      case 3:
        (void)router_.publish("test", as_bytes("x"), now_);
        break;
      case 4:
        router_.unsubscribe("other", now_);
        break;
      case 5:
        router_.subscribe("other", now_);
        break;
      default:
        input = rpc(peer, input);
        break;
    }
    act();
    check();
    return input;
  }

 private:
  void join(PeerId const& peer) {
    router_.add_peer(peer, GossipRouter::Link::inbound);
    (void)router_.open(peer, GossipVersion::v1_2);
  }
  ByteView rpc(PeerId const& peer, ByteView input) {
    if (input.size() < 2) return {};
    auto const size = std::min<std::size_t>(read_be<std::uint16_t>(input), input.size() - 2);
    (void)router_.receive(peer, input.subspan(2, size), now_);
    return input.subspan(2 + size);
  }
  void act() {
    for (auto const& action : router_.take_actions()) {
      if (auto const* check = std::get_if<GossipCheck>(&action))
        router_.judged(check->id, Verdict::accept);
      else
        ASSERT(std::get<GossipSend>(action).frame->size() <= limits::gossip_rpc_received_max);
    }
  }
  void check() const {
    auto const held = router_.held();
    ASSERT(held.topics <= 2 * limits::gossip_topics_per_peer_max);
    ASSERT(held.judging == 0);
    ASSERT(held.backoffs <= 4);
    ASSERT(held.promises <= limits::gossip_promises_max);
    ASSERT(held.unwanted <= 6 * limits::gossip_ids_unwanted_max);
    ASSERT(held.history_bytes <= limits::gossip_history_bytes_max);
  }

  std::vector<PeerId> const peers_{PeerId::from_ed25519(identity(2).public_key().raw()),
                                   PeerId::from_ed25519(identity(3).public_key().raw())};
  SeededRandom random_{4};
  Instant now_{};
  GossipRouter router_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  Party party;
  ByteView input(data, size);
  for (int steps = 0; !input.empty() && steps < 200; ++steps) input = party.step(input);
  return 0;
}
