// Cancellation: how a task is ended from outside, and the only exception that flows. The operation
// a cancelled task waits in leaves by boost::system::system_error(operation_aborted), and so does
// every later co_await of that task; destructors run on the way. Never caught except to clean up,
// which is what `with_tasks` (task_group.hpp) is for.
#pragma once

#include <exception>

namespace grapevine {

[[noreturn]] void throw_cancelled();
[[nodiscard]] bool is_cancellation(std::exception_ptr const& error);

}  // namespace grapevine
