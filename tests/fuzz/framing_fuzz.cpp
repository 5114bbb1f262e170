// Any bytes as a stream of frames, cut in two places that the first two bytes choose. Where it is
// cut makes no difference.
#include "grapevine/base/assert.hpp"
#include "grapevine/wire/framing.hpp"

#include <algorithm>

using namespace grapevine;

namespace {

constexpr std::size_t bytes_max = 300;

struct Seen {
  std::vector<Bytes> messages;
  bool failed = false;
  bool operator==(Seen const&) const = default;
};

void feed(FrameSplitter& splitter, Seen& seen, ByteView piece) {
  splitter.feed(piece);
  for (;;) {
    auto const next = splitter.next();
    seen.failed = !next.has_value();
    if (seen.failed || !next->has_value()) return;
    ASSERT((*next)->size() <= bytes_max);
    seen.messages.emplace_back((*next)->begin(), (*next)->end());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size < 2) return 0;
  ByteView const stream(data + 2, size - 2);
  auto const first = std::min<std::size_t>(data[0], stream.size());
  auto const second = std::min<std::size_t>(data[1], stream.size() - first);
  FrameSplitter whole(bytes_max), parts(bytes_max);
  Seen at_once, in_parts;
  feed(whole, at_once, stream);
  feed(parts, in_parts, stream.first(first));
  feed(parts, in_parts, stream.subspan(first, second));
  feed(parts, in_parts, stream.subspan(first + second));
  ASSERT(at_once == in_parts);
  return 0;
}
