// TaskCensus: every task of one executor's context, whichever group it is in. For those who must
// know that nothing runs any more, or must end everything: a shutdown check, the simulated crash.
// Loop thread only.
#pragma once

#include "grapevine/runtime/task_group.hpp"

namespace grapevine {

class TaskCensus {
 public:
  explicit TaskCensus(Executor const& executor);

  [[nodiscard]] std::size_t size() const;
  void cancel_all();  // the newest groups first

 private:
  class Groups;
  friend class TaskGroup;
  Groups& groups_;
};

}  // namespace grapevine
