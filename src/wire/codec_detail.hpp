// The payload encoders, without the checks that the public ones make: what a peer that keeps no
// rules could send. Deterministic: the same value gives the same bytes.
#pragma once

#include "grapevine/wire/manifest.hpp"
#include "grapevine/wire/messages.hpp"

namespace grapevine::codec {

[[nodiscard]] Bytes encode_payload(Beacon const& beacon);
[[nodiscard]] Bytes encode_payload(Announcement const& announcement);
[[nodiscard]] Bytes encode_payload(MixOffer const& offer);
[[nodiscard]] Bytes encode_payload(MixAnswer const& answer);
[[nodiscard]] Bytes encode_payload(LedgerEntry const& entry);
[[nodiscard]] Bytes encode_payload(RunManifest const& manifest);
[[nodiscard]] Bytes encode_payload(ChunkRequest const& request);
[[nodiscard]] Bytes encode_payload(ChunkResponse const& response);
[[nodiscard]] Bytes encode_payload(StateDescriptor const& state);
[[nodiscard]] Bytes encode_payload(ProbeAnswer const& answer);

}  // namespace grapevine::codec
