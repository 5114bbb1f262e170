#include "sha256_lanes_detail.hpp"

#include "grapevine/base/assert.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <utility>

namespace grapevine {

#if defined(__x86_64__)

namespace {

// Inlined wherever it is used: a call would pass its registers through memory.
#define GRAPEVINE_AVX512 __attribute__((target("avx512f,avx512bw"), always_inline)) inline

constexpr std::size_t block_bytes = 64;
constexpr std::size_t length_bytes = 8;  // of the message length that ends the padding

constexpr std::array<std::uint32_t, 8> initial_state = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr std::array<std::uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// One register is the same word of 16 messages.
struct Lanes {
  __m512i state[8];
};
using Blocks = std::array<std::uint8_t const*, sha256_lanes>;  // one of each message

constexpr int xor_of_three = 0x96;  // truth tables of vpternlog
constexpr int choice = 0xca;
constexpr int majority = 0xe8;

template <int A, int B, int C>
GRAPEVINE_AVX512 __m512i rotations(__m512i x) {
  return _mm512_ternarylogic_epi32(_mm512_ror_epi32(x, A), _mm512_ror_epi32(x, B),
                                   _mm512_ror_epi32(x, C), xor_of_three);
}
template <int A, int B, int Shift>
GRAPEVINE_AVX512 __m512i rotations_and_shift(__m512i x) {
  return _mm512_ternarylogic_epi32(_mm512_ror_epi32(x, A), _mm512_ror_epi32(x, B),
                                   _mm512_srli_epi32(x, Shift), xor_of_three);
}

// Rows of 16 words become columns: by pairs of words, of double words, then of quarters.
GRAPEVINE_AVX512 void transpose(__m512i (&rows)[16]) {
  __m512i pairs[16];
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  __m512i fours[16];
  for (int i = 0; i < 16; i += 4) {
    fours[i] = _mm512_unpacklo_epi64(pairs[i], pairs[i + 2]);
    fours[i + 1] = _mm512_unpackhi_epi64(pairs[i], pairs[i + 2]);
    fours[i + 2] = _mm512_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
    fours[i + 3] = _mm512_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
  }
  constexpr int even = 0x88;
  constexpr int odd = 0xdd;
  for (int i = 0; i < 4; ++i) {
    auto const low_even = _mm512_shuffle_i32x4(fours[i], fours[4 + i], even);
    auto const low_odd = _mm512_shuffle_i32x4(fours[i], fours[4 + i], odd);
    auto const high_even = _mm512_shuffle_i32x4(fours[8 + i], fours[12 + i], even);
    auto const high_odd = _mm512_shuffle_i32x4(fours[8 + i], fours[12 + i], odd);
    rows[i] = _mm512_shuffle_i32x4(low_even, high_even, even);
    rows[4 + i] = _mm512_shuffle_i32x4(low_odd, high_odd, even);
    rows[8 + i] = _mm512_shuffle_i32x4(low_even, high_even, odd);
    rows[12 + i] = _mm512_shuffle_i32x4(low_odd, high_odd, odd);
  }
}

// The block at `offset` of each message: big-endian words, by lanes.
GRAPEVINE_AVX512 void load(__m512i (&words)[16], Blocks const& blocks, std::size_t offset) {
  auto const big_endian =
      _mm512_broadcast_i32x4(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
  for (std::size_t i = 0; i < sha256_lanes; ++i)
    words[i] = _mm512_shuffle_epi8(_mm512_loadu_si512(blocks[i] + offset), big_endian);
  transpose(words);
}

// Round I; what is a to h in the standard moves through `v` by one place a round.
template <std::size_t I>
GRAPEVINE_AVX512 void round(__m512i (&v)[8], __m512i (&words)[16]) {
  auto& word = words[I % 16];
  if constexpr (I >= 16) {
    auto const small = _mm512_add_epi32(rotations_and_shift<7, 18, 3>(words[(I + 1) % 16]),
                                        rotations_and_shift<17, 19, 10>(words[(I + 14) % 16]));
    word = _mm512_add_epi32(_mm512_add_epi32(word, words[(I + 9) % 16]), small);
  }
  auto const& a = v[(64 - I) % 8];
  auto& d = v[(67 - I) % 8];
  auto const& e = v[(68 - I) % 8];
  auto& h = v[(71 - I) % 8];
  auto const chosen = _mm512_ternarylogic_epi32(e, v[(69 - I) % 8], v[(70 - I) % 8], choice);
  auto const common = _mm512_ternarylogic_epi32(a, v[(65 - I) % 8], v[(66 - I) % 8], majority);
  auto const constant = _mm512_set1_epi32(static_cast<int>(round_constants[I]));
  auto const first = _mm512_add_epi32(
      _mm512_add_epi32(_mm512_add_epi32(h, word), _mm512_add_epi32(constant, chosen)),
      rotations<6, 11, 25>(e));
  d = _mm512_add_epi32(d, first);
  h = _mm512_add_epi32(_mm512_add_epi32(first, common), rotations<2, 13, 22>(a));
}

template <std::size_t... I>
GRAPEVINE_AVX512 void all_rounds(__m512i (&v)[8], __m512i (&words)[16],
                                 std::index_sequence<I...> /*rounds*/) {
  (round<I>(v, words), ...);
}

__attribute__((target("avx512f,avx512bw"))) void compress(Lanes& lanes, Blocks const& blocks,
                                                          std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    __m512i words[16];
    load(words, blocks, i * block_bytes);
    __m512i v[8];
    for (int j = 0; j < 8; ++j) v[j] = lanes.state[j];
    all_rounds(v, words, std::make_index_sequence<64>());
    for (int j = 0; j < 8; ++j) lanes.state[j] = _mm512_add_epi32(lanes.state[j], v[j]);
  }
}

__attribute__((target("avx512f"))) void start(Lanes& lanes) {
  for (std::size_t i = 0; i < initial_state.size(); ++i)
    lanes.state[i] = _mm512_set1_epi32(static_cast<int>(initial_state[i]));
}

// Whole blocks of each lane that are put together here: the first, and the padded end.
struct Edges {
  std::array<std::array<std::uint8_t, 2 * block_bytes>, sha256_lanes> bytes{};

