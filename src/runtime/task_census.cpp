#include "grapevine/runtime/task_census.hpp"

#include "runtime/task_census_detail.hpp"

#include <boost/asio/query.hpp>

namespace grapevine {

TaskCensus::Groups& TaskCensus::Groups::of(Executor const& executor) {
  namespace execution = boost::asio::execution;
  return boost::asio::use_service<Groups>(boost::asio::query(executor, execution::context));
}

TaskCensus::TaskCensus(Executor const& executor) : groups_(Groups::of(executor)) {}

std::size_t TaskCensus::size() const {
  std::size_t tasks = 0;
  for (auto const* group : groups_.groups) tasks += group->size();
  return tasks;
}

void TaskCensus::cancel_all() {
  for (auto group = groups_.groups.rbegin(); group != groups_.groups.rend();) (*group++)->cancel();
}

}  // namespace grapevine
