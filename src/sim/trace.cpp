#include "grapevine/sim/trace.hpp"

#include <fmt/core.h>

namespace grapevine::sim {
namespace {

constexpr std::size_t recent_events_max = 200;

std::uint64_t add_byte(std::uint64_t byte, std::uint64_t hash) {
  return (hash ^ byte) * 0x100000001b3ULL;
}

// Its bytes, big-endian, without a buffer: this is done a million times a run.
std::uint64_t add_number(std::uint64_t number, std::uint64_t hash) {
  for (int shift = 56; shift >= 0; shift -= 8) hash = add_byte((number >> shift) & 0xff, hash);
  return hash;
}

}  // namespace

std::uint64_t fnv1a(ByteView bytes, std::uint64_t hash) {
  for (auto const byte : bytes) hash = add_byte(byte, hash);
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
