#include "codec_detail.hpp"
#include "flat_detail.hpp"
#include "grapevine/base/assert.hpp"
#include "grapevine/wire/messages.hpp"
#include "grapevine_schemas/state_generated.h"
#include "policy_detail.hpp"

namespace grapevine {
namespace {

Result<> check(StateDescriptor const& state) {
  TRY(policy::at_most("state round", state.round, limits::rounds_max));
  TRY(policy::shards("state parameters", state.parameters, limits::shards_max));
  TRY(policy::shards("state momentum", state.momentum, limits::shards_max));
  return policy::require(state.parameters.size() == state.momentum.size(),
                         "state with other shards of parameters than of momentum");
}

}  // namespace

Bytes encode(StateDescriptor const& state) {
  ASSERT(check(state).has_value());
  return codec::encode_payload(state);
}

Bytes codec::encode_payload(StateDescriptor const& state) {
  flat::Builder builder;
  auto const parameters = flat::from(builder, state.parameters);
  auto const momentum = flat::from(builder, state.momentum);
  auto const run = flat::from(state.run);
  schema::StateDescriptorBuilder table(builder);
  table.add_run(&run);
  table.add_round(state.round);
  table.add_parameters(parameters);
  table.add_momentum(momentum);
  return flat::finish(builder, table.Finish(), schema::StateDescriptorIdentifier());
}

Result<StateDescriptor> decode_state(ByteView bytes) {
  TRY_ASSIGN(auto const aligned, flat::aligned_copy(bytes, limits::state_descriptor_bytes_max));
  TRY_ASSIGN(auto const* const table, flat::verified_root<schema::StateDescriptor>(
                                          aligned, schema::StateDescriptorIdentifier()));
  StateDescriptor state;
  state.run = flat::hash(*table->run());
  state.round = table->round();
  TRY_ASSIGN(state.parameters, flat::refs(table->parameters()));
  TRY_ASSIGN(state.momentum, flat::refs(table->momentum()));
  TRY(check(state));
  return state;
}

}  // namespace grapevine
