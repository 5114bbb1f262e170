#include "p2p/gossip_rpc_detail.hpp"

#include "grapevine/wire/framing.hpp"
#include "grapevine/wire/protobuf.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace grapevine;

namespace {

// The vectors are computed from key A of the libp2p peer-id specification.
Identity key_a() {
  auto const seed =
      from_hex("7e0830617c4a7de83925dfb2694556b12936c477a0e1feb2e148ec9da60fee7d").value();
  return Identity::from_seed(std::span(seed).first<32>());
}
std::string const id_a =
    "0024080112201ed1e8fae2c4a144b8be8fd4b47bf3d3b34b871c3cacf6010f0e42d474fce27e";
std::string const message_hex = "0a26" + id_a + "120568656c6c6f1a0817979cfe362a0000220474657374";
std::string const signature_hex =
    "bba9e70b64f93f9a9df7eccd37ae6c3f1e7b0c9f1fee53420b3995f827f8cac2981f60a6fec783cab0a649cd440298"
    "c5"
    "245c1bd37751806d60b44326098f6506";
std::string const rpc_hex =
    "12"
    "8101" +
    message_hex + "2a40" + signature_hex;

Bytes body(GossipFrame const& frame) {
  auto const split = split_frame(*frame, limits::gossip_rpc_received_max).value();
  return {split.message.begin(), split.message.end()};
}

Bytes with_message(Bytes const& message) {
  protobuf::Writer rpc;
  rpc.bytes(2, message);
  return rpc.take();
}

}  // namespace

TEST_CASE("a published message has the bytes of the vector") {
  SeededRandom random(1);
  GossipRouter router(key_a(), 0x17979cfe362a0000, random);
  auto const reader = PeerId::from_ed25519(Identity::generate(random).public_key().raw());
  router.add_peer(reader, GossipRouter::Link::inbound);
  CHECK(router.open(reader, GossipVersion::v1_1).empty());
  protobuf::Writer subscription, hello;
  subscription.varint(1, 1);
  subscription.string(2, "test");
  hello.bytes(1, subscription.view());
  REQUIRE(router.receive(reader, hello.view(), Instant{}).has_value());
  auto const published = router.publish("test", as_bytes("hello"), Instant{}).value();
  CHECK(published.seqno == 1700000000000000000);
  CHECK(published.peers == 1);
  auto const actions = router.take_actions();
  REQUIRE(actions.size() == 1);
  CHECK(to_hex(*std::get<GossipSend>(actions[0]).frame) == "8401" + rpc_hex);
}

TEST_CASE("the vector reads back, with its id, and its signature holds") {
  auto const bytes = from_hex(rpc_hex).value();
  auto const rpc = decode_rpc(bytes).value();
  REQUIRE(rpc.messages.size() == 1);
  auto const author = read_author(rpc.messages[0]).value();
  CHECK(to_hex(author.id) == id_a + "17979cfe362a0000");
  CHECK(author.from.text() == "12D3KooWBtg3aaRMjxwedh83aGiUkwSxDwUZkzuJcfaqUmo7R3pq");
  CHECK(to_hex(signed_bytes(rpc.messages[0])) == to_hex(as_bytes("libp2p-pubsub:")) + message_hex);
  CHECK(check_signature(rpc.messages[0], author.from).has_value());
  CHECK(to_hex(body(message_frame(rpc.messages[0]))) == rpc_hex);
}

TEST_CASE("a key that is sent along must be the author's") {
  auto const signed_hex = message_hex + "2a40" + signature_hex;
  auto const check_key = [&](std::string const& key_hex) {
    auto const bytes = with_message(from_hex(signed_hex + key_hex).value());
    auto const rpc = decode_rpc(bytes).value();
    return check_signature(rpc.messages[0], read_author(rpc.messages[0])->from);
  };
  CHECK(check_key("3224" + to_hex(key_a().public_key().protobuf())).has_value());
  SeededRandom random(2);
  auto const other = Identity::generate(random).public_key().protobuf();
  CHECK(check_key("3224" + to_hex(other)).error().errc() == Errc::bad_key);
  CHECK_FALSE(check_key("3200").has_value());
}

TEST_CASE("any changed bit of the vector is refused") {
  auto const bytes = from_hex(rpc_hex).value();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto changed = bytes;
    changed[bit / 8] ^= static_cast<std::uint8_t>(1 << (bit % 8));
    auto const rpc = decode_rpc(changed);
    if (!rpc || rpc->messages.size() != 1) continue;
    auto const author = read_author(rpc->messages[0]);
    CAPTURE(bit);
    if (author) CHECK_FALSE(check_signature(rpc->messages[0], author->from).has_value());
  }
}

