#include "grapevine/wire/messages.hpp"

#include "grapevine/base/limits.hpp"
#include "mutations.hpp"
#include "samples.hpp"
#include "wire/codec_detail.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

using namespace grapevine;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

// Each message with the key it is signed by, its domain and how it is verified.
Result<Verified<Beacon>> verify(Beacon const*, ByteView bytes) {
  return verify_beacon(bytes, samples::run);
}
Result<Verified<Announcement>> verify(Announcement const*, ByteView bytes) {
  return verify_announcement(bytes, samples::run);
}
Result<Verified<MixOffer>> verify(MixOffer const*, ByteView bytes) {
  return verify_mix_offer(bytes, samples::run);
}
Result<Verified<MixAnswer>> verify(MixAnswer const*, ByteView bytes) {
  return verify_mix_answer(bytes, samples::run);
}
Result<Verified<LedgerEntry>> verify(LedgerEntry const*, ByteView bytes) {
  return verify_ledger_entry(bytes);
}
std::string_view domain(Beacon const*) { return "beacon"; }
std::string_view domain(Announcement const*) { return "announcement"; }
std::string_view domain(MixOffer const*) { return "mix-offer"; }
std::string_view domain(MixAnswer const*) { return "mix-answer"; }
std::string_view domain(LedgerEntry const*) { return "ledger"; }

// Signs whatever it is given, as a hostile peer would.
template <class T>
auto sent(T const& value) {
  return verify(&value, sign_envelope(domain(&value), codec::encode_payload(value), key_a));
}

// The sample with one change: accepted or not.
template <class T, class Change>
bool accepts(T value, Change change) {
  change(value);
  return sent(value).has_value();
}
template <class Change>
bool accepts_contribution(Change change) {
  auto value = samples::contribution();
  change(value);
  return sent(Announcement(value)).has_value();
}
template <class Change>
bool accepts_result(Change change) {
  auto value = samples::shard_result();
  change(value);
  return sent(Announcement(value)).has_value();
}

PeerId peer_number(std::size_t i) {
  Hash const key = sha256(encode(ChunkRequest{{}, 0, 1, i % 2 == 0}));
  auto raw = key.bytes;
  raw[0] = static_cast<std::uint8_t>(i >> 8);
  raw[1] = static_cast<std::uint8_t>(i);
  return PeerId::from_ed25519(raw);
}

// Changes the payload of a signed message and signs it again: an error or a value, never worse.
template <class T>
void survives_mutations(T const& value) {
  auto const payload = codec::encode_payload(value);
  std::size_t accepted = 0;
  for_each_mutation(payload, [&](ByteView changed) {
    auto const verified = verify(&value, sign_envelope(domain(&value), changed, key_a));
    if (!verified.has_value()) return;
    ++accepted;
    // What was accepted can be sent on.
    CHECK(sent(**verified).has_value());
  });
  CHECK(accepted > 0);
}

}  // namespace

TEST_CASE("what is signed verifies to the same value and signer") {
  auto const beacon = verify_beacon(sign_beacon(samples::beacon(), key_a), samples::run).value();
  CHECK(*beacon == samples::beacon());
  CHECK(beacon.signer() == peer_a);
  for (auto const& announcement :
       {Announcement(samples::contribution()), Announcement(samples::shard_result())})
    CHECK(*verify_announcement(sign_announcement(announcement, key_b), samples::run).value() ==
          announcement);
  CHECK(*verify_mix_offer(sign_mix_offer(samples::mix_offer(), key_a), samples::run).value() ==
        samples::mix_offer());
  CHECK(*verify_mix_answer(sign_mix_answer(samples::mix_answer(), key_b), samples::run).value() ==
        samples::mix_answer());
  CHECK(*verify_ledger_entry(sign_ledger_entry(samples::ledger_entry(), key_a)).value() ==
        samples::ledger_entry());
}

TEST_CASE("empty values go both ways") {
  Beacon beacon;
  CHECK(*sent(beacon).error().detail().begin() == 'b');  // of another run than the samples'
  beacon.run = samples::run;
  CHECK(**sent(beacon) == beacon);
  CHECK(**sent(LedgerEntry{}) == LedgerEntry{});
}

