// A router among peers that do not play by the rules: they are bounded, remembered, and forgotten.
#include "p2p/gossip_rpc_detail.hpp"
#include "p2p/gossip_score_detail.hpp"
#include "unit/p2p/gossip_world.hpp"

#include "grapevine/wire/protobuf.hpp"

#include <rapidcheck.h>

using namespace grapevine;
using namespace grapevine::testing;
using namespace std::chrono_literals;

namespace {

std::string const topic = "t";

Bytes wrap(std::uint32_t number, ByteView inner) {
  protobuf::Writer out;
  out.bytes(number, inner);
  return out.take();
}
Bytes in_control(std::uint32_t number, ByteView inner) { return wrap(3, wrap(number, inner)); }
Bytes subscription(std::string const& name, bool subscribe) {
  protobuf::Writer out;
  out.varint(1, subscribe ? 1 : 0);
  out.string(2, name);
  return wrap(1, out.view());
}
Bytes graft(std::string const& name) { return in_control(3, wrap(1, as_bytes(name))); }
Bytes prune(std::string const& name, std::uint64_t backoff_s) {
  protobuf::Writer out;
  out.string(1, name);
  out.varint(3, backoff_s);
  return in_control(4, out.view());
}
Bytes ihave(std::string const& name, std::uint32_t first, std::uint32_t count) {
  protobuf::Writer out;
  out.string(1, name);
  for (std::uint32_t i = first; i < first + count; ++i) {
    Bytes id(42, 9);
    append_be(id, i);
    out.bytes(2, id);
  }
  return in_control(1, out.view());
}
Bytes iwant(std::vector<GossipId> const& ids) {
  protobuf::Writer out;
  for (auto const& id : ids) out.bytes(1, id);
  return in_control(2, out.view());
}

// A router in one topic, with peers 0, 1, 2… that are in it too.
struct Party {
  explicit Party(std::size_t count, GossipParameters parameters = {})
      : router(gossip_identity(1000), 1, random, parameters) {
    for (std::size_t i = 0; i < count; ++i) join(i, GossipRouter::Link::inbound);
    router.subscribe(topic, now);
    (void)router.take_actions();
  }
  void join(std::size_t i, GossipRouter::Link link) {
    router.add_peer(id(i), link);
    (void)router.open(id(i), GossipVersion::v1_2);
    give(i, subscription(topic, true));
  }
  static PeerId id(std::size_t i) { return gossip_id(gossip_identity(i)); }
  void give(std::size_t from, Bytes const& rpc) {
    REQUIRE(router.receive(id(from), rpc, now).has_value());
  }
  // Message of peer `author`; `seqno` as bytes so that it can be wrong.
  static Bytes message(std::size_t author, Bytes const& seqno, Bytes const& data) {
    auto const identity = gossip_identity(author);
    auto const from = gossip_id(identity);
    RpcMessage out;
    out.from = from.bytes();
    out.data = data;
    out.seqno = seqno;
    out.topic = as_bytes(topic);
    auto const signature = identity.sign(signed_bytes(out));
    out.signature = signature;
    auto const frame = message_frame(out);
    auto const body = gossip_body(*frame);
    return {body.begin(), body.end()};
  }
  static Bytes message(std::size_t author, std::uint64_t seqno, Bytes const& data = {1}) {
    Bytes bytes;
    append_be(bytes, seqno);
    return message(author, bytes, data);
  }
  static GossipId message_id(std::size_t author, std::uint64_t seqno) {
    auto const from = id(author);
    GossipId out(from.bytes().begin(), from.bytes().end());
    append_be(out, seqno);
    return out;
  }
  // Judges all that waits; returns how many messages there were.
  std::size_t judge(Verdict verdict) {
    std::size_t count = 0;
    for (auto const& action : router.take_actions())
      if (auto const* check = std::get_if<GossipCheck>(&action)) {
        router.judged(check->id, verdict);
        ++count;
      }
    return count;
  }
  void beat(Duration duration) {
    for (auto const end = now + duration; now < end; now += 1s) router.heartbeat(now);
    (void)router.take_actions();
  }
  [[nodiscard]] double score(std::size_t i) const { return router.score(id(i), now); }
  std::uint64_t rejected(std::string const& reason) {
    auto const& all = router.counters().rejected;
    return all.contains(reason) ? all.at(reason) : 0;
  }
  std::vector<Rpc> sent_to(std::size_t i) {
    std::vector<Rpc> out;
    for (auto const& action : router.take_actions())
      if (auto const* send = std::get_if<GossipSend>(&action); send && send->to == id(i)) {
        kept.push_back(send->frame);
        out.push_back(decode_rpc(gossip_body(*send->frame)).value());
      }
    return out;
  }

