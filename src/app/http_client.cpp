#include "app/http_client.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/runtime/steady_clock.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/core.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace grapevine {

namespace {

// One non-blocking socket and the instant at which patience ends.
class Call {
 public:
  Call(Endpoint to, Duration patience)
      : to_(to),
        until_(clock_.now() + patience),
        socket_(::socket(to.ip.is_v6 ? AF_INET6 : AF_INET,
                         SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {}
  ~Call() {
    if (socket_ >= 0) ::close(socket_);
  }
  Call(Call const&) = delete;

  Result<> connect() {
    if (socket_ < 0) return failure(errno);
    sockaddr_storage address{};
    socklen_t const size = to_.ip.is_v6 ? fill_v6(address) : fill_v4(address);
    if (::connect(socket_, reinterpret_cast<sockaddr const*>(&address), size) != 0 &&
        errno != EINPROGRESS)
      return failure(errno);
    TRY(wait_for(POLLOUT));
    int error = 0;
    socklen_t error_size = sizeof error;
    ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &error_size);
    if (error != 0) return failure(error);
    return {};
  }

  Result<> send(std::string_view text) {
    while (!text.empty()) {
      auto const sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        text.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno == EAGAIN) {
        TRY(wait_for(POLLOUT));
      } else {
        return failure(errno);
      }
    }
    return {};
  }

  // All that comes until the other side closes.
  Result<std::string> receive() {
    std::string text;
    char buffer[16 * 1024];
    for (;;) {
      auto const got = ::recv(socket_, buffer, sizeof buffer, 0);
      if (got == 0) return text;
      if (got > 0) {
        text.append(buffer, static_cast<std::size_t>(got));
        if (text.size() > limits::http_response_bytes_max) return fail(Errc::oversize, to_.text());
      } else if (errno == EAGAIN) {
        TRY(wait_for(POLLIN));
      } else {
        return failure(errno);
      }
    }
  }

 private:
  socklen_t fill_v4(sockaddr_storage& storage) const {
    auto& address = reinterpret_cast<sockaddr_in&>(storage);
    address.sin_family = AF_INET;
    address.sin_port = htons(to_.port);
    std::memcpy(&address.sin_addr, to_.ip.bytes.data(), sizeof address.sin_addr);
    return sizeof address;
  }
  socklen_t fill_v6(sockaddr_storage& storage) const {
    auto& address = reinterpret_cast<sockaddr_in6&>(storage);
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(to_.port);
    std::memcpy(&address.sin6_addr, to_.ip.bytes.data(), sizeof address.sin6_addr);
    return sizeof address;
  }
  Result<> wait_for(short what) {
    pollfd entry{socket_, what, 0};
    for (;;) {
      auto const left =
          std::chrono::duration_cast<std::chrono::milliseconds>(until_ - clock_.now()).count();
      if (left <= 0) return fail(Errc::timed_out, to_.text());
      int const ready = ::poll(&entry, 1, static_cast<int>(left));
      if (ready > 0) return {};
      if (ready < 0 && errno != EINTR) return failure(errno);
    }
  }
  [[nodiscard]] tl::unexpected<Error> failure(int error) const {
    auto const errc = error == ECONNREFUSED                           ? Errc::refused
                      : error == EHOSTUNREACH || error == ENETUNREACH ? Errc::unreachable
                      : error == ECONNRESET                           ? Errc::reset
                                                                      : Errc::io_failed;
    if (errc == Errc::refused) return fail(errc, to_.text());  // the code says it all
    return fail(errc, to_.text() + ": " + std::strerror(error));
  }

  Endpoint to_;
  SteadyClock clock_;
  Instant until_;
  int socket_;
};

Result<HttpAnswer> parse_answer(std::string_view text, Endpoint from) {
  constexpr std::string_view version = "HTTP/1.1 ";
  auto const header_end = text.find("\r\n\r\n");
  HttpAnswer answer;
  if (!text.starts_with(version) || header_end == std::string_view::npos)
    return fail(Errc::malformed, from.text() + " does not speak HTTP");
  auto const code = text.substr(version.size(), 3);
  std::from_chars(code.data(), code.data() + code.size(), answer.status);
  answer.body = text.substr(header_end + 4);
  return answer;
}

Result<HttpAnswer> ask(Endpoint at, std::string_view request, Duration patience) {
  Call call(at, patience);
  TRY(call.connect());
  TRY(call.send(request));
  TRY_ASSIGN(auto const text, call.receive());
  return parse_answer(text, at);
}

}  // namespace

Result<HttpAnswer> http_get(Endpoint at, std::string_view path, Duration patience) {
  auto const request =
      fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", path, at.text());
  return ask(at, request, patience);
}

Result<HttpAnswer> http_post(Endpoint at, std::string_view path, std::string_view token,
                             Duration patience) {
  auto const request = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: 0\r\n"
      "Connection: close\r\n\r\n",
      path, at.text(), token);
  return ask(at, request, patience);
}

}  // namespace grapevine
