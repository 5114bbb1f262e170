#include "grapevine/base/limits.hpp"
#include "node/port_file_detail.hpp"

#include <charconv>

namespace grapevine {
namespace {

constexpr std::string_view path = "listen.port";

}  // namespace

std::uint16_t load_port(Storage& storage) {
  auto const bytes = storage.read(path, limits::small_text_file_bytes_max);
  if (!bytes) return 0;
  auto const text = as_text(*bytes);
  std::uint16_t port = 0;
  auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && stop == text.data() + text.size() ? port : 0;
}

Result<> save_port(Storage& storage, std::uint16_t port) {
  return storage.write_atomic(path, as_bytes(std::to_string(port)));
}

}  // namespace grapevine
