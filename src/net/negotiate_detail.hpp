// multistream-select over a byte stream, both sides. Reads exactly the bytes of the negotiation, so
// whatever follows them is still in the stream. Callers set the deadline around it.
#pragma once

#include "grapevine/p2p/multistream.hpp"
#include "grapevine/runtime/network.hpp"

namespace grapevine {

// The protocol agreed on; the stream must outlive the call.
Awaitable<Result<std::string>> negotiate(ByteStream& stream, multistream::Negotiation machine);

}  // namespace grapevine