  SeededRandom random{42};
  Instant now{};
  GossipRouter router;
  std::vector<GossipFrame> kept;  // what the views of sent_to() look into
};

}  // namespace

TEST_CASE("a bad signature is refused, blamed on the sender and does not silence the author") {
  Party party(3);
  auto forged = party.message(0, 7);
  forged.back() ^= 1;
  party.give(1, forged);
  CHECK(party.judge(Verdict::accept) == 0);
  CHECK(party.rejected("signature") == 1);
  CHECK(party.score(1) < 0);
  CHECK(party.score(0) >= 0);
  party.give(2, party.message(0, 7));
  CHECK(party.judge(Verdict::accept) == 1);
}

TEST_CASE("a sender of many bad messages is not read any more, and is forgiven in time") {
  Party party(2);
  for (std::uint64_t i = 0; i < 20; ++i) party.give(1, party.message(0, Bytes{1, 2, 3}, {1}));
  CHECK(party.score(1) < gossip_score::graylist);
  auto const read = party.rejected("malformed");
  CHECK(read < 20);
  CHECK(party.rejected("graylisted") == 20 - read);
  party.give(1, party.message(0, 1));
  CHECK(party.judge(Verdict::accept) == 0);
  party.beat(20min);
  party.give(1, party.message(0, 1));
  CHECK(party.judge(Verdict::accept) == 1);
}

TEST_CASE("one RPC full of forgeries costs only a few signature checks") {
  Party party(1);
  auto forged = party.message(5, 7);
  forged.back() ^= 1;
  Bytes many;
  for (int i = 0; i < 1000; ++i) append(many, forged);
  party.give(0, many);
  CHECK(party.rejected("signature") < 10);
}

TEST_CASE("scores outlive a reconnection") {
  Party party(1);
  for (int i = 0; i < 5; ++i) party.give(0, party.message(3, Bytes{}, {1}));
  auto const before = party.score(0);
  CHECK(before < gossip_score::graylist);
  party.router.remove_peer(party.id(0));
  party.join(0, GossipRouter::Link::inbound);
  CHECK(party.score(0) == before);
}

TEST_CASE("messages without an 8-byte seqno are refused") {
  Party party(1);
  for (Bytes const& seqno : {Bytes{}, Bytes(7), Bytes(9)})
    party.give(0, party.message(5, seqno, {1}));
  CHECK(party.judge(Verdict::accept) == 0);
  CHECK(party.rejected("malformed") == 3);
}

TEST_CASE("a replay within two minutes is a duplicate") {
  Party party(3);
  auto const message = party.message(0, 7);
  party.give(0, message);
  CHECK(party.judge(Verdict::accept) == 1);
  party.beat(100s);
  party.give(1, message);
  party.give(2, message);
  CHECK(party.judge(Verdict::accept) == 0);
  CHECK(party.router.counters().duplicates == 2);
  CHECK(party.score(1) >= 0);
}

TEST_CASE("where authors count up, a replay is refused for ever, and nobody is blamed") {
  Party party(3, {.authors_count_up = true});
  party.give(0, party.message(0, 7));
  CHECK(party.judge(Verdict::accept) == 1);
  party.beat(1s);
  party.give(0, party.message(0, 9));
  CHECK(party.judge(Verdict::accept) == 1);
  party.beat(100s);
  party.give(1, party.message(0, 8));  // overtaken by 9 on another path
  CHECK(party.judge(Verdict::accept) == 1);
  party.beat(100s);  // 7 and 9 are forgotten, 8 not yet
  for (std::uint64_t const old : {7, 8, 9}) party.give(1, party.message(0, old));
  CHECK(party.judge(Verdict::accept) == 0);
  CHECK(party.rejected("replay") == 2);
  party.beat(1h);
  for (std::uint64_t const old : {7, 8, 9}) party.give(2, party.message(0, old));
  CHECK(party.judge(Verdict::accept) == 0);
  CHECK(party.rejected("replay") == 5);
  CHECK(party.score(1) >= 0);
  CHECK(party.score(2) >= 0);
  party.give(0, party.message(0, 10));  // the author is not silenced
  party.give(0, party.message(1, 3));   // nor is anybody else
  CHECK(party.judge(Verdict::accept) == 2);
}

