#include "grapevine/base/assert.hpp"
#include "sim/scheduler_detail.hpp"

#include <algorithm>

namespace grapevine::sim {

Scheduler::EventId Scheduler::at(Instant due, std::function<void()> event) {
  EventId const id{std::max(due, now_), sequence_++};
  events_.emplace(id, std::move(event));
  return id;
}

void Scheduler::add(Machine& machine, std::unique_ptr<Ready> ready) {
  ready_.push_back({&machine, std::move(ready)});
}

void Scheduler::run(Entry entry) {
  running_ = entry.machine;
  entry.ready->run();
  entry.ready.reset();
  running_ = nullptr;
}

bool Scheduler::step(Instant limit) {
  ASSERT(running_ == nullptr);
  if (!ready_.empty()) {
    std::swap(ready_[random_.below(ready_.size())], ready_.back());
    auto entry = std::move(ready_.back());
    ready_.pop_back();
    entry.machine->note("run");
    run(std::move(entry));
    return true;
  }
  if (events_.empty() || events_.begin()->first.first > limit) {
    now_ = std::max(now_, limit);
    return false;
  }
  auto const next = events_.begin();
  auto const event = std::move(next->second);
  now_ = next->first.first;
  events_.erase(next);
  event();
  return true;
}

void Scheduler::drain(Machine& machine) {
  ASSERT(running_ == nullptr);
  for (;;) {
    auto const next = std::ranges::find(ready_, &machine, &Entry::machine);
    if (next == ready_.end()) return;
    auto entry = std::move(*next);
    ready_.erase(next);
    run(std::move(entry));
  }
}

Executor Machine::executor() { return ShuffleExecutor(*this); }

void Machine::note(std::string_view kind, std::uint64_t number, std::uint64_t content) {
  if (!off) scheduler_.trace().note({scheduler_.now(), index_, kind, number, content});
}

}  // namespace grapevine::sim
