// Any bytes as a signed peer record, and as the record behind a good signature.
#include "fuzz/payload.hpp"
#include "grapevine/base/limits.hpp"
#include "grapevine/wire/framing.hpp"
#include "grapevine/wire/peer_record.hpp"
#include "grapevine/wire/protobuf.hpp"

using namespace grapevine;

namespace {

Bytes sealed(ByteView record) {
  Bytes input;
  append_frame(input, as_bytes("libp2p-peer-record"));
  append_frame(input, as_bytes("\x03\x01"));
  append_frame(input, record);
  protobuf::Writer envelope;
  envelope.bytes(1, fuzz_identity().public_key().protobuf());
  envelope.string(2, "\x03\x01");
  envelope.bytes(3, record);
  envelope.bytes(5, fuzz_identity().sign(input));
  return envelope.take();
}

void check(ByteView envelope) {
  auto const record = verify_peer_record(envelope);
  if (!record.has_value()) return;
  ASSERT(!record->peer.empty());
  ASSERT(record->addresses.size() <= limits::peer_record_addresses_max);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  ByteView const bytes(data, size);
  check(bytes);
  check(sealed(bytes));
  return 0;
}
