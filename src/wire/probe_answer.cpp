#include "grapevine/tensor/probe_answer.hpp"

#include "codec_detail.hpp"
#include "flat_detail.hpp"
#include "grapevine/base/assert.hpp"
#include "grapevine/wire/messages.hpp"
#include "grapevine_schemas/probe_generated.h"
#include "policy_detail.hpp"

#include <cstring>

namespace grapevine {
namespace {

template <class T>
std::vector<T> values_of(flatbuffers::Vector<T> const& vector) {
  std::vector<T> values(vector.size());
  if (!values.empty()) std::memcpy(values.data(), vector.Data(), values.size() * sizeof(T));
  return values;
}

}  // namespace

Bytes encode(ProbeAnswer const& answer) {
  ASSERT(check(answer).has_value());
  return codec::encode_payload(answer);
}

Bytes codec::encode_payload(ProbeAnswer const& answer) {
  flat::Builder builder;
  auto const tokens = builder.CreateVector(answer.tokens);
  auto const log_probabilities = builder.CreateVector(answer.log_probabilities);
  auto const rest = builder.CreateVector(answer.rest);
  auto const table =
      schema::CreateProbeAnswer(builder, answer.vocab, tokens, log_probabilities, rest);
  return flat::finish(builder, table, schema::ProbeAnswerIdentifier());
}

Result<ProbeAnswer> decode_probe_answer(ByteView bytes) {
  TRY_ASSIGN(auto const aligned, flat::aligned_copy(bytes, limits::probe_answer_bytes_max));
  TRY_ASSIGN(auto const* const table,
             flat::verified_root<schema::ProbeAnswer>(aligned, schema::ProbeAnswerIdentifier()));
  ProbeAnswer answer;
  answer.vocab = table->vocab();
  answer.tokens = values_of(*table->tokens());
  answer.log_probabilities = values_of(*table->log_probabilities());
  answer.rest = values_of(*table->rest());
  TRY(check(answer));
  return answer;
}

}  // namespace grapevine