TEST_CASE("numbers of every size go both ways") {
  CHECK(rc::check("beacons", [](std::uint64_t sequence, std::uint32_t protocol, float loss) {
    RC_PRE(std::isfinite(loss));
    auto beacon = samples::beacon();
    beacon.sequence = sequence;
    beacon.protocol = protocol;
    beacon.loss = loss;
    beacon.round = sequence & (limits::rounds_max - 1);
    RC_ASSERT(**sent(beacon) == beacon);
  }));
  CHECK(rc::check("contributions", [](std::uint64_t any, std::uint8_t shards) {
    auto contribution = samples::contribution();
    contribution.tokens = any & (limits::round_tokens_max - 1);
    contribution.shards = samples::refs(std::to_string(any), shards % limits::shards_max + 1);
    RC_ASSERT(**sent(Announcement(contribution)) == Announcement(contribution));
  }));
}

TEST_CASE("messages of another run, kind or domain are refused") {
  auto const other = samples::hash("other");
  CHECK_FALSE(verify_beacon(sign_beacon(samples::beacon(), key_a), other).has_value());
  CHECK_FALSE(verify_announcement(sign_announcement(samples::contribution(), key_a), other));
  CHECK_FALSE(verify_mix_offer(sign_mix_offer(samples::mix_offer(), key_a), other));
  CHECK_FALSE(verify_mix_answer(sign_mix_answer(samples::mix_answer(), key_a), other));
  CHECK(
      verify_mix_answer(sign_mix_offer(samples::mix_offer(), key_a), samples::run).error().errc() ==
      Errc::bad_signature);
  // The right domain around another message.
  auto const payload = codec::encode_payload(samples::mix_offer());
  CHECK(verify_beacon(sign_envelope("beacon", payload, key_a), samples::run).error().errc() ==
        Errc::malformed);
}

TEST_CASE("a beacon keeps its rules") {
  auto const good = samples::beacon();
  auto const with_name = [&](std::string const& name) {
    return accepts(good, [&](Beacon& b) { b.name = name; });
  };
  CHECK(with_name(""));
  CHECK(with_name(std::string(limits::peer_name_max, 'x')));
  CHECK_FALSE(with_name(std::string(limits::peer_name_max + 1, 'x')));
  CHECK_FALSE(with_name("\x1b[31m"));
  CHECK_FALSE(with_name("\xff"));
  auto const with_agent = [&](std::size_t size) {
    return accepts(good, [&](Beacon& b) { b.agent.assign(size, 'x'); });
  };
  CHECK(with_agent(limits::agent_max));
  CHECK_FALSE(with_agent(limits::agent_max + 1));
  auto const with_state = [&](int state) {
    return accepts(good, [&](Beacon& b) { b.state = static_cast<PeerState>(state); });
  };
  CHECK(with_state(6));
  CHECK_FALSE(with_state(7));
  CHECK_FALSE(with_state(255));
  for (float const bad : {not_a_number, infinity, -infinity}) {
    CHECK_FALSE(accepts(good, [&](Beacon& b) { b.loss = bad; }));
    CHECK_FALSE(accepts(good, [&](Beacon& b) { b.steps_per_s = bad; }));
    CHECK_FALSE(accepts(good, [&](Beacon& b) { b.bytes_per_s = bad; }));
  }
  CHECK(accepts(good, [](Beacon& b) { b.loss = -1; }));
  CHECK_FALSE(accepts(good, [](Beacon& b) { b.steps_per_s = -1; }));
  CHECK_FALSE(accepts(good, [](Beacon& b) { b.bytes_per_s = -1; }));
  CHECK(accepts(good, [](Beacon& b) { b.round = limits::rounds_max; }));
  CHECK_FALSE(accepts(good, [](Beacon& b) { b.round = limits::rounds_max + 1; }));
  CHECK_FALSE(accepts(good, [](Beacon& b) { b.inner_step = limits::inner_steps_max + 1; }));
  CHECK_FALSE(accepts(good, [](Beacon& b) { b.inner_steps = limits::inner_steps_max + 1; }));
  CHECK_FALSE(accepts(good, [](Beacon& b) { b.tokens_total = limits::tokens_total_max + 1; }));
  auto const with_addresses = [&](std::size_t count) {
    return accepts(good, [&](Beacon& b) { b.addresses.assign(count, b.addresses[0]); });
  };
  CHECK(with_addresses(0));
  CHECK(with_addresses(limits::beacon_addresses_max));
  CHECK_FALSE(with_addresses(limits::beacon_addresses_max + 1));
  CHECK_FALSE(accepts(good, [](Beacon& b) { b.addresses.emplace_back(); }));
}

