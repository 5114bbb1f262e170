// The messages of a run, as values. Each has a schema under schemas/, an encoder that signs and a
// decoder that verifies. Decoders enforce every limit; floats must be finite. Encoders ASSERT the
// same rules, so that what we send is what others take: counts, rounds and tokens within
// base/limits.hpp, texts printable UTF-8 within their caps, lists in their order.
#pragma once

#include "grapevine/crypto/hash.hpp"
#include "grapevine/tensor/probe_answer.hpp"
#include "grapevine/wire/blob_ref.hpp"
#include "grapevine/wire/mix_pattern.hpp"
#include "grapevine/wire/multiaddr.hpp"
#include "grapevine/wire/signed.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace grapevine {

enum class PeerState : std::uint8_t {
  joining,
  syncing,
  training,
  mixing,
  paused,
  degraded,
  stopping
};
[[nodiscard]] std::string_view to_string(PeerState state);

// Topic grapevine/RUN/beacon, every few seconds and at each change: who I am, where I stand.
struct Beacon {
  Hash run;
  std::uint64_t sequence = 0;  // grows with each beacon of a peer, across restarts
  std::string name;            // for tables; at most 64 printable bytes
  std::string agent;           // "grapevine/0.1.0"
  std::uint32_t protocol = 1;
  PeerState state = PeerState::joining;
  std::uint64_t round = 0;  // the round this peer is in: its outer version
  Hash state_hash;          // of its parameters and momentum at the start of that round
  std::uint32_t inner_step = 0;
  std::uint32_t inner_steps = 0;
  float steps_per_s = 0;  // measured, 0 when unknown
  float bytes_per_s = 0;  // measured pull rate, 0 when unknown
  std::uint64_t tokens_total = 0;
  float loss = 0;
  std::vector<Multiaddr> addresses;  // at most limits::beacon_addresses_max
  bool operator==(Beacon const&) const = default;
};

// Topic grapevine/RUN/announce.
// "In round `round`, which I began with the state `base`, here is what I bring to the mix": in the
// lane of gradients my outer gradient, in that of parameters the parameters of `base`, then its
// momentum where the run mixes that too.
struct Contribution {
  Hash run;
  std::uint64_t round = 0;
  MixLane lane = MixLane::gradients;  // or parameters
  Hash base;                          // state hash at the start of the round
  std::uint64_t tokens = 0;           // its weight; 1 in the lane of parameters
  std::uint32_t steps = 0;
  float loss = 0;
  float norm = 0;                // L2 norm of the whole outer gradient
  std::vector<BlobRef> shards;   // fp32 little-endian, shard_range of the layout each
  std::optional<BlobRef> probe;  // the encoded ProbeAnswer of its model, where it has one to show
  bool operator==(Contribution const&) const = default;
};

// "As reducer of `shard` I averaged these inputs, weighted by tokens, in the order of peer ids."
struct ShardResult {
  struct Input {
    PeerId peer;
    Hash root;  // of the input's shard blob
    std::uint64_t tokens = 0;
    auto operator<=>(Input const&) const = default;
  };
  Hash run;
  std::uint64_t round = 0;
  MixLane lane = MixLane::gradients;
  Hash base;
  std::uint32_t shard = 0;
  std::vector<Input> inputs;  // strictly increasing by peer
  BlobRef result;
  bool operator==(ShardResult const&) const = default;
};

using Announcement = std::variant<Contribution, ShardResult>;

[[nodiscard]] Bytes sign_beacon(Beacon const& beacon, Identity const& signer);
// `author` as in open_envelope(). For beacons alone: nobody keeps them, while an announcement is
// named in the ledger as a proof to others, who see its envelope and no gossip.
[[nodiscard]] Result<Verified<Beacon>> verify_beacon(ByteView bytes, Hash const& run,
                                                     PeerId const* author = nullptr);
[[nodiscard]] Bytes sign_announcement(Announcement const& announcement, Identity const& signer);
[[nodiscard]] Result<Verified<Announcement>> verify_announcement(ByteView bytes, Hash const& run);

// The content behind a state hash: a small blob that lists the shards of parameters and momentum,
// so that a peer pulls only those it lacks. state_hash == blob_ref(encode(...)).root. Not signed:
// it is named by its hash.
struct StateDescriptor {
  Hash run;
  std::uint64_t round = 0;
  std::vector<BlobRef> parameters;  // z, one a shard, fp32
  std::vector<BlobRef> momentum;    // v, the same
  bool operator==(StateDescriptor const&) const = default;
};
[[nodiscard]] Bytes encode(StateDescriptor const& state);
[[nodiscard]] Result<StateDescriptor> decode_state(ByteView bytes);

