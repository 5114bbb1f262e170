// Any bytes as a protobuf message. Fields that are written again read the same.
#include "grapevine/wire/protobuf.hpp"

#include "grapevine/base/assert.hpp"

#include <algorithm>

using namespace grapevine;
using protobuf::WireType;

namespace {

void check(protobuf::Field const& field) {
  protobuf::Writer writer;
  if (field.type == WireType::varint) writer.varint(field.number, field.value);
  if (field.type == WireType::fixed64) writer.fixed64(field.number, field.value);
  if (field.type == WireType::bytes) writer.bytes(field.number, field.bytes);
  if (field.type == WireType::fixed32) return;  // read to be skipped, never written
  protobuf::Reader reader(writer.view());
  auto const again = reader.next().value().value();
  ASSERT(again.is(field.number, field.type) && again.value == field.value);
  ASSERT(std::ranges::equal(again.bytes, field.bytes));
  ASSERT(!reader.next().value().has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  protobuf::Reader reader(ByteView(data, size));
  for (;;) {
    auto const field = reader.next();
    if (!field.has_value() || !field->has_value()) return 0;
    check(**field);
  }
}
