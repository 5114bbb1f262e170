// Any bytes at the status server's door, in two pieces: each request they hold gets a response, and
// splitting them elsewhere changes nothing.
#include "grapevine/base/assert.hpp"
#include "grapevine/status/routes.hpp"

using namespace grapevine;

namespace {

// The statuses of all answers, 0 where the reader refuses.
std::vector<unsigned> statuses(ByteView first, ByteView second) {
  std::vector<unsigned> answered;
  HttpReader reader;
  for (auto more : {first, second}) {
    for (;;) {
      auto const request = reader.feed(more);
      more = {};
      if (!request) {
        answered.push_back(0);
        return answered;
      }
      if (!*request) break;
      auto const routed = route(**request, true);
      auto const* refused = std::get_if<HttpResponse>(&routed);
      auto const response = refused ? *refused : render(std::get<Route>(routed), {});
      ASSERT(!to_bytes(response, {(*request)->keep_alive, false}).empty());
      answered.push_back(response.status);
    }
  }
  return answered;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  ByteView const input(data, size);
  if (size == 0) return 0;
  auto const whole = statuses(input, {});
  auto const split = statuses(input.first(data[0] % size), input.subspan(data[0] % size));
  ASSERT(whole == split);
  return 0;
}
