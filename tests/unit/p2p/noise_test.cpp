// Vectors: keys of the public cacophony set, in libp2p form with the identities A and B.
#include "grapevine/p2p/noise.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/wire/protobuf.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace grapevine;
using noise::Handshake;
using noise::Role;

namespace {

Bytes hex(std::string_view text) { return from_hex(text).value(); }

X25519KeyPair key(std::string_view secret) {
  auto const bytes = hex(secret);
  return X25519KeyPair::from_secret(std::span<std::uint8_t const, 32>(bytes.data(), 32));
}

Identity identity(std::string_view seed) {
  auto const bytes = hex(seed);
  return Identity::from_seed(std::span<std::uint8_t const, 32>(bytes.data(), 32));
}

auto const identity_a = "7e0830617c4a7de83925dfb2694556b12936c477a0e1feb2e148ec9da60fee7d";
auto const identity_b = "0000000000000000000000000000000000000000000000000000000000000001";
auto const initiator_static = "e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1";
auto const initiator_ephemeral = "893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a";
auto const responder_static = "4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893";
auto const responder_ephemeral = "bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b";
auto const message_1 = "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944";
auto const message_2 =
    "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f14480884381cbad1f276e038c48378ffce2b652"
    "85e08d6b68aaa3629a5a8639392490e5b90b20f024c6abdc05d618c61c13a3fe07127982eb5ca765595fde8434108a"
    "7a1f277c5e9a6ee69735bcf562b07e1d3a9d3b2105d67c46c92b4030aac93e5ea45484f089760760f8731ba3879ec2"
    "bf44eaa019fec4a04c0eec3c4c94d16e7f4dd11f6cd2248cd5b0d4e3fdf7d5ffa1b14c15d54dbcb392b7b4503974a5"
    "cae505fe7ff65e88cf556e2724f6d2c9ab3e28ee16ff210d51b27cdf";
auto const message_3 =
    "c7195ffacac1307ff99046f219750fc47693e23c3cb08b89c2af808b444850a8c244be417d8fa004f9e06e53bade66"
    "d514c3d6e0e8ecd41217ddfdf0afb41507a1be308a2142c5bd7aa4533305677b3e694b63076f9d2df0fe4d73b41977"
    "1080a6cf96b373850176596856cd9886b5ccf7b92fd0b13c9d40153da17beeda35f1631e57da5fabbc42aaeea8ff1a"
    "68839842fe9190823c6eb044e1b00c760b0081d2628ff15e062ef352d7b3127eadfd429fe74ff9f71d7300";
auto const final_hash = "f659ddd9d4543d5d42bd302afd6882ed94ecc2eb2cf8e04e01b6ffa8432cc0e2";

Handshake initiator() {
  return Handshake(Role::initiator, key(initiator_static), key(initiator_ephemeral));
}
Handshake responder() {
  return Handshake(Role::responder, key(responder_static), key(responder_ephemeral));
}
Bytes payload(std::string_view seed, std::string_view static_secret) {
  return noise::make_payload(identity(seed), key(static_secret).public_key, {"/yamux/1.0.0"});
}

struct Pair {
  Handshake initiator;
  Handshake responder;
};
Pair completed() {
  Pair pair{initiator(), responder()};
  REQUIRE(pair.responder.read(pair.initiator.write({}).value()).has_value());
  REQUIRE(pair.initiator.read(pair.responder.write({}).value()).has_value());
  REQUIRE(pair.responder.read(pair.initiator.write({}).value()).has_value());
  return pair;
}

}  // namespace

TEST_CASE("the libp2p handshake has the bytes of the vectors, both ways") {
  auto dialer = initiator();
  auto listener = responder();
  auto const m1 = dialer.write({}).value();
  CHECK(to_hex(m1) == message_1);
  CHECK(listener.read(m1).value().empty());
  auto const m2 = listener.write(payload(identity_b, responder_static)).value();
  CHECK(to_hex(m2) == message_2);
  auto const from_b = dialer.read(m2).value();
  CHECK(noise::verify_payload(from_b, dialer.remote_static()).value().peer.text() ==
        "12D3KooWEyoppNCUx8Yx66oV9fJnriXwCcXwDDUA2kj6vnc6iDEp");
  auto const m3 = dialer.write(payload(identity_a, initiator_static)).value();
  CHECK(to_hex(m3) == message_3);
  auto const from_a = listener.read(m3).value();
  auto const remote = noise::verify_payload(from_a, listener.remote_static()).value();
  CHECK(remote.peer.text() == "12D3KooWBtg3aaRMjxwedh83aGiUkwSxDwUZkzuJcfaqUmo7R3pq");
  CHECK(remote.muxers == std::vector<std::string>{"/yamux/1.0.0"});
  CHECK(dialer.hash().hex() == final_hash);
  CHECK(listener.hash().hex() == final_hash);

  auto sealed = hex("000200010000000000000000");  // a yamux ping
  sealed.resize(sealed.size() + aead_tag_bytes);
  dialer.split().send.seal(sealed);
  CHECK(to_hex(sealed) == "74279030427827de3002564f349be6cdbb6f1a9f05b60b250894a9f7");
  auto listener_keys = listener.split();
  CHECK(to_hex(listener_keys.receive.open(sealed).value()) == "000200010000000000000000");

  Bytes back(aead_tag_bytes);
  listener_keys.send.seal(back);
  auto const key_bytes = hex("cbabb3f5e4529fc0e93efda9b4b70169270c04b05c5be25f71e9c55f7955c86a");
  AeadKey back_key;
  std::copy(key_bytes.begin(), key_bytes.end(), back_key.begin());
  Bytes plain;
  CHECK(Aead(back_key).open({}, {}, back, plain).has_value());
}

