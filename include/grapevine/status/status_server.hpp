// StatusServer: the pages of routes.hpp over HTTP. One task a connection, bounded in number, with a
// deadline on every wait; when full, the next connection waits in the kernel's queue. Loop thread
// only; measuring runs on the heavy worker. It reads the node and can never stop its training.
#pragma once

#include "grapevine/base/endpoint.hpp"
#include "grapevine/runtime/doors.hpp"
#include "grapevine/status/resources.hpp"
#include "grapevine/status/status_source.hpp"

#include <functional>
#include <memory>

namespace grapevine {

struct StatusServerOptions {
  Endpoint at;                         // port 0: any free one
  std::function<Resources()> measure;  // called on the heavy worker every few seconds
};

class StatusServer {
 public:
  StatusServer(Doors doors, StatusSource& source, StatusServerOptions options);
  ~StatusServer();
  StatusServer(StatusServer const&) = delete;

  Result<> start();                      // Errc::port_in_use names the endpoint
  Awaitable<> stop();                    // closes every connection; afterwards nothing of it runs
  [[nodiscard]] Endpoint local() const;  // once started: with the real port

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace grapevine