TEST_CASE("a beacon address of an unknown kind is left out, a broken one spoils the beacon") {
  auto payload = codec::encode_payload(samples::beacon());
  auto const known = unhex("047f000001060fa1");
  auto const at = std::ranges::search(payload, known).begin();
  REQUIRE(at != payload.end());
  *at = 2;  // no such code
  auto const beacon = verify_beacon(sign_envelope("beacon", payload, key_a), samples::run).value();
  CHECK(beacon->addresses == std::vector{samples::beacon().addresses[1]});
  *at = 0x35;  // /dns/… cut short
  CHECK_FALSE(verify_beacon(sign_envelope("beacon", payload, key_a), samples::run).has_value());
}

TEST_CASE("a contribution keeps its rules") {
  CHECK(accepts_contribution([](Contribution& c) { c.tokens = limits::round_tokens_max; }));
  CHECK_FALSE(
      accepts_contribution([](Contribution& c) { c.tokens = limits::round_tokens_max + 1; }));
  CHECK(accepts_contribution([](Contribution& c) { c.tokens = 0; }));
  CHECK_FALSE(accepts_contribution([](Contribution& c) { c.steps = limits::inner_steps_max + 1; }));
  // A state may be of the last round; what leads to the next one may not.
  CHECK(accepts_contribution([](Contribution& c) { c.round = limits::rounds_max - 1; }));
  CHECK_FALSE(accepts_contribution([](Contribution& c) { c.round = limits::rounds_max; }));
  CHECK_FALSE(accepts_contribution([](Contribution& c) { c.loss = not_a_number; }));
  CHECK_FALSE(accepts_contribution([](Contribution& c) { c.norm = infinity; }));
  CHECK_FALSE(accepts_contribution([](Contribution& c) { c.norm = -1; }));
  auto const with_shards = [](std::size_t count) {
    return accepts_contribution([&](Contribution& c) { c.shards = samples::refs("s", count); });
  };
  CHECK_FALSE(with_shards(0));
  CHECK(with_shards(1));
  CHECK(with_shards(limits::mix_shards_max));
  CHECK_FALSE(with_shards(limits::mix_shards_max + 1));
  CHECK(accepts_contribution([](Contribution& c) { c.shards[0].bytes = limits::blob_bytes_max; }));
  CHECK_FALSE(accepts_contribution(
      [](Contribution& c) { c.shards[0].bytes = limits::blob_bytes_max + 1; }));
}

TEST_CASE("a contribution and an offer name a probe answer or none") {
  auto const accepts_probe = [](std::optional<BlobRef> const& probe) {
    bool const contribution = accepts_contribution([&](Contribution& c) { c.probe = probe; });
    CHECK(accepts(samples::mix_offer(), [&](MixOffer& o) { o.probe = probe; }) == contribution);
    return contribution;
  };
  CHECK(accepts_probe(std::nullopt));
  CHECK(accepts_probe(BlobRef{samples::hash("probe"), limits::probe_answer_bytes_max}));
  CHECK_FALSE(accepts_probe(BlobRef{samples::hash("probe"), limits::probe_answer_bytes_max + 1}));
}