  [[nodiscard]] Blocks blocks() const {
    Blocks at{};
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = bytes[i].data();
    return at;
  }
};

}  // namespace

bool sha256_lanes_usable() {
  static bool const usable =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0;
  return usable;
}

void sha256_in_lanes(std::uint8_t prefix, std::span<ByteView const> chunks,
                     std::span<Hash> hashes) {
  ASSERT(sha256_lanes_usable());
  ASSERT(!chunks.empty());
  ASSERT(chunks.size() <= sha256_lanes);
  ASSERT(hashes.size() == chunks.size());
  auto const size = chunks.front().size();
  ASSERT(size >= sha256_lanes_bytes_min);
  auto const chunk_of = [&](std::size_t lane) {
    return chunks[lane < chunks.size() ? lane : 0];  // idle lanes do what the first does
  };

  constexpr std::size_t head = block_bytes - 1;  // what the first block holds behind the prefix
  std::size_t const whole = (size - head) / block_bytes;
  std::size_t const rest = (size - head) % block_bytes;
  std::size_t const end_blocks = rest + 1 + length_bytes > block_bytes ? 2 : 1;
  std::uint64_t const bits = (std::uint64_t{size} + 1) * 8;
  Edges first, end;
  Blocks middle{};
  for (std::size_t lane = 0; lane < sha256_lanes; ++lane) {
    auto const chunk = chunk_of(lane);
    ASSERT(chunk.size() == size);
    first.bytes[lane][0] = prefix;
    std::memcpy(first.bytes[lane].data() + 1, chunk.data(), head);
    middle[lane] = chunk.data() + head;
    auto* const last = end.bytes[lane].data();
    std::memcpy(last, chunk.data() + size - rest, rest);
    last[rest] = 0x80;
    for (std::size_t i = 0; i < length_bytes; ++i)
      last[end_blocks * block_bytes - 1 - i] = static_cast<std::uint8_t>(bits >> (8 * i));
  }

  Lanes lanes;
  start(lanes);
  compress(lanes, first.blocks(), 1);
  compress(lanes, middle, whole);
  compress(lanes, end.blocks(), end_blocks);
  alignas(64) std::array<std::array<std::uint32_t, sha256_lanes>, 8> words{};
  std::memcpy(words.data(), lanes.state, sizeof words);
  for (std::size_t lane = 0; lane < hashes.size(); ++lane)
    for (std::size_t i = 0; i < hashes[lane].bytes.size(); ++i)
      hashes[lane].bytes[i] = static_cast<std::uint8_t>(words[i / 4][lane] >> (24 - 8 * (i % 4)));
}

#else

bool sha256_lanes_usable() { return false; }

void sha256_in_lanes(std::uint8_t, std::span<ByteView const>, std::span<Hash>) {
  ASSERT(sha256_lanes_usable());
}

#endif

}  // namespace grapevine
