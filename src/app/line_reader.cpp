#include "app/line_reader.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace grapevine {
namespace {

constexpr int slice_ms = 50;
constexpr std::size_t line_bytes_max = 1024 * 1024;

}  // namespace

Awaitable<std::optional<std::string>> LineReader::next() {
  while (true) {
    auto const end = buffer_.find('\n');
    if (end != std::string::npos) {
      auto line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      co_return line;
    }
    if (ended_) {
      if (buffer_.empty()) co_return std::nullopt;
      co_return std::exchange(buffer_, {});
    }
    auto const wait = [this](std::stop_token stop) { return fill(stop); };
    ended_ = !co_await run_on<bool>(worker_, wait) || buffer_.size() > line_bytes_max;
  }
}

bool LineReader::fill(std::stop_token const& stop) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  while (!stop.stop_requested()) {
    if (::poll(&input, 1, slice_ms) <= 0) continue;
    std::array<char, 65536> bytes;
    auto const count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    buffer_.append(bytes.data(), static_cast<std::size_t>(count));
    return true;
  }
  return false;
}

}  // namespace grapevine
