#include "golden.hpp"

#include "grapevine_schemas/beacon_generated.h"
#include "samples.hpp"

#include <doctest/doctest.h>

using namespace grapevine;

TEST_CASE("every message has the bytes it always had") {
  CHECK(to_hex(sign_beacon(samples::beacon(), key_a)) == golden::beacon_hex);
  CHECK(to_hex(sign_announcement(samples::contribution(), key_a)) == golden::contribution_hex);
  CHECK(to_hex(sign_announcement(samples::shard_result(), key_b)) == golden::shard_result_hex);
  CHECK(to_hex(sign_mix_offer(samples::mix_offer(), key_a)) == golden::mix_offer_hex);
  CHECK(to_hex(sign_mix_answer(samples::mix_answer(), key_b)) == golden::mix_answer_hex);
  CHECK(to_hex(sign_ledger_entry(samples::ledger_entry(), key_a)) == golden::ledger_entry_hex);
  CHECK(to_hex(sign_manifest(samples::manifest(), key_a).bytes) == golden::manifest_hex);
  CHECK(to_hex(encode(samples::chunk_request())) == golden::chunk_request_hex);
  CHECK(to_hex(encode(samples::chunk_response())) == golden::chunk_response_hex);
  CHECK(to_hex(encode(samples::state())) == golden::state_hex);
  CHECK(to_hex(encode(samples::probe_answer())) == golden::probe_answer_hex);
}

TEST_CASE("the bytes of old mean what they always meant") {
  auto const run = samples::run;
  CHECK(*verify_beacon(unhex(golden::beacon_hex), run).value() == samples::beacon());
  CHECK(*verify_announcement(unhex(golden::contribution_hex), run).value() ==
        Announcement(samples::contribution()));
  CHECK(*verify_announcement(unhex(golden::shard_result_hex), run).value() ==
        Announcement(samples::shard_result()));
  CHECK(*verify_mix_offer(unhex(golden::mix_offer_hex), run).value() == samples::mix_offer());
  CHECK(*verify_mix_answer(unhex(golden::mix_answer_hex), run).value() == samples::mix_answer());
  CHECK(*verify_ledger_entry(unhex(golden::ledger_entry_hex)).value() == samples::ledger_entry());
  CHECK(verify_manifest(unhex(golden::manifest_hex)).value().manifest == samples::manifest());
  CHECK(decode_chunk_request(unhex(golden::chunk_request_hex)).value() == samples::chunk_request());
  CHECK(decode_chunk_response(unhex(golden::chunk_response_hex)).value() ==
        samples::chunk_response());
  CHECK(decode_state(unhex(golden::state_hex)).value() == samples::state());
  CHECK(decode_probe_answer(unhex(golden::probe_answer_hex)).value() == samples::probe_answer());
}

TEST_CASE("without the distance of models a message has the bytes it had before it was measured") {
  auto contribution = samples::contribution();
  contribution.probe.reset();
  CHECK(to_hex(sign_announcement(contribution, key_a)) == golden::contribution_without_probe_hex);
  CHECK(*verify_announcement(unhex(golden::contribution_without_probe_hex), samples::run).value() ==
        Announcement(contribution));
  auto offer = samples::mix_offer();
  offer.probe.reset();
  CHECK(to_hex(sign_mix_offer(offer, key_a)) == golden::mix_offer_without_probe_hex);
  CHECK(*verify_mix_offer(unhex(golden::mix_offer_without_probe_hex), samples::run).value() ==
        offer);
  auto entry = samples::ledger_entry();
  entry.js.reset();
  CHECK(to_hex(sign_ledger_entry(entry, key_a)) == golden::ledger_entry_without_js_hex);
  CHECK(*verify_ledger_entry(unhex(golden::ledger_entry_without_js_hex)).value() == entry);
}

TEST_CASE("fields of a later version are passed over") {
  flatbuffers::FlatBufferBuilder builder;
  auto const name = builder.CreateString("ada");
  auto const agent = builder.CreateString("grapevine/9.0.0");
  auto const later = builder.CreateString("a field of version 9");
  schema::Hash const run(flatbuffers::span<std::uint8_t const, 32>(samples::run.bytes));
  schema::BeaconBuilder table(builder);
  table.add_run(&run);
  table.add_name(name);
  table.add_agent(agent);
  table.add_state_hash(&run);
  flatbuffers::voffset_t const next_field = schema::Beacon::VT_ADDRESSES + 2;
  builder.AddOffset(next_field, later);
  builder.Finish(table.Finish(), schema::BeaconIdentifier());
  auto const payload = ByteView(builder.GetBufferPointer(), builder.GetSize());
  auto const beacon = verify_beacon(sign_envelope("beacon", payload, key_a), samples::run);
  CHECK(beacon.value()->agent == "grapevine/9.0.0");
}

TEST_CASE("a message without a required field is refused") {
  flatbuffers::FlatBufferBuilder builder;
  schema::BeaconBuilder table(builder);
  table.fbb_.Finish(flatbuffers::Offset<schema::Beacon>(builder.EndTable(table.start_)),
                    schema::BeaconIdentifier());
  auto const payload = ByteView(builder.GetBufferPointer(), builder.GetSize());
  CHECK(verify_beacon(sign_envelope("beacon", payload, key_a), samples::run).error().errc() ==
        Errc::malformed);
}