TEST_CASE("messages without seqno, author, topic or signature are malformed") {
  for (std::string const& hex : {"0a26" + id_a +
                                     "1205"
                                     "68656c6c6f"
                                     "220474657374" +
                                     "2a40" + signature_hex,
                                 "0a26" + id_a +
                                     "1a07"
                                     "17979cfe362a00"
                                     "220474657374" +
                                     "2a40" + signature_hex,
                                 "1a0817979cfe362a0000220474657374"
                                 "2a40" +
                                     signature_hex,
                                 "0a26" + id_a +
                                     "1a0817979cfe362a0000"
                                     "2a40" +
                                     signature_hex,
                                 message_hex}) {
    auto const bytes = with_message(from_hex(hex).value());
    CHECK(read_author(decode_rpc(bytes)->messages[0]).error().errc() == Errc::malformed);
  }
}

TEST_CASE("control goes both ways") {
  auto const text = rc::gen::container<std::string>(rc::gen::inRange('a', 'e'));
  CHECK(rc::check("round trip", [&] {
    GossipControl control;
    control.graft = *rc::gen::container<std::set<std::string>>(text);
    control.prune = *rc::gen::container<std::map<std::string, std::uint64_t>>(
        text, rc::gen::inRange<std::uint64_t>(1, 1u << 20));
    auto const ids = *rc::gen::container<std::vector<GossipId>>(
        rc::gen::container<Bytes>(46, rc::gen::arbitrary<std::uint8_t>()));
    if (!ids.empty()) control.ihave["t"] = ids;
    control.iwant = ids;
    control.idontwant = ids;

    std::set<std::string> grafts;
    std::map<std::string, std::uint64_t> prunes;
    std::vector<GossipId> had, wanted, unwanted;
    auto const keep = [](std::vector<GossipId>& out, std::vector<ByteView> const& views) {
      for (auto const& view : views) out.emplace_back(view.begin(), view.end());
    };
    auto frames = mesh_frames(control);
    for (auto& frame : id_frames(control)) frames.push_back(frame);
    for (auto const& frame : frames) {
      RC_ASSERT(frame->size() <= limits::gossip_control_sent_max);
      auto const bytes = body(frame);
      auto const rpc = decode_rpc(bytes).value();
      for (auto const& topic : rpc.graft) grafts.emplace(as_text(topic));
      for (auto const& p : rpc.prune) prunes.emplace(as_text(p.topic), p.backoff_s);
      for (auto const& told : rpc.ihave) keep(had, told.ids);
      keep(wanted, rpc.iwant);
      keep(unwanted, rpc.idontwant);
    }
    RC_ASSERT(grafts == control.graft);
    RC_ASSERT(prunes == control.prune);
    RC_ASSERT(had == ids);
    RC_ASSERT(wanted == ids);
    RC_ASSERT(unwanted == ids);
  }));
}

TEST_CASE("long lists are cut into frames below the limit") {
  GossipControl control;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    GossipId id(42, 7);
    append_be<std::uint32_t>(id, i);
    control.ihave["topic"].push_back(id);
    control.graft.insert("topic number " + std::to_string(i));
  }
  auto const told = id_frames(control);
  CHECK(told.size() >= 12);
  std::size_t ids = 0;
  for (auto const& frame : told) {
    CHECK(frame->size() <= limits::gossip_control_sent_max);
    auto const bytes = body(frame);
    auto const rpc = decode_rpc(bytes).value();
    for (auto const& ihave : rpc.ihave) {
      CHECK(as_text(ihave.topic) == "topic");
      ids += ihave.ids.size();
    }
  }
  CHECK(ids == 3000);
  for (auto const& frame : mesh_frames(control))
    CHECK(frame->size() <= limits::gossip_control_sent_max);
  for (auto const& frame : subscription_frames(control.graft, true))
    CHECK(frame->size() <= limits::gossip_control_sent_max);
}

TEST_CASE("the number of fields is bounded over all levels together") {
  auto const with_ids = [](std::size_t count) {
    protobuf::Writer rpc;
    while (count > 0) {  // a control, an IWANT, then ids: two fields of overhead
      auto const here = std::min<std::size_t>(count, 8192) - 2;
      protobuf::Writer ids, control;
      for (std::size_t i = 0; i < here; ++i) ids.bytes(1, {});
      control.bytes(2, ids.view());
      rpc.bytes(3, control.view());
      count -= here + 2;
    }
    return decode_rpc(rpc.view());
  };
  CHECK(with_ids(limits::gossip_rpc_fields_max).has_value());
  auto const over = with_ids(limits::gossip_rpc_fields_max + 3);
  REQUIRE_FALSE(over.has_value());
  CHECK(over.error().errc() == Errc::limit_exceeded);
  CHECK(decode_rpc({}).has_value());
}

TEST_CASE("unknown fields are skipped and prefixes never read as something else") {
  auto const bytes = from_hex(
                         "7a03010203"
                         "80010a" +
                         rpc_hex)
                         .value();
  CHECK(decode_rpc(bytes)->messages.size() == 1);
  auto const plain = from_hex(rpc_hex).value();
  for (std::size_t n = 1; n < plain.size(); ++n)
    CHECK_FALSE(decode_rpc(ByteView(plain).first(n)).has_value());
}
