// A gossip message as its receiver sees it, and what the receiver thinks of it. Values; any thread.
#pragma once

#include "grapevine/base/bytes.hpp"
#include "grapevine/wire/peer_id.hpp"

#include <cstdint>
#include <string>

namespace grapevine {

struct GossipMessage {
  std::string topic;
  PeerId from;  // the author; the signature was checked
  std::uint64_t seqno = 0;
  Bytes data;
  PeerId via;  // who handed it to us
};

// accept: deliver and forward. ignore: neither, no blame. reject: neither, counts against the
// sender.
enum class Verdict : std::uint8_t { accept, ignore, reject };

}  // namespace grapevine
