#include "flat_detail.hpp"
#include "grapevine/wire/messages.hpp"
#include "grapevine_schemas/announcement_generated.h"
#include "policy_detail.hpp"
#include "verified_detail.hpp"

namespace grapevine {
namespace {

constexpr MessageKind kind = {"announcement", limits::signed_message_max};

Result<> check_one(Contribution const& contribution) {
  TRY(policy::at_most("contribution tokens", contribution.tokens, limits::round_tokens_max));
  TRY(policy::at_most("contribution steps", contribution.steps, limits::inner_steps_max));
  TRY(policy::finite("contribution loss", contribution.loss));
  TRY(policy::amount("contribution norm", contribution.norm));
  TRY(policy::shards("contribution shards", contribution.shards, limits::mix_shards_max));
  return policy::probe("contribution probe", contribution.probe);
}

Result<> check_one(ShardResult const& result) {
  TRY(policy::at_most("shard", result.shard, limits::mix_shards_max - 1));
  TRY(policy::require(!result.inputs.empty(), "shard result without inputs"));
  TRY(policy::at_most("shard result inputs", result.inputs.size(), limits::round_peers_max));
  TRY(policy::ordered_by_peer("shard result inputs", result.inputs));
  for (auto const& input : result.inputs) {
    TRY(policy::at_most("shard result tokens", input.tokens, limits::round_tokens_max));
  }
  return policy::at_most("shard result in bytes", result.result.bytes, limits::blob_bytes_max);
}

Result<> check_announcement(Announcement const& announcement) {
  auto const one = [](auto const& message) -> Result<> {
    TRY(policy::round("announcement", message.round));
    TRY(policy::known("announcement lane", message.lane, MixLane::parameters));
    return check_one(message);
  };
  return std::visit(one, announcement);
}

flatbuffers::Offset<void> encode_body(flat::Builder& builder, Contribution const& contribution) {
  auto const shards = flat::from(builder, contribution.shards);
  auto const probe = flat::from(contribution.probe.value_or(BlobRef{}));
  schema::ContributionBuilder table(builder);
  table.add_tokens(contribution.tokens);
  table.add_steps(contribution.steps);
  table.add_loss(contribution.loss);
  table.add_norm(contribution.norm);
  table.add_shards(shards);
  if (contribution.probe) table.add_probe(&probe);
  return table.Finish().Union();
}

flatbuffers::Offset<void> encode_body(flat::Builder& builder, ShardResult const& result) {
  std::vector<flatbuffers::Offset<schema::Input>> listed;
  listed.reserve(result.inputs.size());
  for (auto const& input : result.inputs) {
    auto const peer = flat::from(builder, input.peer);
    auto const root = flat::from(input.root);
    listed.push_back(schema::CreateInput(builder, peer, &root, input.tokens));
  }
  auto const inputs = builder.CreateVector(listed);
  auto const blob = flat::from(result.result);
  schema::ShardResultBuilder table(builder);
  table.add_shard(result.shard);
  table.add_inputs(inputs);
  table.add_result(&blob);
  return table.Finish().Union();
}

Result<Announcement> decode_body(schema::Contribution const& table) {
  Contribution contribution;
  contribution.tokens = table.tokens();
  contribution.steps = table.steps();
  contribution.loss = table.loss();
  contribution.norm = table.norm();
  TRY_ASSIGN(contribution.shards, flat::refs(table.shards()));
  contribution.probe = flat::ref(table.probe());
  return contribution;
}

Result<Announcement> decode_body(schema::ShardResult const& table) {
  ShardResult result;
  result.shard = table.shard();
  result.result = flat::ref(*table.result());
  auto const& inputs = *table.inputs();
  TRY(policy::at_most("shard result inputs", inputs.size(), limits::round_peers_max));
  result.inputs.reserve(inputs.size());
  for (auto const* const input : inputs) {
    TRY_ASSIGN(auto const peer, flat::peer(*input->peer()));
    result.inputs.push_back({peer, flat::hash(*input->root()), input->tokens()});
  }
  return result;
}

Result<Announcement> decode_any_body(schema::Announcement const& table) {
  if (auto const* const contribution = table.body_as_Contribution())
    return decode_body(*contribution);
  if (auto const* const result = table.body_as_ShardResult()) return decode_body(*result);
  return fail(Errc::unsupported, "announcement of an unknown kind");
}

Result<Announcement> decode_payload(ByteView payload) {
  TRY_ASSIGN(auto const* const table,
             flat::verified_root<schema::Announcement>(payload, schema::AnnouncementIdentifier()));
  TRY_ASSIGN(auto announcement, decode_any_body(*table));
  auto const fill = [&](auto& message) {
    message.run = flat::hash(*table->run());
    message.round = table->round();
    message.lane = static_cast<MixLane>(table->lane());
    message.base = flat::hash(*table->base());
  };
  std::visit(fill, announcement);
  TRY(check_announcement(announcement));
  return announcement;
}

}  // namespace

Bytes codec::encode_payload(Announcement const& announcement) {
  auto const encode = [](auto const& message) {
    using Message = std::decay_t<decltype(message)>;
    constexpr auto type = std::is_same_v<Message, Contribution>
                              ? schema::AnnouncementBody::Contribution
                              : schema::AnnouncementBody::ShardResult;
    flat::Builder builder;
    auto const body = encode_body(builder, message);
    auto const run = flat::from(message.run);
    auto const base = flat::from(message.base);
    schema::AnnouncementBuilder table(builder);
    table.add_run(&run);
    table.add_round(message.round);
    table.add_base(&base);
    table.add_body_type(type);
    table.add_body(body);
    table.add_lane(static_cast<schema::MixLane>(message.lane));
    return flat::finish(builder, table.Finish(), schema::AnnouncementIdentifier());
  };
  return std::visit(encode, announcement);
}

Bytes sign_announcement(Announcement const& announcement, Identity const& signer) {
  return sign_message(kind, announcement, signer, check_announcement);
}

Result<Verified<Announcement>> verify_announcement(ByteView bytes, Hash const& run) {
  TRY_ASSIGN(auto announcement, verify_message<Announcement>(kind, bytes, decode_payload));
  auto const has_run = [&](auto const& message) { return message.run == run; };
  TRY(policy::require(std::visit(has_run, *announcement), "announcement of another run"));
  return announcement;
}

}  // namespace grapevine
