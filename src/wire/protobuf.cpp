#include "grapevine/wire/protobuf.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"

namespace grapevine::protobuf {
namespace {

constexpr std::uint64_t number_max = (1U << 29) - 1;
constexpr std::size_t varint_bytes_max = 10;  // 64 bits; not the varint of multiformats

std::uint64_t little_endian(ByteView bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

}  // namespace

Result<std::uint64_t> Reader::varint() {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < varint_bytes_max; ++i) {
    if (i == rest_.size()) return fail(Errc::truncated, "protobuf varint");
    auto const byte = rest_[i];
    if (i == varint_bytes_max - 1 && byte > 1) break;
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if ((byte & 0x80) != 0) continue;
    rest_ = rest_.subspan(i + 1);
    return value;
  }
  return fail(Errc::malformed, "protobuf varint over 64 bits");
}

Result<ByteView> Reader::take(std::uint64_t size) {
  if (size > rest_.size()) return fail(Errc::truncated, "protobuf field");
  auto const bytes = rest_.first(static_cast<std::size_t>(size));
  rest_ = rest_.subspan(bytes.size());
  return bytes;
}

Result<> Reader::read_value(Field& field, std::uint64_t wire_type) {
  switch (wire_type) {
    case 0: {
      field.type = WireType::varint;
      TRY_ASSIGN(field.value, varint());
      return {};
    }
    case 1: {
      field.type = WireType::fixed64;
      TRY_ASSIGN(auto const raw, take(8));
      field.value = little_endian(raw);
      return {};
    }
    case 2: {
      field.type = WireType::bytes;
      TRY_ASSIGN(auto const size, varint());
      TRY_ASSIGN(field.bytes, take(size));
      return {};
    }
    case 5: {
      field.type = WireType::fixed32;
      TRY_ASSIGN(auto const raw, take(4));
      field.value = little_endian(raw);
      return {};
    }
    default:
      return fail(Errc::malformed, "protobuf wire type " + std::to_string(wire_type));
  }
}

Result<std::optional<Field>> Reader::next() {
  if (rest_.empty()) return std::nullopt;
  if (++fields_ > limits::protobuf_fields_max)
    return fail(Errc::oversize, "protobuf message of too many fields");
  TRY_ASSIGN(auto const key, varint());
  std::uint64_t const number = key >> 3;
  if (number == 0 || number > number_max)
    return fail(Errc::malformed, "protobuf field number " + std::to_string(number));
  Field field;
  field.number = static_cast<std::uint32_t>(number);
  TRY(read_value(field, key & 7));
  return field;
}

void Writer::raw_varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<std::uint8_t>(value | 0x80));
  out_.push_back(static_cast<std::uint8_t>(value));
}

void Writer::tag(std::uint32_t number, WireType type) {
  ASSERT(number > 0 && number <= number_max);
  raw_varint(static_cast<std::uint64_t>(number) << 3 | static_cast<std::uint64_t>(type));
}

void Writer::varint(std::uint32_t number, std::uint64_t value) {
  tag(number, WireType::varint);
  raw_varint(value);
}

void Writer::fixed64(std::uint32_t number, std::uint64_t value) {
  tag(number, WireType::fixed64);
  for (int shift = 0; shift < 64; shift += 8)
    out_.push_back(static_cast<std::uint8_t>(value >> shift));
}

void Writer::bytes(std::uint32_t number, ByteView value) {
  tag(number, WireType::bytes);
  raw_varint(value.size());
  append(out_, value);
}

}  // namespace grapevine::protobuf
