#include "grapevine/wire/multiaddr.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/wire/varint.hpp"
#include "keys.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace grapevine;

namespace {

Multiaddr address(std::string const& text) { return Multiaddr::parse(text).value(); }
std::string const tcp_hex = "047f000001060fa1";

}  // namespace

TEST_CASE("binary and text forms agree with libp2p") {
  for (auto const& [text, hex] : std::initializer_list<std::pair<std::string, std::string>>{
           {"/ip4/127.0.0.1/tcp/4001", tcp_hex},
           {"/ip4/127.0.0.1/tcp/4001/p2p/" + text_a, tcp_hex + "a50326" + hex_a},
           {"/ip4/127.0.0.1/udp/4001/quic-v1", "047f00000191020fa1cd03"},
           {"/dns4/example.com/tcp/443/wss", "360b6578616d706c652e636f6d0601bbde03"},
           {"/ip6/::1/tcp/4001", "2900000000000000000000000000000001060fa1"},
           {"/ip4/127.0.0.1/tcp/4001/p2p/" + text_a + "/p2p-circuit/p2p/" + text_b,
            tcp_hex + "a50326" + hex_a + "a202a50326" + hex_b},
           {"/ip6zone/eth0/ip6/fe80::1", "2a046574683029fe800000000000000000000000000001"},
           {"/ip4/10.0.0.0/ipcidr/8", "040a0000002b08"},
           {"/unix/a/b/c/d", "9003082f612f622f632f64"},
           {"/memory/1234", "89060431323334"},
           {"/dns/x", "350178"},
           {"/dns6/x", "370178"},
           {"/dnsaddr/x/tcp/0", "380178060000"},
           {"/dns/x/tcp/65535/tls/sni/y/ws", "35017806ffffc003c1030179dd03"},
           {"/ip4/1.2.3.4/udp/1/quic",
            "0401020304910200"
            "01cc03"},
           {"/ip4/1.2.3.4/udp/1/webrtc-direct/certhash/uEgNkYWQ",
            "0401020304910200019802d203051203646164"},
           {"/webrtc/noise/http", "9902c603e003"},
           {"/ip4/1.2.3.4/udp/1/quic-v1/webtransport", "040102030491020001cd03d103"}}) {
    CAPTURE(text);
    CHECK(to_hex(address(text).bytes()) == hex);
    CHECK(Multiaddr::from_bytes(unhex(hex)).value().text() == text);
  }
}

TEST_CASE("the circuit address of the specification has 92 bytes") {
  CHECK(address("/ip4/127.0.0.1/tcp/4001/p2p/" + text_a + "/p2p-circuit/p2p/" + text_b)
            .bytes()
            .size() == 92);
}

TEST_CASE("other spellings are read, and printed the usual way") {
  CHECK(address("/ip4/1.2.3.4/tcp/1/ipfs/" + text_a).text() == "/ip4/1.2.3.4/tcp/1/p2p/" + text_a);
  CHECK(address("/p2p/" + peer_a.cid()).text() == "/p2p/" + text_a);
  CHECK(address("/ip6/2001:0DB8:0:0:0:0:0:1/tcp/007").text() == "/ip6/2001:db8::1/tcp/7");
}

TEST_CASE("text that is no address is refused") {
  for (auto const& text :
       std::initializer_list<std::string>{"",
                                          "/",
                                          "//",
                                          "ip4/1.2.3.4",
                                          "/ip4",
                                          "/ip4/",
                                          "/ip4/1.2.3.4/",
                                          "/ip4/1.2.3",
                                          "/ip4/::1",
                                          "/ip6/1.2.3.4",
                                          "/ip6/fe80::1%eth0",
                                          "/ip4/1.2.3.4/tcp",
                                          "/ip4/1.2.3.4/tcp/65536",
                                          "/ip4/1.2.3.4/tcp/-1",
                                          "/ip4/1.2.3.4/tcp/+1",
                                          "/ip4/1.2.3.4/tcp/0x10",
                                          "/ip4/1.2.3.4/tcp/ 1",
                                          "/ip4/1.2.3.4/tcp/99999999999999999999",
                                          "/ip4/1.2.3.4//tcp/1",
                                          "/ip4/1.2.3.4/tcp/1/quic-v1/x",
                                          "/unknown/x",
                                          "/p2p/abc",
                                          "/p2p/Qm",
                                          "/certhash/uEg",
                                          "/certhash/xyz",
                                          "/ipcidr/256",
                                          "/dns/a\nb",
                                          "/unix",
                                          "/dns//tcp/1",
                                          "/ip4/1.2.3.4\n/tcp/1",
                                          "/sni"}) {
    CAPTURE(text);
    CHECK_FALSE(Multiaddr::parse(text).has_value());
  }
}