TEST_CASE("a shard result keeps its rules") {
  CHECK(accepts_result([](ShardResult& r) { r.shard = limits::mix_shards_max - 1; }));
  CHECK_FALSE(accepts_result([](ShardResult& r) { r.shard = limits::mix_shards_max; }));
  CHECK(accepts_result([](ShardResult& r) { r.round = limits::rounds_max - 1; }));
  CHECK_FALSE(accepts_result([](ShardResult& r) { r.round = limits::rounds_max; }));
  CHECK_FALSE(accepts_result([](ShardResult& r) { r.result.bytes = limits::blob_bytes_max + 1; }));
  CHECK_FALSE(
      accepts_result([](ShardResult& r) { r.inputs[1].tokens = limits::round_tokens_max + 1; }));
  CHECK_FALSE(accepts_result([](ShardResult& r) { r.inputs.clear(); }));
  CHECK(accepts_result([](ShardResult& r) { r.inputs.pop_back(); }));
  CHECK_FALSE(accepts_result([](ShardResult& r) { std::swap(r.inputs[0], r.inputs[1]); }));
  CHECK_FALSE(accepts_result([](ShardResult& r) { r.inputs[1].peer = r.inputs[0].peer; }));
  CHECK_FALSE(accepts_result([](ShardResult& r) { r.inputs[0].peer = {}; }));
  auto const with_inputs = [](std::size_t count) {
    return accepts_result([&](ShardResult& r) {
      r.inputs.clear();
      for (std::size_t i = 0; i < count; ++i)
        r.inputs.push_back({peer_number(i), samples::hash("x"), limits::round_tokens_max});
    });
  };
  CHECK(with_inputs(limits::round_peers_max));
  CHECK_FALSE(with_inputs(limits::round_peers_max + 1));
}

TEST_CASE("the largest messages fit into their caps") {
  auto beacon = samples::beacon();
  beacon.name.assign(limits::peer_name_max, 'x');
  beacon.agent.assign(limits::agent_max, 'x');
  auto const long_name = "/dns/" + std::string(limits::multiaddr_bytes_max - 3, 'x');
  beacon.addresses.assign(limits::beacon_addresses_max, Multiaddr::parse(long_name).value());
  CHECK(verify_beacon(sign_beacon(beacon, key_a), samples::run).has_value());
  LedgerEntry entry;
  for (std::size_t i = 0; i < limits::round_peers_max; ++i) {
    auto reason = std::to_string(i);
    reason.resize(limits::reason_max, 'x');
    entry.missing.push_back({peer_number(i), reason});
  }
  CHECK(verify_ledger_entry(sign_ledger_entry(entry, key_a)).has_value());
  auto offer = samples::mix_offer();
  offer.shards = samples::refs("s", limits::mix_shards_max);
  CHECK(verify_mix_offer(sign_mix_offer(offer, key_a), samples::run).has_value());
  ProbeAnswer answer;
  answer.vocab = limits::model_vocab_max;
  std::vector<float> const even(answer.vocab, -std::log(static_cast<float>(answer.vocab)));
  REQUIRE(append_row(answer, even).has_value());
  auto const repeat = [](auto& row) {
    auto const once = row;
    for (std::size_t i = 1; i < limits::probe_tokens_max; ++i)
      row.insert(row.end(), once.begin(), once.end());
  };
  repeat(answer.tokens);
  repeat(answer.log_probabilities);
  repeat(answer.rest);
  CHECK(decode_probe_answer(encode(answer)).value() == answer);
  auto state = samples::state();
  state.parameters = state.momentum = samples::refs("s", limits::shards_max);
  CHECK(decode_state(encode(state)).value() == state);
  Bytes const over(limits::signed_message_max + 1);
  CHECK(verify_beacon(over, samples::run).error().errc() == Errc::oversize);
  CHECK(verify_announcement(over, samples::run).error().errc() == Errc::oversize);
  CHECK(verify_mix_offer(over, samples::run).error().errc() == Errc::oversize);
  CHECK(verify_mix_answer(over, samples::run).error().errc() == Errc::oversize);
  CHECK(verify_ledger_entry(Bytes(limits::ledger_entry_bytes_max + 1)).error().errc() ==
        Errc::oversize);
}

