#include "flat_detail.hpp"
#include "grapevine/wire/messages.hpp"
#include "grapevine_schemas/beacon_generated.h"
#include "policy_detail.hpp"
#include "verified_detail.hpp"

namespace grapevine {
namespace {

constexpr MessageKind kind = {"beacon", limits::signed_message_max};

Result<> check_beacon(Beacon const& beacon) {
  TRY(policy::text("beacon name", beacon.name, limits::peer_name_max));
  TRY(policy::text("beacon agent", beacon.agent, limits::agent_max));
  TRY(policy::known("beacon state", beacon.state, PeerState::stopping));
  TRY(policy::at_most("beacon round", beacon.round, limits::rounds_max));
  TRY(policy::at_most("beacon inner step", beacon.inner_step, limits::inner_steps_max));
  TRY(policy::at_most("beacon inner steps", beacon.inner_steps, limits::inner_steps_max));
  TRY(policy::amount("beacon step rate", beacon.steps_per_s));
  TRY(policy::amount("beacon byte rate", beacon.bytes_per_s));
  TRY(policy::at_most("beacon tokens", beacon.tokens_total, limits::tokens_total_max));
  TRY(policy::finite("beacon loss", beacon.loss));
  TRY(policy::at_most("beacon addresses", beacon.addresses.size(), limits::beacon_addresses_max));
  for (auto const& address : beacon.addresses) {
    TRY(policy::require(!address.empty(), "empty beacon address"));
  }
  return {};
}

// An address of a kind we do not know is left out; the rest is of use.
Result<std::vector<Multiaddr>> decode_addresses(schema::Beacon const& table) {
  std::vector<Multiaddr> addresses;
  if (table.addresses() == nullptr) return addresses;
  TRY(policy::at_most("beacon addresses", table.addresses()->size(), limits::beacon_addresses_max));
  for (auto const* const listed : *table.addresses()) {
    auto address = Multiaddr::from_bytes(flat::view(*listed->multiaddr()));
    if (address.has_value()) {
      addresses.push_back(*std::move(address));
    } else if (address.error().errc() != Errc::unsupported) {
      return tl::unexpected(std::move(address).error());
    }
  }
  return addresses;
}

Result<Beacon> decode_payload(ByteView payload) {
  TRY_ASSIGN(auto const* const table,
             flat::verified_root<schema::Beacon>(payload, schema::BeaconIdentifier()));
  Beacon beacon;
  beacon.run = flat::hash(*table->run());
  beacon.sequence = table->sequence();
  beacon.name = flat::text(*table->name());
  beacon.agent = flat::text(*table->agent());
  beacon.protocol = table->protocol();
  beacon.state = static_cast<PeerState>(table->state());
  beacon.round = table->round();
  beacon.state_hash = flat::hash(*table->state_hash());
  beacon.inner_step = table->inner_step();
  beacon.inner_steps = table->inner_steps();
  beacon.steps_per_s = table->steps_per_s();
  beacon.bytes_per_s = table->bytes_per_s();
  beacon.tokens_total = table->tokens_total();
  beacon.loss = table->loss();
  TRY_ASSIGN(beacon.addresses, decode_addresses(*table));
  TRY(check_beacon(beacon));
  return beacon;
}

}  // namespace

Bytes codec::encode_payload(Beacon const& beacon) {
  flat::Builder builder;
  std::vector<flatbuffers::Offset<schema::Address>> listed;
  for (auto const& address : beacon.addresses)
    listed.push_back(schema::CreateAddress(builder, flat::from(builder, address.bytes())));
  auto const addresses = builder.CreateVector(listed);
  auto const agent = builder.CreateString(beacon.agent);
  auto const name = builder.CreateString(beacon.name);
  auto const run = flat::from(beacon.run);
  auto const state_hash = flat::from(beacon.state_hash);
  schema::BeaconBuilder table(builder);
  table.add_run(&run);
  table.add_sequence(beacon.sequence);
  table.add_name(name);
  table.add_agent(agent);
  table.add_protocol(beacon.protocol);
  table.add_state(static_cast<schema::PeerState>(beacon.state));
  table.add_round(beacon.round);
  table.add_state_hash(&state_hash);
  table.add_inner_step(beacon.inner_step);
  table.add_inner_steps(beacon.inner_steps);
  table.add_steps_per_s(beacon.steps_per_s);
  table.add_bytes_per_s(beacon.bytes_per_s);
  table.add_tokens_total(beacon.tokens_total);
  table.add_loss(beacon.loss);
  table.add_addresses(addresses);
  return flat::finish(builder, table.Finish(), schema::BeaconIdentifier());
}

std::string_view to_string(PeerState state) {
  switch (state) {
    case PeerState::joining:
      return "joining";
    case PeerState::syncing:
      return "syncing";
    case PeerState::training:
      return "training";
    case PeerState::mixing:
      return "mixing";
    case PeerState::paused:
      return "paused";
    case PeerState::degraded:
      return "degraded";
    case PeerState::stopping:
      return "stopping";
  }
  return "unknown";
}

Bytes sign_beacon(Beacon const& beacon, Identity const& signer) {
  return sign_message(kind, beacon, signer, check_beacon);
}

Result<Verified<Beacon>> verify_beacon(ByteView bytes, Hash const& run, PeerId const* author) {
  TRY_ASSIGN(auto beacon, verify_message<Beacon>(kind, bytes, decode_payload, author));
  TRY(policy::require(beacon->run == run, "beacon of another run"));
  return beacon;
}

}  // namespace grapevine
