#include "grapevine/runtime/tcp_network.hpp"

#include "grapevine/runtime/cancellation.hpp"
#include "grapevine/runtime/gate.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <ifaddrs.h>

#include <algorithm>
#include <cstring>

namespace grapevine {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
// Without it async_write hands the kernel at most 64 KiB a call.
constexpr std::size_t write_bytes_per_call = 4 * 1024 * 1024;

tcp::endpoint to_asio(Endpoint const& endpoint) {
  auto const& ip = endpoint.ip;
  if (ip.is_v6) return {asio::ip::address_v6(ip.bytes), endpoint.port};
  asio::ip::address_v4::bytes_type v4{};
  std::copy_n(ip.bytes.begin(), v4.size(), v4.begin());
  return {asio::ip::address_v4(v4), endpoint.port};
}

IpAddress from_asio(asio::ip::address const& address) {
  IpAddress ip;
  if (address.is_v6()) {
    ip.is_v6 = true;
    ip.bytes = address.to_v6().to_bytes();
  } else {
    auto const v4 = address.to_v4().to_bytes();
    std::copy(v4.begin(), v4.end(), ip.bytes.begin());
  }
  return ip;
}

Endpoint from_asio(tcp::endpoint const& endpoint) {
  return {from_asio(endpoint.address()), endpoint.port()};
}

Errc to_errc(boost::system::error_code error) {
  namespace errc = boost::system::errc;
  if (error == asio::error::eof) return Errc::closed;
  switch (error.value()) {
    case errc::connection_refused:
      return Errc::refused;
    case errc::host_unreachable:
    case errc::network_unreachable:
    case errc::network_down:
    case errc::address_not_available:
    case errc::address_family_not_supported:
    case errc::permission_denied:  // what a local firewall answers
    case errc::operation_not_permitted:
    case errc::invalid_argument:
      return Errc::unreachable;
    case errc::timed_out:
      return Errc::timed_out;
    case errc::connection_reset:
    case errc::connection_aborted:
    case errc::broken_pipe:
    case errc::not_connected:
      return Errc::reset;
    case errc::address_in_use:
      return Errc::address_in_use;
    case errc::too_many_files_open:
    case errc::too_many_files_open_in_system:
    case errc::no_buffer_space:
    case errc::not_enough_memory:
      return Errc::limit_exceeded;
    default:
      return Errc::io_failed;
  }
}

// Whether the code stands for this one error of the system, whose words would only repeat it.
bool says_all(Errc errc) {
  return errc == Errc::refused || errc == Errc::timed_out || errc == Errc::closed ||
         errc == Errc::address_in_use;
}

// The words of the system, where the code leaves them open.
std::string words_of(boost::system::error_code error) {
  return says_all(to_errc(error)) ? std::string() : error.message();
}

tl::unexpected<Error> failure(Errc errc, boost::system::error_code error, std::string thing) {
  auto const words = words_of(error);
  return fail(errc, words.empty() ? std::move(thing) : thing + ": " + words);
}

tl::unexpected<Error> failure(boost::system::error_code error, std::string thing) {
  return failure(to_errc(error), error, std::move(thing));
}

// Kernel buffers are left to the kernel's autotuning: it grows them to several megabytes, where a
// setsockopt would fix them at net.core.*mem_max, by default 208 KiB.
class TcpSocket final : public Socket {
 public:
  TcpSocket(tcp::socket socket, StreamEnds ends) : socket_(std::move(socket)), ends_(ends) {
    boost::system::error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
  }

  Awaitable<Result<std::size_t>> read_some(MutableByteView into) override {
    if (reset_) co_return fail(Errc::reset, ends_.remote.text());
    auto const [error, got] =
        co_await socket_.async_read_some(asio::buffer(into.data(), into.size()), as_result);
    if (error) co_return ended(error);
    co_return got;
  }

  Awaitable<Result<>> write(ByteView bytes) override {
    if (reset_) co_return fail(Errc::reset, ends_.remote.text());
    auto const whole = [](boost::system::error_code error, std::size_t) {
      return error ? std::size_t{0} : write_bytes_per_call;
    };
    auto const [error, sent] = co_await asio::async_write(
        socket_, asio::buffer(bytes.data(), bytes.size()), whole, as_result);
    if (error) co_return ended(error);
    co_return Result<>();
  }

  Awaitable<Result<>> close_write() override {
    boost::system::error_code error;
    socket_.shutdown(tcp::socket::shutdown_send, error);
    if (error) co_return failure(error, ends_.remote.text());
    co_return Result<>();
  }

  void reset() override {
    if (reset_) return;
    reset_ = true;
    boost::system::error_code ignored;
    socket_.set_option(tcp::socket::linger(true, 0), ignored);  // close() sends RST
    socket_.close(ignored);
  }