TEST_CASE("mix offers and answers keep their rules") {
  auto const offer = samples::mix_offer();
  CHECK_FALSE(accepts(offer, [](MixOffer& o) { o.to = {}; }));
  CHECK(accepts(offer, [](MixOffer& o) { o.round = limits::rounds_max - 1; }));
  CHECK_FALSE(accepts(offer, [](MixOffer& o) { o.round = limits::rounds_max; }));
  CHECK_FALSE(accepts(offer, [](MixOffer& o) { o.tokens = limits::round_tokens_max + 1; }));
  CHECK_FALSE(accepts(offer, [](MixOffer& o) { o.shards.clear(); }));
  CHECK_FALSE(accepts(offer, [](MixOffer& o) { o.lane = static_cast<MixLane>(3); }));
  CHECK_FALSE(accepts(
      offer, [](MixOffer& o) { o.shards = samples::refs("s", limits::mix_shards_max + 1); }));
  auto const answer = samples::mix_answer();
  CHECK_FALSE(accepts(answer, [](MixAnswer& a) { a.verdict = static_cast<MixVerdict>(6); }));
  CHECK_FALSE(accepts(answer, [](MixAnswer& a) { a.lane = static_cast<MixLane>(3); }));
  for (int verdict = 0; verdict < 6; ++verdict)
    CHECK(accepts(answer, [&](MixAnswer& a) { a.verdict = static_cast<MixVerdict>(verdict); }));
}

TEST_CASE("a ledger entry keeps its rules") {
  auto const good = samples::ledger_entry();
  CHECK_FALSE(accepts(good, [](LedgerEntry& e) { e.mix = static_cast<MixPattern>(3); }));
  CHECK_FALSE(accepts(good, [](LedgerEntry& e) { e.lane = static_cast<MixLane>(3); }));
  CHECK(accepts(good, [](LedgerEntry& e) { e.round = limits::rounds_max - 1; }));
  CHECK_FALSE(accepts(good, [](LedgerEntry& e) { e.round = limits::rounds_max; }));
  CHECK_FALSE(accepts(good, [](LedgerEntry& e) { e.shards_missed = limits::mix_shards_max + 1; }));
  CHECK_FALSE(accepts(good, [](LedgerEntry& e) { e.inputs[0].weight = not_a_number; }));
  CHECK_FALSE(accepts(good, [](LedgerEntry& e) { e.inputs[0].weight = -0.5; }));
  CHECK_FALSE(accepts(good, [](LedgerEntry& e) { e.inputs[0].norm = infinity; }));
  CHECK_FALSE(
      accepts(good, [](LedgerEntry& e) { e.inputs[0].shards = limits::mix_shards_max + 1; }));
  CHECK_FALSE(
      accepts(good, [](LedgerEntry& e) { e.inputs[0].tokens = limits::round_tokens_max + 1; }));
  CHECK_FALSE(accepts(good, [](LedgerEntry& e) { e.inputs.push_back(e.inputs[0]); }));
  CHECK_FALSE(accepts(good, [](LedgerEntry& e) { e.missing.push_back(e.missing[0]); }));
  CHECK_FALSE(accepts(good, [](LedgerEntry& e) { e.missing[0].reason = "\n"; }));
  CHECK_FALSE(accepts(
      good, [](LedgerEntry& e) { e.missing[0].reason.assign(limits::reason_max + 1, 'x'); }));
  CHECK_FALSE(accepts(good, [](LedgerEntry& e) {
    e.missing.clear();
    for (std::size_t i = 0; i < limits::round_peers_max; ++i)
      e.missing.push_back({peer_number(i), ""});  // with the one input, one peer too many
  }));
}

TEST_CASE("a ledger entry has a distance or none") {
  auto const with_js = [](std::optional<float> js) {
    return accepts(samples::ledger_entry(), [js](LedgerEntry& e) { e.js = js; });
  };
  CHECK(with_js(std::nullopt));
  CHECK(with_js(0.0F));
  CHECK(with_js(1.0F));
  CHECK_FALSE(with_js(1.001F));
  CHECK_FALSE(with_js(-0.001F));
  CHECK_FALSE(with_js(not_a_number));
  LedgerEntry unmeasured;
  CHECK(sent(unmeasured).value()->js == std::nullopt);
  unmeasured.js = 0.0F;  // is not the same as none
  CHECK(sent(unmeasured).value()->js == 0.0F);
}

