// Any bytes at the status server's door, in two pieces: each request they hold gets a response, and
// splitting them elsewhere changes nothing.
#include "grapevine/base/assert.hpp"
#include "grapevine/status/routes.hpp"

using namespace grapevine;

namespace {

HttpResponse answer(std::variant<Route, Command, HttpResponse> const& routed) {
  if (auto const* refused = std::get_if<HttpResponse>(&routed)) return *refused;
  if (auto const* command = std::get_if<Command>(&routed)) return render(*command, {}, {});
  return render(std::get<Route>(routed), {});
}

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
      auto const response = answer(route(**request, {true, "token"}));
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
