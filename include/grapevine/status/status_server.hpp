// StatusServer: the pages and commands of routes.hpp over HTTP. One task a connection, bounded in
// number, with a deadline on every wait; when full, the next connection waits in the kernel's
// queue. Loop thread only; measuring runs on the heavy worker. Pages read the node and can never
// stop its training; commands are the business of a Control.
#pragma once

#include "grapevine/base/endpoint.hpp"
#include "grapevine/runtime/doors.hpp"
#include "grapevine/status/control.hpp"
#include "grapevine/status/resources.hpp"
#include "grapevine/status/status_source.hpp"

#include <functional>
#include <memory>

namespace grapevine {

struct StatusServerOptions {
  Endpoint at;                         // port 0: any free one
  std::function<Resources()> measure;  // called on the heavy worker every few seconds
  Control* control = nullptr;          // outlives the server; none: there are no commands
  std::string control_token;
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
