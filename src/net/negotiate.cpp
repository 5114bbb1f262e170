#include "negotiate_detail.hpp"

#include "grapevine/base/limits.hpp"

namespace grapevine {
namespace {

Awaitable<Result<>> flush(ByteStream& stream, multistream::Negotiation& machine) {
  auto const output = machine.take_output();
  if (output.empty()) co_return Result<>();
  auto const written = co_await stream.write(output);
  // The peer may have torn down its side already and still be owed what it asked for.
  if (machine.chosen()) co_return Result<>();
  co_return written;
}

}  // namespace

Awaitable<Result<std::string>> negotiate(ByteStream& stream, multistream::Negotiation machine) {
  Bytes buffer(limits::multistream_message_max);
  CO_TRY(co_await flush(stream, machine));
  while (!machine.chosen()) {
    auto const wanted = MutableByteView(buffer).first(machine.wanted());
    CO_TRY(co_await read_exactly(stream, wanted));
    auto const understood = machine.receive(wanted);
    CO_TRY(co_await flush(stream, machine));
    CO_TRY(understood);
  }
  co_return *machine.chosen();
}

}  // namespace grapevine
