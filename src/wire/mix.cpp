#include "flat_detail.hpp"
#include "grapevine/wire/messages.hpp"
#include "grapevine_schemas/mix_generated.h"
#include "policy_detail.hpp"
#include "verified_detail.hpp"

namespace grapevine {
namespace {

constexpr MessageKind offer_kind = {"mix-offer", limits::signed_message_max};
constexpr MessageKind answer_kind = {"mix-answer", limits::signed_message_max};
constexpr char const* offer_identifier = "GVMO";
constexpr char const* answer_identifier = "GVMA";

// What offers and answers have in common, checked, written and read by the same code.
template <class Message>
Result<> check_common(Message const& message) {
  TRY(policy::round("mix", message.round));
  TRY(policy::known("mix lane", message.lane, MixLane::joint));
  return policy::require(!message.to.empty(), "mix message to nobody");
}

Result<> check_offer(MixOffer const& offer) {
  TRY(check_common(offer));
  TRY(policy::at_most("mix tokens", offer.tokens, limits::round_tokens_max));
  TRY(policy::shards("mix shards", offer.shards, limits::mix_shards_max));
  return policy::probe("mix probe", offer.probe);
}

Result<> check_answer(MixAnswer const& answer) {
  TRY(check_common(answer));
  return policy::known("mix verdict", answer.verdict, MixVerdict::abort);
}

template <class Table, class Message>
void add_common(Table& table, schema::Hash const& run, flatbuffers::Offset<flat::ByteVector> to,
                Message const& message) {
  table.add_run(&run);
  table.add_round(message.round);
  table.add_lane(static_cast<schema::MixLane>(message.lane));
  table.add_to(to);
}

template <class Message, class Table>
Result<Message> decode_common(Table const& table) {
  Message message;
  message.run = flat::hash(*table.run());
  message.round = table.round();
  message.lane = static_cast<MixLane>(table.lane());
  TRY_ASSIGN(message.to, flat::peer(*table.to()));
  return message;
}

Result<MixOffer> decode_offer(ByteView payload) {
  TRY_ASSIGN(auto const* const table,
             flat::verified_root<schema::MixOffer>(payload, offer_identifier));
  TRY_ASSIGN(auto offer, decode_common<MixOffer>(*table));
  offer.tokens = table->tokens();
  TRY_ASSIGN(offer.shards, flat::refs(table->shards()));
  offer.probe = flat::ref(table->probe());
  TRY(check_offer(offer));
  return offer;
}

Result<MixAnswer> decode_answer(ByteView payload) {
  TRY_ASSIGN(auto const* const table,
             flat::verified_root<schema::MixAnswer>(payload, answer_identifier));
  TRY_ASSIGN(auto answer, decode_common<MixAnswer>(*table));
  answer.verdict = static_cast<MixVerdict>(table->verdict());
  TRY(check_answer(answer));
  return answer;
}

}  // namespace

Bytes codec::encode_payload(MixOffer const& offer) {
  flat::Builder builder;
  auto const run = flat::from(offer.run);
  auto const to = flat::from(builder, offer.to);
  auto const shards = flat::from(builder, offer.shards);
  auto const probe = flat::from(offer.probe.value_or(BlobRef{}));
  schema::MixOfferBuilder table(builder);
  add_common(table, run, to, offer);
  table.add_tokens(offer.tokens);
  table.add_shards(shards);
  if (offer.probe) table.add_probe(&probe);
  return flat::finish(builder, table.Finish(), offer_identifier);
}

Bytes codec::encode_payload(MixAnswer const& answer) {
  flat::Builder builder;
  auto const run = flat::from(answer.run);
  auto const to = flat::from(builder, answer.to);
  schema::MixAnswerBuilder table(builder);
  add_common(table, run, to, answer);
  table.add_verdict(static_cast<schema::MixVerdict>(answer.verdict));
  return flat::finish(builder, table.Finish(), answer_identifier);
}

Bytes sign_mix_offer(MixOffer const& offer, Identity const& signer) {
  return sign_message(offer_kind, offer, signer, check_offer);
}

Result<Verified<MixOffer>> verify_mix_offer(ByteView bytes, Hash const& run) {
  TRY_ASSIGN(auto offer, verify_message<MixOffer>(offer_kind, bytes, decode_offer));
  TRY(policy::require(offer->run == run, "mix offer of another run"));
  return offer;
}

Bytes sign_mix_answer(MixAnswer const& answer, Identity const& signer) {
  return sign_message(answer_kind, answer, signer, check_answer);
}

Result<Verified<MixAnswer>> verify_mix_answer(ByteView bytes, Hash const& run) {
  TRY_ASSIGN(auto answer, verify_message<MixAnswer>(answer_kind, bytes, decode_answer));
  TRY(policy::require(answer->run == run, "mix answer of another run"));
  return answer;
}

}  // namespace grapevine