// What a peer's model expects on the run's probe batch: a small blob, named in a Contribution or a
// MixOffer. Whoever holds both answers of a pair knows the distance of the two models, and both
// hold both. Decoded, it is what a model can have answered; whether it is to our batch, js_distance
// says.
[[nodiscard]] Bytes encode(ProbeAnswer const& answer);
[[nodiscard]] Result<ProbeAnswer> decode_probe_answer(ByteView bytes);

// /grapevine/1/blob: uvarint length, then the request; answered by uvarint length, the response,
// then `count` raw chunks, then the next request or the end.
struct ChunkRequest {
  BlobRef blob;
  std::uint64_t first = 0;
  std::uint32_t count = 0;  // 0 with want_leaves: only the leaves
  bool want_leaves = false;
  bool operator==(ChunkRequest const&) const = default;
};
enum class ChunkStatus : std::uint8_t { ok, not_found, busy };
struct ChunkResponse {
  ChunkStatus status = ChunkStatus::ok;
  std::uint32_t retry_after_ms = 0;  // with busy
  std::uint32_t count = 0;           // chunks that follow
  std::uint64_t bytes = 0;           // of the whole blob: a request may leave them open (0)
  std::vector<Hash> leaves;          // all of them, when asked for
  bool operator==(ChunkResponse const&) const = default;
};
[[nodiscard]] Bytes encode(ChunkRequest const& request);
[[nodiscard]] Result<ChunkRequest> decode_chunk_request(ByteView bytes);
[[nodiscard]] Bytes encode(ChunkResponse const& response);
[[nodiscard]] Result<ChunkResponse> decode_chunk_response(ByteView bytes);

// /grapevine/1/mix: a pair exchange. Signed, so that either side can prove what was agreed.
struct MixOffer {
  Hash run;
  std::uint64_t round = 0;
  MixLane lane = MixLane::joint;
  PeerId to;
  std::uint64_t tokens = 0;
  // One a shard, as the lane says: z (with v behind it where the run mixes that too), then the
  // outer gradient.
  std::vector<BlobRef> shards;
  std::optional<BlobRef> probe;  // as in Contribution
  bool operator==(MixOffer const&) const = default;
};
enum class MixVerdict : std::uint8_t { busy, other_round, refused, prepared, commit, abort };
struct MixAnswer {
  Hash run;
  std::uint64_t round = 0;
  MixLane lane = MixLane::joint;
  PeerId to;
  MixVerdict verdict = MixVerdict::refused;
  bool operator==(MixAnswer const&) const = default;
};
[[nodiscard]] Bytes sign_mix_offer(MixOffer const& offer, Identity const& signer);
[[nodiscard]] Result<Verified<MixOffer>> verify_mix_offer(ByteView bytes, Hash const& run);
[[nodiscard]] Bytes sign_mix_answer(MixAnswer const& answer, Identity const& signer);
[[nodiscard]] Result<Verified<MixAnswer>> verify_mix_answer(ByteView bytes, Hash const& run);

// One line of the ledger: what this peer merged in a round, in one lane. A chain by `previous`.
struct LedgerEntry {
  struct Input {
    PeerId peer;
    Hash contribution;  // SHA-256 of the signed announcement or offer
    std::uint64_t tokens = 0;
    double weight = 0;
    float norm = 0;
    std::uint32_t shards = 0;  // how many of its shards were used
    bool operator==(Input const&) const = default;
  };
  struct Missing {
    PeerId peer;
    std::string reason;  // at most 128 bytes
    bool operator==(Missing const&) const = default;
  };
  Hash run;
  std::uint64_t round = 0;
  MixLane lane = MixLane::gradients;
  MixPattern mix = MixPattern::global;
  Hash before;  // state hashes
  Hash after;
  std::vector<Input> inputs;
  std::vector<Missing> missing;
  std::uint32_t shards_missed = 0;
  Hash previous;            // SHA-256 of the previous signed entry, zero for the first
  std::optional<float> js;  // mean Jensen-Shannon distance to the others; absent: not measured
  bool operator==(LedgerEntry const&) const = default;
};
[[nodiscard]] Bytes sign_ledger_entry(LedgerEntry const& entry, Identity const& signer);
[[nodiscard]] Result<Verified<LedgerEntry>> verify_ledger_entry(ByteView bytes);

}  // namespace grapevine