TEST_CASE("where authors draw their seqnos, a lower one is as new as a higher") {
  Party party(2);
  party.give(0, party.message(0, 9));
  CHECK(party.judge(Verdict::accept) == 1);
  party.beat(200s);
  party.give(0, party.message(0, 7));
  CHECK(party.judge(Verdict::accept) == 1);
  CHECK(party.router.held().floors == 0);
}

TEST_CASE("a forger cannot raise an author's floor") {
  Party party(2, {.authors_count_up = true});
  auto forged = party.message(0, 1000);
  forged.back() ^= 1;  // in the signature
  party.give(1, forged);
  party.beat(200s);
  party.give(0, party.message(0, 8));
  CHECK(party.judge(Verdict::accept) == 1);
}

TEST_CASE("our own messages coming back are dropped without blame") {
  Party party(1);
  party.give(0, party.message(1000, 99));
  CHECK(party.judge(Verdict::accept) == 0);
  CHECK(party.rejected("own") == 1);
  CHECK(party.score(0) >= 0);
}

TEST_CASE("who sends what the validator refuses is blamed, all of them") {
  Party party(3);
  auto const message = party.message(5, 7);
  party.give(0, message);
  party.give(1, message);
  CHECK(party.judge(Verdict::reject) == 1);
  CHECK(party.score(0) < 0);
  CHECK(party.score(1) < 0);
  CHECK(party.score(2) >= 0);
  CHECK(party.rejected("refused") == 1);
  party.give(2, party.message(5, 8));
  CHECK(party.judge(Verdict::ignore) == 1);
  CHECK(party.score(2) >= 0);
}

TEST_CASE("judgements in waiting are bounded") {
  Party party(2);
  for (std::uint64_t i = 0; i < limits::gossip_validations_max + 10; ++i)
    party.give(0, party.message(5, i));
  CHECK(party.router.held().judging == limits::gossip_validations_max);
  CHECK(party.rejected("overload") == 10);
  CHECK(party.judge(Verdict::accept) == limits::gossip_validations_max);
  CHECK(party.router.held().judging == 0);
}

