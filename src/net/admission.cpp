#include "admission_detail.hpp"

#include "grapevine/base/assert.hpp"

#include <algorithm>

namespace grapevine {
namespace {

// An honest peer is through within this even over a slow link.
constexpr Duration handshake_patience = 1s;
constexpr std::size_t rates_max = 4096;

// What one owner holds many of counts as one: whoever has an IPv6 address has the /64 around it.
IpAddress owner(IpAddress ip) {
  constexpr std::size_t prefix_bytes = 8;
  if (ip.is_v6 && !ip.is_loopback())
    std::fill(ip.bytes.begin() + prefix_bytes, ip.bytes.end(), std::uint8_t{0});
  return ip;
}

}  // namespace

Admission::Admission(bool loopback_exempt, Instant now)
    : loopback_exempt_(loopback_exempt), rate_(limits::accepts_per_s, limits::accepts_per_s, now) {}

bool Admission::exempt(IpAddress const& ip) const { return loopback_exempt_ && ip.is_loopback(); }

bool Admission::within_rate(IpAddress const& address, Instant now) {
  if (exempt(address)) return true;
  auto const ip = owner(address);
  if (rates_.size() >= rates_max)
    std::erase_if(rates_, [now](auto const& entry) { return entry.second.full(now); });
  if (rates_.size() >= rates_max && !rates_.contains(ip)) return false;
  auto const [at, added] =
      rates_.try_emplace(ip, limits::accepts_per_ip_per_s, limits::accepts_per_ip_burst, now);
  return at->second.take(now) && rate_.take(now);
}

Admission::Decision Admission::begin(std::uint64_t serial, IpAddress const& ip, Instant now) {
  if (!within_rate(ip, now)) return {};
  auto const same_ip = std::count_if(handshakes_.begin(), handshakes_.end(),
                                     [&](Handshake const& one) { return one.ip == owner(ip); });
  if (!exempt(ip) && static_cast<std::size_t>(same_ip) >= limits::handshakes_per_ip_max) return {};
  Decision decision;
  if (handshakes_.size() >= limits::handshakes_inbound_max) {
    auto const& oldest = handshakes_.front();
    if (now - oldest.since < handshake_patience) return {};
    decision.evicted = oldest.serial;
    handshakes_.pop_front();
  }
  handshakes_.push_back({serial, owner(ip), now});
  decision.admitted = true;
  return decision;
}

void Admission::finished(std::uint64_t serial) {
  std::erase_if(handshakes_, [serial](Handshake const& one) { return one.serial == serial; });
}

bool Admission::connected(IpAddress const& ip) {
  auto const at = connections_.find(owner(ip));
  auto const count = at == connections_.end() ? 0 : at->second;
  if (!exempt(ip) && count >= limits::connections_per_ip_max) return false;
  connections_[owner(ip)] = count + 1;
  return true;
}

void Admission::disconnected(IpAddress const& ip) {
  auto const at = connections_.find(owner(ip));
  ASSERT(at != connections_.end());
  if (--at->second == 0) connections_.erase(at);
}

}  // namespace grapevine
