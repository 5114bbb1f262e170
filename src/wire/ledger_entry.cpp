#include "flat_detail.hpp"
#include "grapevine/wire/messages.hpp"
#include "grapevine_schemas/ledger_generated.h"
#include "policy_detail.hpp"
#include "verified_detail.hpp"

namespace grapevine {
namespace {

constexpr MessageKind kind = {"ledger", limits::ledger_entry_bytes_max};

Result<> check(LedgerEntry::Input const& input) {
  TRY(policy::at_most("ledger tokens", input.tokens, limits::round_tokens_max));
  TRY(policy::amount("ledger weight", input.weight));
  TRY(policy::amount("ledger norm", input.norm));
  return policy::at_most("ledger shards", input.shards, limits::mix_shards_max);
}

Result<> check_entry(LedgerEntry const& entry) {
  TRY(policy::round("ledger", entry.round));
  TRY(policy::known("ledger lane", entry.lane, MixLane::joint));
  TRY(policy::known("ledger mix", entry.mix, MixPattern::global));
  TRY(policy::at_most("ledger peers", entry.inputs.size() + entry.missing.size(),
                      limits::round_peers_max));
  TRY(policy::ordered_by_peer("ledger inputs", entry.inputs));
  TRY(policy::ordered_by_peer("ledger missing", entry.missing));
  for (auto const& input : entry.inputs) {
    TRY(check(input));
  }
  for (auto const& missing : entry.missing) {
    TRY(policy::text("ledger reason", missing.reason, limits::reason_max));
  }
  TRY(policy::amount("ledger js", entry.js.value_or(0)));
  TRY(policy::require(entry.js.value_or(0) <= 1, "ledger js above 1"));
  return policy::at_most("ledger shards missed", entry.shards_missed, limits::mix_shards_max);
}

auto encode_inputs(flat::Builder& builder, LedgerEntry const& entry) {
  std::vector<flatbuffers::Offset<schema::LedgerInput>> listed;
  for (auto const& input : entry.inputs) {
    auto const peer = flat::from(builder, input.peer);
    auto const contribution = flat::from(input.contribution);
    schema::LedgerInputBuilder table(builder);
    table.add_peer(peer);
    table.add_contribution(&contribution);
    table.add_tokens(input.tokens);
    table.add_weight(input.weight);
    table.add_norm(input.norm);
    table.add_shards(input.shards);
    listed.push_back(table.Finish());
  }
  return builder.CreateVector(listed);
}

auto encode_missing(flat::Builder& builder, LedgerEntry const& entry) {
  std::vector<flatbuffers::Offset<schema::LedgerMissing>> listed;
  for (auto const& missing : entry.missing) {
    auto const peer = flat::from(builder, missing.peer);
    auto const reason = builder.CreateSharedString(missing.reason);
    listed.push_back(schema::CreateLedgerMissing(builder, peer, reason));
  }
  return builder.CreateVector(listed);
}

Result<std::vector<LedgerEntry::Input>> decode_inputs(schema::LedgerEntry const& entry) {
  std::vector<LedgerEntry::Input> inputs;
  if (entry.inputs() == nullptr) return inputs;
  TRY(policy::at_most("ledger inputs", entry.inputs()->size(), limits::round_peers_max));
  for (auto const* const table : *entry.inputs()) {
    TRY_ASSIGN(auto const peer, flat::peer(*table->peer()));
    inputs.push_back({peer, flat::hash(*table->contribution()), table->tokens(), table->weight(),
                      table->norm(), table->shards()});
  }
  return inputs;
}

Result<std::vector<LedgerEntry::Missing>> decode_missing(schema::LedgerEntry const& entry) {
  std::vector<LedgerEntry::Missing> missing;
  if (entry.missing() == nullptr) return missing;
  TRY(policy::at_most("ledger missing", entry.missing()->size(), limits::round_peers_max));
  for (auto const* const table : *entry.missing()) {
    TRY_ASSIGN(auto const peer, flat::peer(*table->peer()));
    missing.push_back({peer, flat::text(*table->reason())});
  }
  return missing;
}

Result<LedgerEntry> decode_payload(ByteView payload) {
  TRY_ASSIGN(auto const* const table,
             flat::verified_root<schema::LedgerEntry>(payload, schema::LedgerEntryIdentifier()));
  LedgerEntry entry;
  entry.run = flat::hash(*table->run());
  entry.round = table->round();
  entry.lane = static_cast<MixLane>(table->lane());
  entry.mix = static_cast<MixPattern>(table->mix());
  entry.before = flat::hash(*table->before());
  entry.after = flat::hash(*table->after());
  TRY_ASSIGN(entry.inputs, decode_inputs(*table));
  TRY_ASSIGN(entry.missing, decode_missing(*table));
  entry.shards_missed = table->shards_missed();
  entry.previous = flat::hash(*table->previous());
  if (auto const js = table->js()) entry.js = *js;
  TRY(check_entry(entry));
  return entry;
}

}  // namespace

Bytes codec::encode_payload(LedgerEntry const& entry) {
  flat::Builder builder;
  auto const inputs = encode_inputs(builder, entry);
  auto const missing = encode_missing(builder, entry);
  auto const run = flat::from(entry.run);
  auto const before = flat::from(entry.before);
  auto const after = flat::from(entry.after);
  auto const previous = flat::from(entry.previous);
  schema::LedgerEntryBuilder table(builder);
  table.add_run(&run);
  table.add_round(entry.round);
  table.add_mix(static_cast<schema::MixPattern>(entry.mix));
  table.add_before(&before);
  table.add_after(&after);
  table.add_inputs(inputs);
  table.add_missing(missing);
  table.add_shards_missed(entry.shards_missed);
  table.add_previous(&previous);
  table.add_lane(static_cast<schema::MixLane>(entry.lane));
  if (entry.js) table.add_js(*entry.js);
  return flat::finish(builder, table.Finish(), schema::LedgerEntryIdentifier());
}

Bytes sign_ledger_entry(LedgerEntry const& entry, Identity const& signer) {
  return sign_message(kind, entry, signer, check_entry);
}

Result<Verified<LedgerEntry>> verify_ledger_entry(ByteView bytes) {
  return verify_message<LedgerEntry>(kind, bytes, decode_payload);
}

}  // namespace grapevine
