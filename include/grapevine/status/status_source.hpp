// StatusSource: what the status pages are made from. The program gives the node's; tests give
// their own. Called on the loop thread only; never changes anything.
#pragma once

#include "grapevine/node/snapshot.hpp"
#include "grapevine/runtime/clock.hpp"

#include <vector>

namespace grapevine {

class StatusSource {
 public:
  virtual ~StatusSource() = default;
  [[nodiscard]] virtual Snapshot snapshot() const = 0;
  [[nodiscard]] virtual bool ready() const = 0;
  // Rounds from `since` on, oldest first, a bounded number.
  virtual Awaitable<Result<std::vector<RoundRecord>>> history(std::uint64_t since) = 0;
};

}  // namespace grapevine
