#include "grapevine/wire/peer_record.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/wire/framing.hpp"
#include "grapevine/wire/protobuf.hpp"
#include "keys.hpp"
#include "mutations.hpp"

#include <doctest/doctest.h>

using namespace grapevine;

namespace {

std::vector<Multiaddr> const addresses = {Multiaddr::parse("/ip4/127.0.0.1/tcp/4001").value()};
std::string const payload_hex =
    "0a26" + hex_a + "108080a8b1e39fe7cb17" + "1a0a0a08047f000001060fa1";
std::string const signature_hex =
    "69a873d3746ecbcbf9a43227e89989ee61ab0ff0ecc5bcf73a822bf46e238fde"
    "e0c92b8f71378a46ed95bf173dacd9d95889dbd562cafc561ca1cf9c465f210e";

// An envelope as anybody could make it.
Bytes envelope(std::string_view domain, std::string_view type, ByteView payload,
               Identity const& signer) {
  Bytes input;
  append_frame(input, as_bytes(domain));
  append_frame(input, as_bytes(type));
  append_frame(input, payload);
  protobuf::Writer writer;
  writer.bytes(1, signer.public_key().protobuf());
  writer.string(2, type);
  writer.bytes(3, payload);
  writer.bytes(5, signer.sign(input));
  return writer.take();
}

Errc error_of(ByteView bytes) { return verify_peer_record(bytes).error().errc(); }

}  // namespace

TEST_CASE("a peer record has the bytes that go, js and py make") {
  auto const record = sign_peer_record(1'700'000'000'000'000'000, addresses, key_a);
  CHECK(record.size() == 172);
  CHECK(to_hex(record) ==
        "0a24" + hex_a.substr(4) + "12020301" + "1a3e" + payload_hex + "2a40" + signature_hex);
  auto const verified = verify_peer_record(record).value();
  CHECK(verified.peer == peer_a);
  CHECK(verified.sequence == 1'700'000'000'000'000'000);
  CHECK(verified.addresses == addresses);
}

TEST_CASE("the domain of the RFC text is read too, others are not") {
  auto const payload = unhex(payload_hex);
  CHECK(verify_peer_record(
            envelope("libp2p-routing-state", "/libp2p/routing-state-record", payload, key_a))
            .has_value());
  CHECK(error_of(envelope("libp2p-relay-rsvp", "\x03\x02", payload, key_a)) == Errc::unsupported);
  CHECK(error_of(envelope("libp2p-routing-state", "\x03\x01", payload, key_a)) ==
        Errc::bad_signature);
}

TEST_CASE("a relay voucher in the same envelope has the published bytes") {
  auto const payload = unhex("0a26" + hex_a + "1226" + hex_b + "1890fecfaa06");
  auto const voucher = envelope("libp2p-relay-rsvp", "\x03\x02", payload, key_a);
  CHECK(payload.size() == 86);
  CHECK(voucher.size() == 196);
  CHECK(to_hex(voucher).ends_with(
      "2a405c5b0581ed3d53ce04c01a3f8616e782582bcacf4f7818e7328a200e78f5559e"
      "cd7a1bd4b0c0936ceb54de2baca3b281ded9b6b0a78c119519898ba5248b8e03"));
}

TEST_CASE("nobody can speak for another peer") {
  CHECK(error_of(envelope("libp2p-peer-record", "\x03\x01", unhex(payload_hex), key_b)) ==
        Errc::wrong_peer);
  CHECK(error_of(envelope("libp2p-peer-record", "\x03\x01", {}, key_b)) == Errc::wrong_peer);
}

TEST_CASE("addresses of unknown kinds and unknown fields are passed over") {
  auto const payload =
      unhex("0a26" + hex_a + "1005" + "1a050a03ffff03" + "7a0178" + "1a0a0a08047f000001060fa1");
  auto const record =
      verify_peer_record(envelope("libp2p-peer-record", "\x03\x01", payload, key_a)).value();
  CHECK(record.addresses == addresses);
  CHECK(record.sequence == 5);
}

TEST_CASE("a record has a largest size and a largest number of addresses") {
  std::vector<Multiaddr> const many(limits::peer_record_addresses_max + 1, addresses.front());
  CHECK(verify_peer_record(sign_peer_record(0, many, key_a)).value().addresses.size() ==
        limits::peer_record_addresses_max);
  CHECK(verify_peer_record(sign_peer_record(0, {}, key_a)).value().addresses.empty());
  auto payload = unhex(payload_hex);
  for (std::size_t i = 0; i < limits::peer_record_addresses_max; ++i)
    append(payload, unhex("1a0a0a08047f000001060fa1"));
  CHECK(verify_peer_record(envelope("libp2p-peer-record", "\x03\x01", payload, key_a))
            .value()
            .addresses.size() == limits::peer_record_addresses_max);
  auto padded = sign_peer_record(0, addresses, key_a);
  auto const room = limits::peer_record_bytes_max - padded.size();
  protobuf::Writer unknown;
  unknown.bytes(15, Bytes(room - 3));
  append(padded, unknown.view());
  REQUIRE(padded.size() == limits::peer_record_bytes_max);
  CHECK(verify_peer_record(padded).has_value());
  padded.push_back(0);
  CHECK(error_of(padded) == Errc::oversize);
  CHECK_FALSE(verify_peer_record({}).has_value());
}

TEST_CASE("a changed record is refused, or says what it said before") {
  auto const record = sign_peer_record(9, addresses, key_a);
  for_each_mutation(record, [&](ByteView changed) {
    auto const verified = verify_peer_record(changed);
    if (!verified.has_value()) return;
    CHECK(verified->peer == peer_a);
    CHECK(verified->sequence == 9);
    CHECK(verified->addresses == addresses);
  });
}
