#include "grapevine/wire/peer_id.hpp"

#include "keys.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace grapevine;

namespace {

PeerId of_seed(std::string const& hex) {
  return PeerId::from_ed25519(Identity::from_seed(unhex_array<32>(hex)).public_key().raw());
}

}  // namespace

TEST_CASE("peer ids are those of the libp2p specification") {
  CHECK(to_hex(peer_a.bytes()) == hex_a);
  CHECK(to_hex(peer_b.bytes()) == hex_b);
  CHECK(peer_a.text() == text_a);
  CHECK(peer_b.text() == text_b);
  CHECK(peer_a.brief() == "o7R3pq");
  CHECK(peer_a.cid() == "bafzaajaiaejcahwr5d5ofrfbis4l5d6uwr57hu5tjodrypfm6yaq6dsc2r2pzyt6");
  CHECK(of_seed(std::string(64, '0')).text() ==
        "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN");
  CHECK(PeerId::from_ed25519(
            unhex_array<32>("a77f1d92fedb59dddaea5a1c4abd1ac2fbde7d7b879ed364501809923d7c11b9"))
            .text() == "12D3KooWM6CgA9iBFZmcYAHA6A2qvbAxqfkmrYiRQuz3XEsk4Ksv");
}

TEST_CASE("every text form of a peer id parses") {
  for (auto const& text :
       {text_a, peer_a.cid(),
        std::string("k51qzi5uqu5dgy8qsq67hbz73jqkw87l3fgf4a91qb0d9b5173tir7n4vxk1oe")})
    CHECK(PeerId::parse(text).value() == peer_a);
  CHECK(
      PeerId::parse("bafzbeie5745rpv2m6tjyuugywy4d5ewrqgqqhfnf445he3omzpjbx5xqxe").value().text() ==
      "QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N");
}

TEST_CASE("ids of other key types are names, though they hold no Ed25519 key") {
  for (auto const* text : {"16Uiu2HAmLhLvBoYaoZfaMUKuibM6ac163GwKY74c5kiSLg5KvLpY",
                           "QmVMT29id3TUASyfZZ6k9hmNyc2nYabCo4uMSpDw4zrgDk"}) {
    auto const id = PeerId::parse(text).value();
    CHECK(id.text() == text);
    CHECK(PeerId::parse(id.cid()).value() == id);
    CHECK(id.ed25519().error().errc() == Errc::unsupported);
  }
  CHECK(to_hex(peer_a.ed25519().value()) == hex_a.substr(12));
  CHECK_FALSE(PeerId().ed25519().has_value());
}

TEST_CASE("multihashes that name no peer are refused") {
  std::string const digest(64, 'a');
  CHECK(PeerId::from_bytes(unhex("1220" + digest)).has_value());
  CHECK(PeerId::from_bytes(unhex("002a" + std::string(84, 'a'))).has_value());  // 42, the most
  for (auto const& hex : std::initializer_list<std::string>{
           "", "00", "12", "0000", "1200",  // nothing inside
           "002b" + std::string(86, 'a'),   // identity of 43 bytes
           "1220" + digest + "aa",          // longer than it says
           "1221" + digest + "aa", "1220" + digest.substr(2), "1120" + digest,
           "921220" + digest,     // sha1, an unknown code
           "128020" + digest}) {  // a length that is not minimal
    CAPTURE(hex);
    CHECK(PeerId::from_bytes(unhex(hex)).error().errc() == Errc::malformed);
  }
}

TEST_CASE("text that names no peer is refused") {
  auto const dag_pb = "bafybeie5745rpv2m6tjyuugywy4d5ewrqgqqhfnf445he3omzpjbx5xqxe";
  for (auto const& text : std::initializer_list<std::string>{
           "", "1", "Qm", "b", "k", "12D3Koo", text_a + "1", text_a.substr(1), " " + text_a, dag_pb,
           "QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx50", std::string(10000, '1')}) {
    CAPTURE(text);
    CHECK_FALSE(PeerId::parse(text).has_value());
  }
}

TEST_CASE("peer ids are ordered by their bytes, nobody first") {
  CHECK(PeerId() < peer_a);
  CHECK(peer_a < peer_b);
  CHECK(peer_a == PeerId::from_bytes(unhex(hex_a)).value());
  CHECK(PeerId().empty());
  CHECK(PeerId().brief().empty());
}

TEST_CASE("every identity hash prints in forms that parse back") {
  CHECK(rc::check("round trip", [](Bytes body) {
    RC_PRE(!body.empty());
    body.resize(std::min<std::size_t>(body.size(), 42));
    Bytes bytes = {0, static_cast<std::uint8_t>(body.size())};
    append(bytes, body);
    auto const id = PeerId::from_bytes(bytes).value();
    RC_ASSERT(PeerId::parse(id.cid()).value() == id);
    RC_ASSERT(PeerId::parse(id.text()).value() == id);
  }));
}
