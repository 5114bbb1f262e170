#include "grapevine/base/limits.hpp"
#include "swarm_world.hpp"

using namespace grapevine;
using namespace grapevine::testing;
using namespace std::chrono_literals;

namespace {

constexpr auto topic = "grapevine/test/announce";

struct Inbox {
  std::vector<GossipMessage> got;
  void join(PubSub& gossip, PubSub::Validator validate = {}) {
    gossip.subscribe(topic, std::move(validate),
                     [this](GossipMessage const& message) { got.push_back(message); });
  }
};

}  // namespace

TEST_CASE("gossip travels a line of hosts, each message once, to who is there") {
  std::vector<Inbox> inbox(4);
  SwarmWorld swarm(4);
  for (std::size_t i = 0; i < 4; ++i) inbox[i].join(swarm.node(i).gossip);
  for (std::size_t i = 1; i < 4; ++i) swarm.connect(i, i - 1);
  swarm.world.run_for(4s);
  CHECK(swarm.node(1).gossip.topic_peers(topic).size() == 2);
  CHECK(swarm.node(1).gossip.topics_seen().at(topic).contains(swarm.id(2)));
  Bytes const large(50'000, 7);
  auto const published = swarm.node(0).gossip.publish(topic, large).value();
  CHECK(published.peers == 1);
  CHECK(published.seqno < swarm.node(0).gossip.seqno_next());
  swarm.world.run_for(3s);
  CHECK(inbox[0].got.empty());
  for (std::size_t i = 1; i < 4; ++i) {
    REQUIRE(inbox[i].got.size() == 1);
    CHECK(inbox[i].got[0].from == swarm.id(0));
    CHECK(inbox[i].got[0].via == swarm.id(i - 1));
    CHECK(inbox[i].got[0].seqno == published.seqno);
    CHECK(inbox[i].got[0].data == large);
  }
  CHECK(swarm.node(2).gossip.counters().mesh.at(topic) == 2);
  CHECK_FALSE(swarm.node(0).gossip.publish(topic, Bytes(limits::gossip_rpc_sent_max)).has_value());
}

TEST_CASE("what a validator does not accept goes no further") {
  std::vector<Inbox> inbox(3);
  SwarmWorld swarm(3);
  inbox[0].join(swarm.node(0).gossip);
  inbox[1].join(swarm.node(1).gossip, [](GossipMessage const& message) {
    if (message.data.empty()) return Verdict::ignore;
    return message.data[0] == 1 ? Verdict::accept : Verdict::reject;
  });
  inbox[2].join(swarm.node(2).gossip);
  swarm.connect(1, 0);
  swarm.connect(2, 1);
  swarm.world.run_for(4s);
  for (Bytes const& data : {Bytes{}, Bytes{1}, Bytes{2}})
    CHECK(swarm.node(0).gossip.publish(topic, data).has_value());
  swarm.world.run_for(3s);
  REQUIRE(inbox[2].got.size() == 1);
  CHECK(inbox[2].got[0].data == Bytes{1});
  auto const counters = swarm.node(1).gossip.counters();
  CHECK(counters.delivered == 1);
  CHECK(counters.rejected.at("refused") == 1);
  CHECK(counters.rejected.at("ignored") == 1);
}

TEST_CASE("gossip goes on after the connection was cut and made again") {
  std::vector<Inbox> inbox(2);
  SwarmWorld swarm(2);
  for (std::size_t i = 0; i < 2; ++i) inbox[i].join(swarm.node(i).gossip);
  swarm.connect(1, 0);
  swarm.world.run_for(3s);
  swarm.world.cut_connections(0, 1);
  swarm.world.run_for(2s);
  CHECK(swarm.node(0).gossip.topic_peers(topic).empty());
  swarm.connect(1, 0);
  swarm.world.run_for(3s);
  CHECK(swarm.node(0).gossip.publish(topic, Bytes{1})->peers == 1);
  swarm.world.run_for(1s);
  CHECK(inbox[1].got.size() == 1);
}

TEST_CASE("leaving a topic is told, and stopping says goodbye") {
  std::vector<Inbox> inbox(2);
  SwarmWorld swarm(2);
  for (std::size_t i = 0; i < 2; ++i) inbox[i].join(swarm.node(i).gossip);
  swarm.connect(1, 0);
  swarm.world.run_for(3s);
  CHECK(swarm.node(0).gossip.topic_peers(topic).size() == 1);
  swarm.node(1).gossip.unsubscribe(topic);
  swarm.world.run_for(1s);
  CHECK(swarm.node(0).gossip.topic_peers(topic).empty());
  CHECK(swarm.node(0).gossip.counters().mesh.at(topic) == 0);
}
