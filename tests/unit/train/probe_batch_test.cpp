#include "grapevine/train/probe_batch.hpp"

#include "grapevine/base/limits.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

using namespace grapevine;

TEST_CASE("the probe batch follows from the seed and the vocabulary") {
  for (std::uint32_t const vocab : {1U, 8U, 256U, 128'256U}) {
    CAPTURE(vocab);
    auto const tokens = probe_batch(7, vocab);
    CHECK(tokens.size() == limits::probe_tokens_max);
    CHECK(tokens == probe_batch(7, vocab));
    CHECK(std::ranges::max(tokens) < vocab);
    if (vocab > 1) CHECK(tokens != probe_batch(8, vocab));
  }
}

TEST_CASE("over bytes it is text, and another part of it for another run") {
  std::set<std::string> parts;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::string part;
    for (auto const token : probe_batch(seed, 256)) {
      part += static_cast<char>(token);
      CHECK((token == '\n' || (token >= ' ' && token <= '~')));
    }
    CHECK(part.find(" the ") != std::string::npos);
    parts.insert(part);
  }
  CHECK(parts.size() > 15);
}

// What other builds ask: the bytes must never change under the same protocol version.
TEST_CASE("the batch of a seed is the one it always was") {
  std::string part;
  for (auto const token : probe_batch(42, 256)) part += static_cast<char>(token);
  CHECK(part.substr(0, 40) == "s, hung it on its nail by the door, and ");
  auto const drawn = probe_batch(42, 1000);
  CHECK(drawn[0] == 413);
  CHECK(drawn[1] == 291);
  CHECK(drawn[255] == 470);
}
