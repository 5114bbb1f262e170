#include "grapevine/wire/signed.hpp"

#include "keys.hpp"
#include "mutations.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace grapevine;

namespace {

constexpr std::size_t bytes_max = 4096;

Errc error_of(ByteView envelope) {
  return open_envelope("beacon", envelope, bytes_max).error().errc();
}

Bytes signed_text(std::string const& domain, std::string const& payload) {
  std::string const text = "grapevine:" + domain + '\0' + payload;
  return {text.begin(), text.end()};
}

}  // namespace

TEST_CASE("an envelope opens to its payload and signer") {
  CHECK(rc::check("round trip", [](Bytes const& payload) {
    auto const opened =
        open_envelope("beacon", sign_envelope("beacon", payload, key_a), bytes_max).value();
    RC_ASSERT(opened.payload == payload);
    RC_ASSERT(opened.key == key_a.public_key());
    RC_ASSERT(opened.signer == peer_a);
  }));
}

TEST_CASE("a signature is bound to the kind of message") {
  auto const envelope = sign_envelope("beacon", as_bytes("hello"), key_a);
  CHECK(open_envelope("announcement", envelope, bytes_max).error().errc() == Errc::bad_signature);
  // The zero byte keeps "beac" ‖ "on…" apart from "beacon" ‖ "…".
  auto const shifted = sign_envelope("beac", as_bytes("onhello"), key_a);
  CHECK(error_of(shifted) == Errc::bad_signature);
}

TEST_CASE("no byte of an envelope can change") {
  auto const envelope = sign_envelope("beacon", as_bytes("hello"), key_a);
  for_each_mutation(envelope, [&](ByteView changed) {
    if (std::ranges::equal(changed, envelope)) return;
    CHECK_FALSE(open_envelope("beacon", changed, bytes_max).has_value());
  });
}

TEST_CASE("an envelope with something added is not canonical") {
  auto envelope = sign_envelope("beacon", as_bytes("hello"), key_a);
  envelope.insert(envelope.end(), 4, 0);
  CHECK(error_of(envelope) == Errc::malformed);
}

TEST_CASE("an envelope is held against its cap first") {
  auto const envelope = sign_envelope("beacon", Bytes(100), key_a);
  CHECK(open_envelope("beacon", envelope, envelope.size()).has_value());
  CHECK(open_envelope("beacon", envelope, envelope.size() - 1).error().errc() == Errc::oversize);
  CHECK(open_envelope("beacon", envelope, 0).error().errc() == Errc::oversize);
  CHECK(error_of({}) == Errc::malformed);
}

TEST_CASE("who has signed the envelope's bytes otherwise is believed about its own alone") {
  auto envelope = sign_envelope("beacon", as_bytes("hello"), key_a);
  auto const signature = key_a.sign(signed_text("beacon", "hello"));
  auto const at = std::ranges::search(envelope, signature).begin();
  REQUIRE(at != envelope.end());
  *at ^= 1;
  auto const opened_for = [&](PeerId const* author) {
    return open_envelope("beacon", envelope, bytes_max, author);
  };
  CHECK(opened_for(nullptr).error().errc() == Errc::bad_signature);
  CHECK(opened_for(&peer_b).error().errc() == Errc::bad_signature);
  CHECK(opened_for(&peer_a).value().signer == peer_a);
  // Whose envelope is whole is said to have signed it, whoever hands it on.
  *at ^= 1;
  CHECK(opened_for(&peer_b).value().signer == peer_a);
}

TEST_CASE("keys of small order sign nothing") {
  auto envelope = sign_envelope("beacon", as_bytes("hello"), key_a);
  auto const at = std::ranges::search(envelope, key_a.public_key().raw()).begin();
  REQUIRE(at != envelope.end());
  std::fill_n(at, 32, std::uint8_t{0});
  CHECK(error_of(envelope) == Errc::bad_key);
}
