// Protobuf (wire types 0, 1, 2 and 5), read and written by hand: a Reader takes hostile bytes,
// copies nothing and never looks past its view; a Writer gives the same bytes for the same calls,
// as signed content needs. Groups are refused. Callers skip fields they do not know, take the last
// of a repeated scalar, bound enums, and treat strings as bytes. Values; any thread.
// (protobuf.dev/programming-guides/encoding)
#pragma once

#include "grapevine/base/bytes.hpp"

#include <optional>

namespace grapevine::protobuf {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct Field {
  std::uint32_t number = 0;
  WireType type = WireType::varint;
  std::uint64_t value = 0;  // of a varint or fixed field
  ByteView bytes;           // of a length-delimited field; points into the message

  // A field of another wire type than its number's is one we do not know.
  [[nodiscard]] bool is(std::uint32_t n, WireType t) const { return number == n && type == t; }
};

class Reader {
 public:
  explicit Reader(ByteView message) : rest_(message) {}

  // The next field, or nothing at the end. Errc::truncated, Errc::malformed, or Errc::oversize
  // after limits::protobuf_fields_max fields.
  [[nodiscard]] Result<std::optional<Field>> next();

 private:
  [[nodiscard]] Result<std::uint64_t> varint();
  [[nodiscard]] Result<ByteView> take(std::uint64_t size);
  [[nodiscard]] Result<> read_value(Field& field, std::uint64_t wire_type);

  ByteView rest_;
  std::size_t fields_ = 0;
};

class Writer {
 public:
  void varint(std::uint32_t number, std::uint64_t value);
  void fixed64(std::uint32_t number, std::uint64_t value);
  void bytes(std::uint32_t number, ByteView value);
  void string(std::uint32_t number, std::string_view value) { bytes(number, as_bytes(value)); }

  [[nodiscard]] ByteView view() const { return out_; }
  [[nodiscard]] Bytes take() { return std::move(out_); }

 private:
  void tag(std::uint32_t number, WireType type);
  void raw_varint(std::uint64_t value);

  Bytes out_;
};

}  // namespace grapevine::protobuf
