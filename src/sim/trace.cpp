#include "grapevine/sim/trace.hpp"

#include <fmt/core.h>

namespace grapevine::sim {
namespace {

constexpr std::size_t recent_events_max = 200;

std::uint64_t add_number(std::uint64_t number, std::uint64_t hash) {
  Bytes bytes;
  append_be(bytes, number);
  return fnv1a(bytes, hash);
}

}  // namespace

std::uint64_t fnv1a(ByteView bytes, std::uint64_t hash) {
  for (auto const byte : bytes) hash = (hash ^ byte) * 0x100000001b3ULL;
  return hash;
}

std::string TraceEvent::text() const {
  return fmt::format("{:.9f} node {} {} {} {:016x}", to_seconds(at.time_since_epoch()), node, kind,
                     number, content);
}

void Trace::note(TraceEvent event) {
  hash_ = add_number(static_cast<std::uint64_t>(event.at.time_since_epoch().count()), hash_);
  hash_ = add_number(event.node, hash_);
  hash_ = fnv1a(as_bytes(event.kind), hash_);
  hash_ = add_number(event.number, hash_);
  hash_ = add_number(event.content, hash_);
  ++count_;
  if (listener_) listener_(event);
  recent_.push_back(event);
  if (recent_.size() > recent_events_max) recent_.pop_front();
}

}  // namespace grapevine::sim
