// Network: the door to other machines. ByteStream is what everything above speaks: a TCP socket, an
// in-memory pipe of the simulated world, and a multiplexed stream of a connection all are one.
//
// One reader and one writer at a time per stream. Destroying a stream closes it at once (for a
// socket: hard close). Cancelling a read or write leaves the stream usable only for close().
#pragma once

#include "grapevine/base/bytes.hpp"
#include "grapevine/base/endpoint.hpp"
#include "grapevine/runtime/clock.hpp"

#include <memory>
#include <string>
#include <vector>

namespace grapevine {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // At least one byte; Errc::closed at the end of the stream, Errc::reset when it was torn down.
  virtual Awaitable<Result<std::size_t>> read_some(MutableByteView into) = 0;
  // All of `bytes`; the caller keeps them alive until it returns.
  virtual Awaitable<Result<>> write(ByteView bytes) = 0;
  // No more will be written (FIN); reading goes on.
  virtual Awaitable<Result<>> close_write() = 0;
  // Tears the stream down in both directions (RST); wakes a pending read or write with Errc::reset.
  virtual void reset() = 0;
};

struct StreamEnds {
  Endpoint local;
  Endpoint remote;
};

class Socket : public ByteStream {
 public:
  [[nodiscard]] virtual StreamEnds ends() const = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  virtual Awaitable<Result<std::unique_ptr<Socket>>> accept() = 0;
  [[nodiscard]] virtual Endpoint local() const = 0;
  virtual void close() = 0;
};

enum class IpFamily { any, v4, v6 };

class Network {
 public:
  virtual ~Network() = default;
  // Errc::refused when the host answered no, Errc::unreachable when nobody or no route answered,
  // Errc::timed_out after the system's patience (callers set their own deadline around it). Its
  // detail and that of resolve() are the system's words; what was called, the caller knows.
  virtual Awaitable<Result<std::unique_ptr<Socket>>> connect(Endpoint to) = 0;
  // Errc::address_in_use and Errc::cannot_listen name the endpoint. Port 0 picks a free one.
  virtual Result<std::unique_ptr<Listener>> listen(Endpoint at) = 0;
  virtual Awaitable<Result<std::vector<IpAddress>>> resolve(std::string host, IpFamily family) = 0;
  // The addresses of this machine's interfaces, for expanding 0.0.0.0 and ::.
  [[nodiscard]] virtual std::vector<IpAddress> interfaces() const = 0;
};

// Exactly `into.size()` bytes, or the error that came first.
Awaitable<Result<>> read_exactly(ByteStream& stream, MutableByteView into);

}  // namespace grapevine
