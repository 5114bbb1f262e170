#include "grapevine/crypto/merkle.hpp"

#include "unit/hex.hpp"

#include <doctest/doctest.h>

using namespace grapevine;

TEST_CASE("roots agree with the test tree of Certificate Transparency") {
  std::vector<Hash> leaves;
  for (auto const* leaf : {"", "00", "10", "2021", "3031", "40414243", "5051525354555657",
                           "606162636465666768696a6b6c6d6e6f"})
    leaves.push_back(merkle_leaf(unhex(leaf)));
  auto const root = [&](std::size_t n) { return merkle_root(std::span(leaves).first(n)).hex(); };
  CHECK(root(1) == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
  CHECK(root(2) == "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125");
  CHECK(root(3) == "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77");
  CHECK(root(5) == "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4");
  CHECK(root(8) == "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328");
}

TEST_CASE("a blob is cut into whole chunks and a rest; an empty one has one empty chunk") {
  Bytes const blob = unhex("0102030405");
  CHECK(merkle_leaves(blob, 2) == std::vector{merkle_leaf(unhex("0102")),
                                              merkle_leaf(unhex("0304")),
                                              merkle_leaf(unhex("05"))});
  CHECK(merkle_leaves(ByteView(blob).first(4), 2).size() == 2);
  CHECK(merkle_leaves({}, 2) == std::vector{merkle_leaf({})});
}

// Side by side where the machine can; each leaf by itself is libcrypto's.
TEST_CASE("the leaves of many chunks are those of each chunk, whatever their size and number") {
  for (std::size_t const chunk : {1, 62, 63, 64, 117, 118, 119, 127, 128, 182, 1000, 4096}) {
    for (std::size_t const count : {1, 7, 8, 15, 16, 17, 24, 33, 40}) {
      for (std::size_t const more : {std::size_t{0}, chunk / 2}) {
        CAPTURE(chunk);
        CAPTURE(count);
        CAPTURE(more);
        Bytes blob(chunk * count + more);
        std::uint32_t noise = 1;
        for (auto& byte : blob) byte = static_cast<std::uint8_t>((noise = noise * 69069 + 1) >> 24);
        std::vector<Hash> wanted;
        for (std::size_t at = 0; at < blob.size(); at += chunk)
          wanted.push_back(
              merkle_leaf(ByteView(blob).subspan(at, std::min(chunk, blob.size() - at))));
        CHECK(merkle_leaves(blob, chunk) == wanted);
      }
    }
  }
}
