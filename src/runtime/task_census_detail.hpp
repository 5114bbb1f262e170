// The groups of one execution context: a service of it, as Asio calls what lives with a context.
#pragma once

#include "grapevine/runtime/task_census.hpp"

#include <boost/asio/execution_context.hpp>

#include <list>

namespace grapevine {

class TaskCensus::Groups final : public boost::asio::execution_context::service {
 public:
  using key_type = Groups;
  static inline boost::asio::execution_context::id id;
  explicit Groups(boost::asio::execution_context& context) : service(context) {}
  static Groups& of(Executor const& executor);

  std::list<TaskGroup*> groups;

 private:
  void shutdown() override {}
};

}  // namespace grapevine
