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
  TRY(policy::require(!message.to.empty(), "mix message to nobody"));
  return policy::at_most("mix tokens", message.tokens, limits::round_tokens_max);
}

template <class Message>
Result<> check_blobs(Message const& message) {
  TRY(policy::shards("mix parameters", message.parameters));
  TRY(policy::shards("mix gradients", message.gradients));
  return policy::require(message.parameters.size() == message.gradients.size(),
                         "mix message with as many parameters as gradients");
}

Result<> check_offer(MixOffer const& offer) {
  TRY(check_common(offer));
  return check_blobs(offer);
}

Result<> check_answer(MixAnswer const& answer) {
  TRY(check_common(answer));
  TRY(policy::known("mix verdict", answer.verdict, MixVerdict::abort));
  if (answer.verdict == MixVerdict::accept) return check_blobs(answer);
  return policy::require(answer.parameters.empty() && answer.gradients.empty(),
                         "mix answer with blobs that accepts nothing");
}

struct Fields {
  schema::Hash run;
  flatbuffers::Offset<flat::ByteVector> to;
  flatbuffers::Offset<flat::RefVector> parameters;
  flatbuffers::Offset<flat::RefVector> gradients;
};

template <class Message>
Fields encode_fields(flat::Builder& builder, Message const& message) {
  Fields fields;
  fields.run = flat::from(message.run);
  fields.to = flat::from(builder, message.to);
  fields.parameters = flat::from(builder, message.parameters);
  fields.gradients = flat::from(builder, message.gradients);
  return fields;
}

template <class Table, class Message>
void add_common(Table& table, Fields const& fields, Message const& message) {
  table.add_run(&fields.run);
  table.add_round(message.round);
  table.add_to(fields.to);
  table.add_tokens(message.tokens);
  table.add_parameters(fields.parameters);
  table.add_gradients(fields.gradients);
}

template <class Message, class Table>
Result<Message> decode_common(Table const& table) {
  Message message;
  message.run = flat::hash(*table.run());
  message.round = table.round();
  message.tokens = table.tokens();
  TRY_ASSIGN(message.to, flat::peer(*table.to()));
  TRY_ASSIGN(message.parameters, flat::refs(table.parameters()));
  TRY_ASSIGN(message.gradients, flat::refs(table.gradients()));
  return message;
}

Result<MixOffer> decode_offer(ByteView payload) {
  TRY_ASSIGN(auto const* const table,
             flat::verified_root<schema::MixOffer>(payload, offer_identifier));
  TRY_ASSIGN(auto offer, decode_common<MixOffer>(*table));
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
  auto const fields = encode_fields(builder, offer);
  schema::MixOfferBuilder table(builder);
  add_common(table, fields, offer);
  return flat::finish(builder, table.Finish(), offer_identifier);
}

Bytes codec::encode_payload(MixAnswer const& answer) {
  flat::Builder builder;
  auto const fields = encode_fields(builder, answer);
  schema::MixAnswerBuilder table(builder);
  add_common(table, fields, answer);
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
