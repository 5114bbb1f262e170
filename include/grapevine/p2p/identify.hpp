// The identify message: what a peer says about itself, as protobuf. Pure values. Reading merges
// several messages into one, drops what it does not understand and holds every limit; writing
// always fits one message that rust and js read whole. The caller compares the key with the one of
// the connection. Source: libp2p specs, identify/README.md.
#pragma once

#include "grapevine/base/bytes.hpp"
#include "grapevine/wire/multiaddr.hpp"

#include <optional>
#include <string>
#include <vector>

namespace grapevine::identify {

inline constexpr std::string_view protocol = "/ipfs/id/1.0.0";
inline constexpr std::string_view push_protocol = "/ipfs/id/push/1.0.0";

struct Message {
  Bytes public_key;  // protobuf, empty when absent
  std::vector<Multiaddr> listen;
  std::optional<Multiaddr> observed;
  std::vector<std::string> protocols;
  std::string protocol_version;
  std::string agent_version;
  bool operator==(Message const&) const = default;
};

// At most limits::identify_sent_max bytes with its length prefix: what does not fit is left out,
// addresses first.
[[nodiscard]] Bytes encode(Message const& message);
// Adds one received message: lists grow up to their limits, single values are replaced.
[[nodiscard]] Result<> merge(Message& into, ByteView message);

}  // namespace grapevine::identify
