#include "grapevine/runtime/network.hpp"

namespace grapevine {

Awaitable<Result<>> read_exactly(ByteStream& stream, MutableByteView into) {
  while (!into.empty()) {
    CO_TRY_ASSIGN(std::size_t const got, co_await stream.read_some(into));
    into = into.subspan(got);
  }
  co_return Result<>();
}

}  // namespace grapevine