  [[nodiscard]] StreamEnds ends() const override { return ends_; }

 private:
  tl::unexpected<Error> ended(boost::system::error_code error) const {
    if (error != asio::error::operation_aborted) return failure(error, ends_.remote.text());
    if (!reset_) throw_cancelled();
    return fail(Errc::reset, ends_.remote.text());
  }

  tcp::socket socket_;
  StreamEnds ends_;
  bool reset_ = false;
};

class TcpListener final : public Listener {
 public:
  explicit TcpListener(tcp::acceptor acceptor)
      : acceptor_(std::move(acceptor)), local_(from_asio(acceptor_.local_endpoint())) {}

  Awaitable<Result<std::unique_ptr<Socket>>> accept() override {
    while (acceptor_.is_open()) {
      auto [error, socket] = co_await acceptor_.async_accept(as_result);
      if (error == asio::error::operation_aborted) {
        if (acceptor_.is_open()) throw_cancelled();
        break;
      }
      if (error == asio::error::connection_aborted) continue;  // gone before we took it
      if (error) co_return failure(error, "accept on " + local_.text());
      boost::system::error_code gone;
      auto const remote = socket.remote_endpoint(gone);
      if (gone) continue;
      auto const local = socket.local_endpoint(gone);
      if (gone) continue;
      StreamEnds const ends{from_asio(local), from_asio(remote)};
      co_return std::make_unique<TcpSocket>(std::move(socket), ends);
    }
    co_return fail(Errc::closed, local_.text());
  }

  [[nodiscard]] Endpoint local() const override { return local_; }

  void close() override {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
  }

 private:
  tcp::acceptor acceptor_;
  Endpoint local_;
};

// Outlives a cancelled resolve(): the resolver's answer still finds it.
struct Lookup {
  boost::system::error_code error;
  std::vector<IpAddress> found;
  bool done = false;
  Gate answered;
};

}  // namespace

Awaitable<Result<std::unique_ptr<Socket>>> TcpNetwork::connect(Endpoint to) {
  tcp::socket socket(executor_);
  auto const [error] = co_await socket.async_connect(to_asio(to), as_result);
  if (error == asio::error::operation_aborted) throw_cancelled();
  if (error) co_return fail(to_errc(error), words_of(error));
  boost::system::error_code gone;
  auto const local = socket.local_endpoint(gone);
  if (gone) co_return fail(to_errc(gone), words_of(gone));
  co_return std::make_unique<TcpSocket>(std::move(socket), StreamEnds{from_asio(local), to});
}

Result<std::unique_ptr<Listener>> TcpNetwork::listen(Endpoint at) {
  tcp::acceptor acceptor(executor_);
  boost::system::error_code error;
  auto const endpoint = to_asio(at);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  // So that 0.0.0.0 and :: can both be listened on, with one port.
  if (!error && at.ip.is_v6) acceptor.set_option(asio::ip::v6_only(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  auto const errc = to_errc(error);  // who listens reaches for nobody
  if (error)
    return failure(errc == Errc::unreachable ? Errc::cannot_listen : errc, error, at.text());
  return std::make_unique<TcpListener>(std::move(acceptor));
}

Awaitable<Result<std::vector<IpAddress>>> TcpNetwork::resolve(std::string host, IpFamily family) {
  auto resolver = std::make_shared<tcp::resolver>(executor_);
  auto lookup = std::make_shared<Lookup>();
  auto answer = [resolver, lookup](boost::system::error_code error, auto const& results) {
    lookup->error = error;
    for (auto const& result : results) {
      auto const ip = from_asio(result.endpoint().address());
      if (std::ranges::find(lookup->found, ip) == lookup->found.end()) lookup->found.push_back(ip);
    }
    lookup->done = true;
    lookup->answered.notify_all();
  };
  auto const flags = tcp::resolver::flags{};
  if (family == IpFamily::any)
    resolver->async_resolve(host, "", flags, std::move(answer));
  else
    resolver->async_resolve(family == IpFamily::v6 ? tcp::v6() : tcp::v4(), host, "", flags,
                            std::move(answer));
  while (!lookup->done) co_await lookup->answered.wait();
  if (lookup->error) co_return fail(Errc::unreachable, lookup->error.message());
  co_return std::move(lookup->found);
}

std::vector<IpAddress> TcpNetwork::interfaces() const {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  std::vector<IpAddress> found;
  for (auto const* it = first; it != nullptr; it = it->ifa_next) {
    if (it->ifa_addr == nullptr) continue;
    int const family = it->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    tcp::endpoint endpoint;
    auto const size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(endpoint.data(), it->ifa_addr, size);
    found.push_back(from_asio(endpoint.address()));
  }
  ::freeifaddrs(first);
  return found;
}

}  // namespace grapevine
