#include "blob_stream_detail.hpp"

#include "grapevine/wire/varint.hpp"

namespace grapevine::blob {

Awaitable<Result<Bytes>> read_message(ByteStream& stream, std::size_t bytes_max) {
  Bytes length;
  for (;;) {
    std::uint8_t byte = 0;
    CO_TRY(co_await read_exactly(stream, {&byte, 1}));
    length.push_back(byte);
    if ((byte & 0x80U) == 0) break;
    if (length.size() >= limits::varint_bytes_max)
      co_return fail(Errc::malformed, "blob message: its length does not end");
  }
  CO_TRY_ASSIGN(auto const size, decode_varint(length));
  if (size.value > bytes_max)
    co_return fail(Errc::oversize, "blob message of " + std::to_string(size.value) + " bytes");
  Bytes message(size.value);
  CO_TRY(co_await read_exactly(stream, message));
  co_return message;
}

}  // namespace grapevine::blob