TEST_CASE("the plain Noise vector with a prologue gives its hash") {
  auto const prologue = hex("4a6f686e2047616c74");
  Handshake dialer(Role::initiator, key(initiator_static), key(initiator_ephemeral), prologue);
  Handshake listener(Role::responder, key(responder_static), key(responder_ephemeral), prologue);
  auto const one = hex("4c756477696720766f6e204d69736573");
  auto const two = hex("4d757272617920526f746862617264");
  auto const three = hex("462e20412e20486179656b");
  CHECK(listener.read(dialer.write(one).value()).value() == one);
  CHECK(dialer.read(listener.write(two).value()).value() == two);
  CHECK(listener.read(dialer.write(three).value()).value() == three);
  CHECK(dialer.hash().hex() == "c8e5f64e846193be2a834104c2a009868d6c9f3bd3c186299888b488b2f1f58e");
}

TEST_CASE("every flipped bit and every cut of a handshake message is an error") {
  auto const full = hex(message_2);
  for (std::size_t i = 0; i < full.size(); ++i) {
    auto bent = full;
    bent[i] ^= static_cast<std::uint8_t>(1U << (i % 8));
    auto dialer = initiator();
    REQUIRE(dialer.write({}).has_value());
    CHECK_FALSE(dialer.read(bent).has_value());
    CHECK_FALSE(dialer.write({}).has_value());  // failed once, failed for good
    auto cut = initiator();
    REQUIRE(cut.write({}).has_value());
    CHECK_FALSE(cut.read(ByteView(full).first(i)).has_value());
  }
}

TEST_CASE("a small-order ephemeral key is refused") {
  auto listener = responder();
  REQUIRE(listener.read(Bytes(32)).has_value());  // no key agreement yet
  CHECK(listener.write({}).error().errc() == Errc::bad_key);
}

TEST_CASE("a payload must be signed for the static key of this handshake") {
  auto const good = payload(identity_a, initiator_static);
  CHECK(noise::verify_payload(good, key(initiator_static).public_key).has_value());
  CHECK(noise::verify_payload(good, key(responder_static).public_key).error().errc() ==
        Errc::bad_signature);
  CHECK_FALSE(noise::verify_payload({}, key(initiator_static).public_key).has_value());
  for (std::size_t size = 0; size < good.size(); ++size) {
    auto const cut =
        noise::verify_payload(ByteView(good).first(size), key(initiator_static).public_key);
    // Without the extensions at its end it is whole.
    if (cut) CHECK(cut->muxers.empty());
  }
}

TEST_CASE("unknown payload fields are skipped and unreasonable muxer lists count as none") {
  auto bytes = payload(identity_a, initiator_static);
  protobuf::Writer early_data;
  early_data.string(3, "what py puts there");
  append(bytes, early_data.view());
  CHECK(noise::verify_payload(bytes, key(initiator_static).public_key).value().muxers.size() == 1);

  auto const muxers_kept = [](std::size_t count, std::size_t length) {
    std::vector<std::string> const names(count, std::string(length, 'm'));
    auto const made =
        noise::make_payload(identity(identity_a), key(initiator_static).public_key, names);
    return noise::verify_payload(made, key(initiator_static).public_key).value().muxers.size();
  };
  CHECK(muxers_kept(limits::noise_muxers_max, 4) == limits::noise_muxers_max);
  CHECK(muxers_kept(limits::noise_muxers_max + 1, 4) == 0);
  CHECK(muxers_kept(1, limits::noise_muxer_name_max) == 1);
  CHECK(muxers_kept(1, limits::noise_muxer_name_max + 1) == 0);
}

TEST_CASE("the initiator's preference decides the muxer") {
  CHECK(noise::choose_muxer({"/a", "/b"}, {"/b", "/a"}) == "/a");
  CHECK(noise::choose_muxer({"/a", "/b"}, {"/b"}) == "/b");
  CHECK_FALSE(noise::choose_muxer({"/a"}, {"/b"}).has_value());
  CHECK_FALSE(noise::choose_muxer({"/a"}, {}).has_value());
}

TEST_CASE("transport messages count their nonces and fail without moving on") {
  auto pair = completed();
  auto sender = pair.initiator.split().send;
  auto receiver = pair.responder.split().receive;
  for (int i = 0; i < 300; ++i) {  // past one byte of the counter
    Bytes message(static_cast<std::size_t>(i) + aead_tag_bytes, 0x5a);
    sender.seal(message);
    auto bent = message;
    bent.back() ^= 1;
    CHECK(receiver.open(bent).error().errc() == Errc::decrypt_failed);
    CHECK(receiver.open(message).value().size() == static_cast<std::size_t>(i));
  }
  Bytes short_message(aead_tag_bytes - 1);
  CHECK(receiver.open(short_message).error().errc() == Errc::malformed);
}
