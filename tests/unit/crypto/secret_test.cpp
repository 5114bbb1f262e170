#include "grapevine/crypto/secret.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace grapevine;

TEST_CASE("secrets are the same when every byte is") {
  CHECK(same_secret({}, {}));
  CHECK(rc::check("as == says", [](Bytes const& a, Bytes const& b) {
    RC_ASSERT(same_secret(a, a));
    RC_ASSERT(same_secret(a, b) == (a == b));
  }));
  CHECK(rc::check("one bit anywhere, or a byte more", [] {
    auto const a = *rc::gen::nonEmpty<Bytes>();
    auto other = a;
    other[*rc::gen::inRange<std::size_t>(0, a.size())] ^=
        static_cast<std::uint8_t>(1U << *rc::gen::inRange(0, 8));
    RC_ASSERT(!same_secret(a, other));
    other = a;
    other.push_back(0);
    RC_ASSERT(!same_secret(a, other));
  }));
}