TEST_CASE("bytes that are no address are refused") {
  for (auto const& hex : std::initializer_list<std::string>{"",
                                                            "04",
                                                            "047f0000",
                                                            tcp_hex + "06",
                                                            tcp_hex + "060f",
                                                            tcp_hex + "8006",
                                                            "3500",
                                                            "3580",
                                                            "350b6578",
                                                            "35ffffffffffffffff7f00",
                                                            "3501"
                                                            "2f",
                                                            "3501"
                                                            "0a",
                                                            "a503",
                                                            "a50300",
                                                            "a50326" + hex_a.substr(2),
                                                            "a50327" + hex_a + "00",
                                                            "90030178",
                                                            "9003012f",
                                                            "9003032f612f",
                                                            "9003022f61" + tcp_hex,
                                                            "d203021202",
                                                            "d2030212"
                                                            "00"}) {
    CAPTURE(hex);
    CHECK_FALSE(Multiaddr::from_bytes(unhex(hex)).has_value());
  }
  CHECK(Multiaddr::from_bytes(unhex(tcp_hex + "02")).error().errc() == Errc::unsupported);
  CHECK(Multiaddr::from_bytes(unhex("ffff03")).error().errc() == Errc::unsupported);
}

TEST_CASE("an address has a largest size and a largest number of components") {
  auto const named = [](std::size_t size) {
    Bytes bytes = {0x35};
    append_varint(bytes, size);
    bytes.resize(bytes.size() + size, 'x');
    return bytes;
  };
  CHECK(Multiaddr::from_bytes(named(limits::multiaddr_bytes_max - 3)).has_value());
  CHECK(Multiaddr::from_bytes(named(limits::multiaddr_bytes_max - 2)).error().errc() ==
        Errc::oversize);
  std::string text;
  for (std::size_t i = 0; i < limits::multiaddr_components_max; ++i) text += "/ws";
  CHECK(Multiaddr::parse(text).has_value());
  CHECK(Multiaddr::parse(text + "/ws").error().errc() == Errc::oversize);
  CHECK(Multiaddr::parse("/dns/" + std::string(limits::multiaddr_text_max, 'x')).error().errc() ==
        Errc::oversize);
}

TEST_CASE("the peer an address ends in is read, added, replaced and removed") {
  auto const plain = address("/ip4/127.0.0.1/tcp/4001");
  auto const relayed = plain.with_peer(peer_a).text() + "/p2p-circuit";
  CHECK_FALSE(plain.peer().has_value());
  CHECK(plain.with_peer(peer_a).peer() == peer_a);
  CHECK(plain.with_peer(peer_a).with_peer(peer_b).text() == plain.text() + "/p2p/" + text_b);
  CHECK(plain.with_peer(peer_a).without_peer() == plain);
  CHECK(plain.without_peer() == plain);
  CHECK_FALSE(address(relayed).peer().has_value());  // the relay is not the destination
  CHECK(address(relayed).with_peer(peer_b).peer() == peer_b);
  CHECK(address(relayed).with_peer(peer_b).is_circuit());
  CHECK_FALSE(plain.is_circuit());
  CHECK(address("/p2p/" + text_a).without_peer().empty());
  CHECK_FALSE(Multiaddr().peer().has_value());
}

TEST_CASE("plain TCP addresses tell what to dial") {
  auto const endpoint = Endpoint{IpAddress::parse("127.0.0.1").value(), 4001};
  CHECK(Multiaddr::tcp_address(endpoint).text() == "/ip4/127.0.0.1/tcp/4001");
  CHECK(Multiaddr::tcp_address(endpoint).tcp_endpoint() == endpoint);
  CHECK(Multiaddr::tcp_address(endpoint).with_peer(peer_a).tcp_endpoint() == endpoint);
  auto const v6 = Endpoint{IpAddress::parse("2001:db8::1").value(), 1};
  CHECK(Multiaddr::tcp_address(v6).tcp_endpoint() == v6);
  auto const name = address("/dns4/example.com/tcp/443/p2p/" + text_a).tcp_name().value();
  CHECK(name.host == "example.com");
  CHECK(name.port == 443);
  CHECK(name.family == Multiaddr::dns4);
  for (auto const& text : std::initializer_list<std::string>{
           "/ip4/1.2.3.4", "/ip4/1.2.3.4/udp/1", "/ip4/1.2.3.4/tcp/1/ws", "/tcp/1",
           "/dns/x/tcp/1/tls/ws", "/dnsaddr/x/tcp/1", "/p2p/" + text_a,
           "/ip4/1.2.3.4/tcp/1/p2p/" + text_a + "/p2p-circuit/p2p/" + text_b}) {
    CAPTURE(text);
    CHECK_FALSE(address(text).tcp_endpoint().has_value());
    CHECK_FALSE(address(text).tcp_name().has_value());
  }
}

TEST_CASE("any mutation of a good address is refused or prints as it parses") {
  auto const good = address("/dns4/example.com/tcp/443/tls/sni/y/ws/p2p/" + text_a +
                            "/p2p-circuit/p2p/" + text_b);
  CHECK(rc::check("mutations", [&] {
    Bytes bytes(good.bytes().begin(), good.bytes().end());
    auto const at = *rc::gen::inRange<std::size_t>(0, bytes.size());
    bytes[at] = *rc::gen::arbitrary<std::uint8_t>();
    bytes.resize(*rc::gen::inRange<std::size_t>(at, bytes.size() + 1));
    auto const decoded = Multiaddr::from_bytes(bytes);
    if (!decoded.has_value()) return;
    RC_ASSERT(std::ranges::equal(decoded->bytes(), bytes));
    RC_ASSERT(Multiaddr::parse(decoded->text()).value() == *decoded);
  }));
}
