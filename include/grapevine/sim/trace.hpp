// Trace: what happened in a simulated world, as one running hash and the last events in clear. Two
// runs of one seed have one hash, whatever the compiler. Owned by the World.
#pragma once

#include "grapevine/base/bytes.hpp"
#include "grapevine/base/time.hpp"

#include <deque>
#include <functional>
#include <string>

namespace grapevine::sim {

struct TraceEvent {
  Instant at{};
  std::uint32_t node = 0;
  std::string_view kind;      // a literal
  std::uint64_t number = 0;   // bytes, a port, a count: what the kind says
  std::uint64_t content = 0;  // hash of the bytes, when there are some

  [[nodiscard]] std::string text() const;
};

class Trace {
 public:
  void note(TraceEvent event);
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // The last events, oldest first: what a failing run prints.
  [[nodiscard]] std::deque<TraceEvent> const& recent() const { return recent_; }
  // Called for every event: to log them, or to find the first that differs.
  void on_event(std::function<void(TraceEvent const&)> listener) {
    listener_ = std::move(listener);
  }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
  std::uint64_t count_ = 0;
  std::deque<TraceEvent> recent_;
  std::function<void(TraceEvent const&)> listener_;
};

[[nodiscard]] std::uint64_t fnv1a(ByteView bytes, std::uint64_t from = 0xcbf29ce484222325ULL);

}  // namespace grapevine::sim
