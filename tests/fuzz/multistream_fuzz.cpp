// Both sides of a negotiation fed with anything: they end, and never ask for more than a message.
#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"
#include "grapevine/p2p/multistream.hpp"

using namespace grapevine;
using multistream::Negotiation;

namespace {

void feed(Negotiation machine, ByteView bytes) {
  while (machine.wanted() > 0 && !bytes.empty()) {
    ASSERT(machine.wanted() <= limits::multistream_message_max);
    auto const count = std::min(machine.wanted(), bytes.size());
    if (!machine.receive(bytes.first(count))) return;
    (void)machine.take_output();
    bytes = bytes.subspan(count);
  }
  ASSERT(bytes.empty() || machine.chosen().has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  feed(Negotiation::answer([](std::string_view name) { return name == "/noise"; }), {data, size});
  feed(Negotiation::propose({"/a", "/noise"}), {data, size});
  return 0;
}
