#include "grapevine/round/quorum_wait.hpp"

#include <doctest/doctest.h>

namespace grapevine {

TEST_CASE("the first half is waited for as long as may be, the rest as long again and a little") {
  QuorumWait wait;
  Instant const began = Instant{} + 100s;
  wait.begin(began);
  CHECK(wait.until(60s, 1s) == began + 60s);
  wait.count(0, 0, began + 1s);
  CHECK(wait.until(60s, 1s) == began + 60s);
  wait.count(3, 8, began + 5s);
  CHECK(wait.until(60s, 1s) == began + 60s);
  wait.count(4, 8, began + 7s);
  CHECK(wait.until(60s, 1s) == began + 15s);
  wait.count(7, 8, began + 9s);  // the half is reached once
  CHECK(wait.until(60s, 1s) == began + 15s);
  CHECK(wait.until(12s, 1s) == began + 12s);
  wait.begin(began + 20s);
  CHECK(wait.until(10s, 1s) == began + 30s);
  wait.count(3, 5, began + 21s);
  CHECK(wait.until(10s, 1s) == began + 23s);
}

}  // namespace grapevine