TEST_CASE("a state descriptor keeps its rules, and its name is its hash") {
  auto const good = samples::state();
  CHECK(decode_state(encode(good)).value() == good);
  CHECK(blob_ref(encode(good)).root == blob_ref(encode(samples::state())).root);
  auto const refused = [](StateDescriptor state, auto change) {
    change(state);
    return !decode_state(codec::encode_payload(state)).has_value();
  };
  CHECK(refused(good, [](StateDescriptor& s) { s.parameters.clear(); }));
  CHECK(refused(good, [](StateDescriptor& s) { s.momentum.pop_back(); }));
  CHECK(refused(good, [](StateDescriptor& s) { s.round = limits::rounds_max + 1; }));
  CHECK(refused(good, [](StateDescriptor& s) {
    s.parameters = s.momentum = samples::refs("s", limits::shards_max + 1);
  }));
  CHECK(decode_state(Bytes(limits::state_descriptor_bytes_max + 1)).error().errc() ==
        Errc::oversize);
  CHECK_FALSE(decode_state({}).has_value());
}

TEST_CASE("a probe answer keeps its rules") {
  auto const good = samples::probe_answer();
  CHECK(decode_probe_answer(encode(good)).value() == good);
  auto const refused = [](ProbeAnswer answer, auto change) {
    change(answer);
    return !decode_probe_answer(codec::encode_payload(answer)).has_value();
  };
  CHECK(refused(good, [](ProbeAnswer& a) { a.vocab = 4; }));
  CHECK(refused(good, [](ProbeAnswer& a) { a.rest.pop_back(); }));
  CHECK(refused(good, [](ProbeAnswer& a) { a.tokens[4] = 0; }));
  CHECK(refused(good, [](ProbeAnswer& a) { a.log_probabilities[0] = not_a_number; }));
  CHECK(refused(good, [](ProbeAnswer& a) { a = {}; }));
  CHECK(decode_probe_answer(Bytes(limits::probe_answer_bytes_max + 1)).error().errc() ==
        Errc::oversize);
  CHECK_FALSE(decode_probe_answer({}).has_value());
  CHECK_FALSE(decode_probe_answer(encode(samples::state())).has_value());
}

TEST_CASE("a chunk request asks for chunks that are there") {
  auto const refused = [](ChunkRequest const& request) {
    return !decode_chunk_request(codec::encode_payload(request)).has_value();
  };
  auto const blob = [](std::uint64_t bytes) { return BlobRef{samples::hash("blob"), bytes}; };
  auto const chunk = limits::blob_chunk_bytes;
  for (auto const& request :
       {samples::chunk_request(), ChunkRequest{blob(0), 0, 1, false},
        ChunkRequest{blob(0), 0, 0, true}, ChunkRequest{blob(0), 7, 1, false},
        ChunkRequest{blob(chunk), 0, 1, false}, ChunkRequest{blob(chunk + 1), 0, 2, false},
        ChunkRequest{blob(chunk + 1), 1, 1, false},
        ChunkRequest{blob(limits::blob_bytes_max), limits::blob_leaves_max - 64, 64, true}})
    CHECK(decode_chunk_request(encode(request)).value() == request);
  CHECK(refused({blob(1), 0, 0, false}));
  CHECK(refused({blob(chunk), 0, 2, false}));
  CHECK(refused({blob(chunk), 1, 1, false}));
  CHECK(refused({blob(chunk), ~0ULL, 1, false}));
  CHECK(refused({blob(0), limits::blob_leaves_max, 1, false}));
  CHECK(refused({blob(limits::blob_bytes_max), 0, limits::blob_request_chunks_max + 1, false}));
  CHECK(refused({blob(limits::blob_bytes_max + 1), 0, 1, false}));
  CHECK(decode_chunk_request(Bytes(limits::chunk_request_bytes_max + 1)).error().errc() ==
        Errc::oversize);
  CHECK_FALSE(decode_chunk_request({}).has_value());
  CHECK_FALSE(decode_chunk_request(encode(samples::chunk_response())).has_value());
}

