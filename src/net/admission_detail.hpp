// Admission: which inbound connections may begin, and which may stay. Plain bookkeeping over
// limits.hpp with the time passed in; owned by the Host. Handshake slots that are full give way to
// newcomers by ending the oldest handshake that has been at it for a while, so that silent
// connections cannot keep everybody out. An IPv6 address counts as the /64 it is of.
#pragma once

#include "grapevine/base/endpoint.hpp"
#include "grapevine/base/limits.hpp"
#include "grapevine/base/token_bucket.hpp"

#include <list>
#include <map>
#include <optional>

namespace grapevine {

class Admission {
 public:
  Admission(bool loopback_exempt, Instant now);

  // A handshake in progress, identified by `serial`.
  struct Handshake {
    std::uint64_t serial = 0;
    IpAddress ip;
    Instant since{};
  };
  struct Decision {
    bool admitted = false;
    std::optional<std::uint64_t> evicted;  // end this handshake; it is forgotten here
  };
  [[nodiscard]] Decision begin(std::uint64_t serial, IpAddress const& ip, Instant now);
  void finished(std::uint64_t serial);

  // Connections that are up; a loopback address is never refused when exempt.
  [[nodiscard]] bool connected(IpAddress const& ip);
  void disconnected(IpAddress const& ip);

  [[nodiscard]] std::size_t handshakes() const { return handshakes_.size(); }

 private:
  [[nodiscard]] bool exempt(IpAddress const& ip) const;
  [[nodiscard]] bool within_rate(IpAddress const& ip, Instant now);

  bool loopback_exempt_;
  std::list<Handshake> handshakes_;  // oldest first
  std::map<IpAddress, std::size_t> connections_;
  std::map<IpAddress, TokenBucket> rates_;
  TokenBucket rate_;
};

}  // namespace grapevine