TEST_CASE("a flood of subscriptions is cut and leaves nothing behind") {
  Party party(1);
  auto const before = party.router.held().topics;
  Bytes flood;
  for (int i = 0; i < 10'000; ++i) append(flood, subscription("topic " + std::to_string(i), true));
  party.give(0, flood);
  CHECK(party.router.topics_seen().size() == limits::gossip_topics_per_peer_max);
  for (int i = 0; i < 10'000; ++i) party.give(0, subscription("topic " + std::to_string(i), false));
  CHECK(party.router.held().topics == before);
  for (int i = 0; i < 200; ++i) {
    party.give(0, subscription("other " + std::to_string(i), true));
    party.give(0, subscription("other " + std::to_string(i), false));
  }
  CHECK(party.router.held().topics == before);
  party.give(0, flood);
  party.router.remove_peer(party.id(0));
  CHECK(party.router.held().topics == 0);
}

TEST_CASE("topic names have a length limit") {
  Party party(1);
  party.give(0, subscription(std::string(limits::gossip_topic_name_max, 'x'), true));
  CHECK(party.router.topics_seen().size() == 2);
  party.give(0, subscription(std::string(limits::gossip_topic_name_max + 1, 'x'), true));
  party.give(0, subscription("", true));
  CHECK(party.router.topics_seen().size() == 2);
}

TEST_CASE("a huge PRUNE back-off is cut to an hour") {
  for (std::uint64_t const backoff :
       {std::uint64_t{3601}, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    Party party(1);
    REQUIRE(party.router.mesh(topic).contains(party.id(0)));
    party.give(0, prune(topic, backoff));
    CHECK(party.router.mesh(topic).empty());
    party.beat(59min);
    CHECK(party.router.mesh(topic).empty());
    party.beat(2min);
    CHECK(party.router.mesh(topic).contains(party.id(0)));
    CHECK(party.router.held().backoffs == 0);
  }
}

TEST_CASE("a GRAFT during the back-off is refused and counts") {
  Party party(1);
  party.give(0, prune(topic, 60));
  party.give(0, graft(topic));
  CHECK(party.router.mesh(topic).empty());
  auto const told = party.sent_to(0);
  REQUIRE(told.size() == 1);
  REQUIRE(told[0].prune.size() == 1);
  CHECK(told[0].prune[0].backoff_s == 60);
  for (int i = 0; i < 20; ++i) party.give(0, graft(topic));
  CHECK(party.score(0) < gossip_score::graylist);
  CHECK(party.sent_to(0).size() < 10);
}

TEST_CASE("GRAFTs for topics we are not in touch nothing and get no answer") {
  Party party(1);
  Bytes flood;
  for (int i = 0; i < 10'000; ++i) append(flood, graft("topic " + std::to_string(i)));
  auto const before = party.router.held();
  party.give(0, flood);
  CHECK(party.router.take_actions().empty());
  CHECK(party.router.held().backoffs == before.backoffs);
  CHECK(party.router.held().topics == before.topics);
  party.give(0, prune("another", 100));
  CHECK(party.router.held().backoffs == before.backoffs);
}

TEST_CASE("a full mesh refuses inbound peers and takes those we dialled") {
  GossipParameters const p;
  Party party(0);
  for (std::size_t i = 0; i < p.mesh_high; ++i) {
    party.join(i, GossipRouter::Link::inbound);
    party.give(i, graft(topic));
  }
  CHECK(party.router.mesh(topic).size() == p.mesh_high);
  party.join(50, GossipRouter::Link::inbound);
  party.give(50, graft(topic));
  CHECK_FALSE(party.router.mesh(topic).contains(party.id(50)));
  for (std::size_t i = 60; i < 63; ++i) {
    party.join(i, GossipRouter::Link::outbound);
    party.give(i, graft(topic));
  }
  CHECK(party.router.mesh(topic).size() == p.mesh_high + 3);
  party.beat(1s);
  auto const mesh = party.router.mesh(topic);
  CHECK(mesh.size() == p.mesh);
  CHECK(mesh.contains(party.id(60)) + mesh.contains(party.id(61)) + mesh.contains(party.id(62)) >=
        static_cast<int>(p.mesh_outbound));
}

TEST_CASE("a GRAFT that comes before the subscription is taken") {
  Party party(0);
  party.router.add_peer(party.id(0), GossipRouter::Link::inbound);
  party.give(0, graft(topic));
  CHECK(party.router.mesh(topic).contains(party.id(0)));
}

TEST_CASE("IHAVE floods are answered up to the caps") {
  Party party(1);
  std::size_t asked = 0;
  for (std::uint32_t i = 0; i < 30; ++i) party.give(0, ihave(topic, i * 1000, 1000));
  for (auto const& rpc : party.sent_to(0)) asked += rpc.iwant.size();
  CHECK(asked == limits::gossip_ids_asked_max);
  CHECK(party.router.held().promises <= limits::gossip_ihaves_max);
  party.give(0, ihave("not ours", 0, 10));
  CHECK(party.sent_to(0).empty());
}

TEST_CASE("IHAVE messages of a heartbeat are counted") {
  Party party(1);
  for (std::uint32_t i = 0; i < limits::gossip_ihaves_max; ++i) party.give(0, ihave(topic, i, 1));
  CHECK(party.sent_to(0).size() == limits::gossip_ihaves_max);
  party.give(0, ihave(topic, 1000, 1));
  CHECK(party.sent_to(0).empty());
  party.beat(1s);
  party.give(0, ihave(topic, 1000, 1));
  CHECK(party.sent_to(0).size() == 1);
}

TEST_CASE("broken promises count, kept ones do not") {
  Party party(2);
  for (std::uint32_t i = 0; i < 12; ++i) {
    party.give(0, ihave(topic, i, 1));
    party.beat(1s);
  }
  party.beat(5s);
  CHECK(party.score(0) < gossip_score::gossip);
  CHECK(party.router.held().promises == 0);
  for (std::uint64_t i = 0; i < 12; ++i) {
    protobuf::Writer told;
    told.string(1, topic);
    told.bytes(2, party.message_id(5, i));
    party.give(1, in_control(1, told.view()));
    party.give(1, party.message(5, i));
    party.beat(1s);
  }
  party.beat(5s);
  CHECK(party.score(1) > 0);
}

TEST_CASE("a message is sent again three times to one peer, and is gone after five heartbeats") {
  Party party(2);
  auto const sequence = party.router.publish(topic, Bytes{1}, party.now).value().seqno;
  (void)party.router.take_actions();
  auto const want = iwant({party.message_id(1000, sequence)});
  for (int i = 0; i < 3; ++i) {
    party.give(0, want);
    CHECK(party.sent_to(0).size() == 1);
  }
  party.give(0, want);
  CHECK(party.sent_to(0).empty());
  party.beat(5s);
  party.give(1, want);
  CHECK(party.sent_to(1).empty());
  CHECK(party.router.held().history == 0);
  CHECK(party.router.held().history_bytes == 0);
}

TEST_CASE("IDONTWANT is heeded, bounded and forgotten") {
  Party party(2);
  auto const unwanted = [&](std::uint64_t seqno) {
    return in_control(5, wrap(1, party.message_id(5, seqno)));
  };
  party.give(0, unwanted(1));
  party.give(1, party.message(5, 1, Bytes(2000)));
  CHECK(party.judge(Verdict::accept) == 1);
  auto const sent = party.sent_to(0);
  CHECK(std::ranges::none_of(sent, [](Rpc const& rpc) { return !rpc.messages.empty(); }));
  Bytes ids;
  for (std::uint64_t i = 0; i < 3000; ++i) append(ids, wrap(1, party.message_id(6, i)));
  for (int i = 0; i < 20; ++i) party.give(0, in_control(5, ids));
  CHECK(party.router.held().unwanted <= limits::gossip_ids_unwanted_max + 1);
  party.beat(3s);
  CHECK(party.router.held().unwanted == 0);
}

TEST_CASE(
    "large new messages are announced as unwanted before they are judged, not to the sender") {
  Party party(3);
  party.give(0, party.message(5, 1, Bytes(1024)));
  auto const actions = party.router.take_actions();
  REQUIRE(actions.size() == 3);
  for (std::size_t i = 0; i < 2; ++i) CHECK(std::get<GossipSend>(actions[i]).to != party.id(0));
  CHECK(std::holds_alternative<GossipCheck>(actions[2]));
  party.give(0, party.message(5, 2, Bytes(1000)));
  CHECK(party.router.take_actions().size() == 1);
}

TEST_CASE("garbage is an error and counts") {
  Party party(1);
  CHECK_FALSE(party.router.receive(party.id(0), Bytes{0x0a, 0x05, 0x01}, party.now).has_value());
  CHECK(party.rejected("malformed") == 1);
  CHECK(rc::check("no bytes crash the router", [](Bytes const& bytes) {
    Party other(2);
    (void)other.router.receive(Party::id(0), bytes, other.now);
    other.beat(2s);
  }));
}

TEST_CASE("after all floods together memory is back where it was") {
  Party party(1);
  auto const before = party.router.held();
  for (std::size_t i = 1; i < 40; ++i) {
    party.join(i, GossipRouter::Link::inbound);
    party.give(i, ihave(topic, 0, 5000));
    party.give(i, prune(topic, ~0ULL));
    for (int k = 0; k < 8; ++k) party.give(i, graft(topic));
    for (std::uint64_t k = 0; k < 20; ++k) party.give(i, party.message(i, k, Bytes(3000)));
    (void)party.judge(Verdict::accept);
    party.router.remove_peer(party.id(i));
  }
  party.beat(70min);
  auto const after = party.router.held();
  CHECK(after.topics == before.topics);
  CHECK(after.seen == 0);
  CHECK(after.history_bytes == 0);
  CHECK(after.promises == 0);
  CHECK(after.backoffs == 0);
  CHECK(after.unwanted == 0);
  CHECK(after.scores <= 1);
}

TEST_CASE("sequence numbers grow from the one that was given") {
  Party party(1);
  CHECK(party.router.seqno_next() == 1);
  CHECK(party.router.publish(topic, {}, party.now)->seqno == 1);
  CHECK(party.router.publish("elsewhere", {}, party.now)->seqno == 2);
  CHECK_FALSE(party.router.publish(std::string(257, 'x'), {}, party.now).has_value());
  CHECK(party.router.seqno_next() == 3);
}