TEST_CASE("a chunk response is an answer or a refusal, not both") {
  auto const refused = [](ChunkResponse const& response) {
    return !decode_chunk_response(codec::encode_payload(response)).has_value();
  };
  ChunkResponse largest;
  largest.leaves.resize(limits::blob_leaves_max);
  for (auto const& response : {samples::chunk_response(), ChunkResponse{},
                               ChunkResponse{ChunkStatus::busy, 500, 0, 0, {}}, largest})
    CHECK(decode_chunk_response(encode(response)).value() == response);
  CHECK(refused({static_cast<ChunkStatus>(3), 0, 0, 0, {}}));
  CHECK(refused({ChunkStatus::not_found, 0, 1, 0, {}}));
  CHECK(refused({ChunkStatus::busy, 0, 0, 0, {Hash{}}}));
  CHECK(refused({ChunkStatus::busy, limits::retry_after_ms_max + 1, 0, 0, {}}));
  CHECK(refused({ChunkStatus::ok, 0, limits::blob_request_chunks_max + 1, 0, {}}));
  CHECK(refused({ChunkStatus::not_found, 0, 0, 1, {}}));
  CHECK(refused({ChunkStatus::ok, 0, 0, limits::blob_bytes_max + 1, {}}));
  largest.leaves.emplace_back();
  CHECK(refused(largest));
  CHECK_FALSE(decode_chunk_response({}).has_value());
}

TEST_CASE("hostile payloads under a good signature are refused or are other good values") {
  survives_mutations(samples::beacon());
  survives_mutations(Announcement(samples::contribution()));
  survives_mutations(Announcement(samples::shard_result()));
  survives_mutations(samples::mix_offer());
  survives_mutations(samples::mix_answer());
  survives_mutations(samples::ledger_entry());
}

TEST_CASE("hostile unsigned messages are refused or are other good values") {
  for_each_mutation(encode(samples::chunk_request()), [](ByteView changed) {
    auto const request = decode_chunk_request(changed);
    if (request.has_value()) CHECK(decode_chunk_request(encode(*request)).value() == *request);
  });
  for_each_mutation(encode(samples::chunk_response()), [](ByteView changed) {
    auto const response = decode_chunk_response(changed);
    if (response.has_value()) CHECK(decode_chunk_response(encode(*response)).value() == *response);
  });
  for_each_mutation(encode(samples::probe_answer()), [](ByteView changed) {
    auto const answer = decode_probe_answer(changed);
    if (answer.has_value()) CHECK(decode_probe_answer(encode(*answer)).value() == *answer);
  });
  for_each_mutation(encode(samples::state()), [](ByteView changed) {
    auto const state = decode_state(changed);
    if (state.has_value()) CHECK(decode_state(encode(*state)).value() == *state);
  });
}

TEST_CASE("a blob of any length has a ref") {
  CHECK(blob_ref({}).bytes == 0);
  CHECK(blob_ref({}).root.hex() ==
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
  CHECK(blob_ref(Bytes(limits::blob_chunk_bytes)).root !=
        blob_ref(Bytes(limits::blob_chunk_bytes + 1)).root);
}

TEST_CASE("states and patterns have names") {
  CHECK(to_string(PeerState::joining) == "joining");
  CHECK(to_string(PeerState::stopping) == "stopping");
  CHECK(to_string(MixPattern::pair) == "pair");
  CHECK(to_string(MixLane::parameters) == "parameters");
}

TEST_CASE("mixings have names") {
  for (auto const& [name, mixing] : mixing_methods()) {
    CHECK(mixing_method(name).value() == mixing);
    for (auto const& other : mixing_methods())
      if (other.name != name) CHECK(other.mixing != mixing);
  }
  CHECK(mixing_method("diloco").value() == Mixing{});
  CHECK(mixing_method("gossip").error().message().find("diloco global-m1") != std::string::npos);
  Mixing const both = mixing_method("global-m1-local-m2").value();
  CHECK(both.pattern_of(MixLane::parameters) == MixPattern::global);
  CHECK(both.pattern_of(MixLane::gradients) == MixPattern::pair);
  CHECK(both.pattern_of(MixLane::joint) == MixPattern::none);
  Mixing const joint = mixing_method("joint-pairs").value();
  CHECK(joint.pattern_of(MixLane::parameters) == MixPattern::none);
  CHECK(joint.pattern_of(MixLane::joint) == MixPattern::pair);
}
