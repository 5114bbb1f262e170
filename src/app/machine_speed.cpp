#include "app/machine_speed.hpp"

#include "grapevine/base/bytes.hpp"
#include "grapevine/runtime/steady_clock.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

namespace grapevine {
namespace {

constexpr std::size_t copied_bytes = 128ull << 20;
constexpr int copies = 8;
constexpr std::size_t sent_bytes = 1ull << 30;
constexpr std::size_t write_bytes = 256 * 1024;

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Socket(Socket const&) = delete;
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

Error socket_error(char const* what) {
  return Error(Errc::io_failed, std::string(what) + ": " + std::strerror(errno));
}

void send_all(int to) {
  Bytes const block(write_bytes, 1);
  for (std::size_t left = sent_bytes; left > 0;) {
    auto const sent = ::send(to, block.data(), std::min(left, block.size()), MSG_NOSIGNAL);
    if (sent <= 0) return;
    left -= static_cast<std::size_t>(sent);
  }
}

std::size_t receive_all(int from) {
  Bytes block(write_bytes);
  std::size_t received = 0;
  while (received < sent_bytes) {
    auto const got = ::recv(from, block.data(), block.size(), 0);
    if (got <= 0) break;
    received += static_cast<std::size_t>(got);
  }
  return received;
}

}  // namespace

double memory_copy_bytes_per_s() {
  SteadyClock clock;
  Bytes const from(copied_bytes, 1);
  Bytes to(copied_bytes, 2);
  double best = 0;
  for (int i = 0; i < copies; ++i) {
    auto const begun = clock.now();
    std::memcpy(to.data(), from.data(), copied_bytes);
    asm volatile("" : : "r"(to.data()) : "memory");  // or nobody needs the copy
    best = std::max(best, static_cast<double>(copied_bytes) / to_seconds(clock.now() - begun));
  }
  return best;
}

Result<double> loopback_bytes_per_s() {
  Socket const listening(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  if (::bind(listening.get(), address, sizeof at) != 0 || ::listen(listening.get(), 1) != 0 ||
      ::getsockname(listening.get(), address, &length) != 0)
    return tl::unexpected(socket_error("listening on loopback"));
  Socket const one(::socket(AF_INET, SOCK_STREAM, 0));
  if (::connect(one.get(), address, length) != 0)
    return tl::unexpected(socket_error("connecting over loopback"));
  Socket const other(::accept(listening.get(), nullptr, nullptr));
  if (other.get() < 0) return tl::unexpected(socket_error("accepting on loopback"));
  SteadyClock clock;
  auto const begun = clock.now();
  std::jthread const sender([&one] { send_all(one.get()); });
  if (receive_all(other.get()) < sent_bytes)
    return tl::unexpected(socket_error("receiving over loopback"));
  return static_cast<double>(sent_bytes) / to_seconds(clock.now() - begun);
}

}  // namespace grapevine
