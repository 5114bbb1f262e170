// TcpNetwork: the real Network, TCP on the loop's io_context. Loop thread only.
#pragma once

#include "grapevine/runtime/network.hpp"
#include "grapevine/runtime/task_group.hpp"

namespace grapevine {

class TcpNetwork final : public Network {
 public:
  explicit TcpNetwork(Executor executor) : executor_(std::move(executor)) {}

  Awaitable<Result<std::unique_ptr<Socket>>> connect(Endpoint to) override;
  Result<std::unique_ptr<Listener>> listen(Endpoint at) override;
  // The system's resolver runs on a thread of its own and cannot be interrupted: a cancelled call
  // returns at once and its answer, when it comes, is dropped.
  Awaitable<Result<std::vector<IpAddress>>> resolve(std::string host, IpFamily family) override;
  [[nodiscard]] std::vector<IpAddress> interfaces() const override;

 private:
  Executor executor_;
};

}  // namespace grapevine
