#include "grapevine/status/status_json.hpp"

#include <nlohmann/json.hpp>

namespace grapevine {

namespace {

using Json = nlohmann::ordered_json;

// Names and reasons come from peers: bytes that are not UTF-8 are replaced, never fatal.
std::string text_of(Json const& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string_view to_text(Reachability reachability) {
  switch (reachability) {
    case Reachability::loopback:  // for others, no more reachable than a private address
    case Reachability::private_network:
      return "private";
    case Reachability::public_network:
      return "public";
    case Reachability::relayed:
      return "relayed";
    case Reachability::unknown:
      break;
  }
  return "unknown";
}

std::string_view to_text(Direction direction) {
  return direction == Direction::inbound ? "inbound" : "outbound";
}

template <class T>
Json or_null(std::optional<T> const& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json peer_json(Snapshot const& snapshot) {
  auto addrs = Json::array();
  for (auto const& address : snapshot.addresses) addrs.push_back(address.text());
  return {{"id", snapshot.id.text()},
          {"name", snapshot.name},
          {"uptime_s", snapshot.uptime_s},
          {"addrs", std::move(addrs)},
          {"reachability", to_text(snapshot.reachability)}};
}

Json run_json(Snapshot const& snapshot) {
  if (!snapshot.run) return nullptr;
  auto const& run = *snapshot.run;
  return {{"id", snapshot.run_id.hex()},
          {"name", run.name},
          {"manifest_hash", snapshot.run_id.hex()},  // the run id is the hash of its manifest
          {"mode", "full"},
          {"model",
           {{"preset", run.model.preset},
            {"parameters", run.parameters},
            {"schema_hash", run.schema_hash.hex()}}},
          {"mix1", to_string(run.mixing.mix1)},
          {"mix2", to_string(run.mixing.mix2)},
          {"joint", run.mixing.joint},
          {"mix1_codec", codec_name(run.mixing.mix1_codec)},
          {"mix2_codec", codec_name(run.mixing.mix2_codec)},
          {"rounds", run.rounds}};
}

Json pause_json(Snapshot const& snapshot) {
  if (!snapshot.pause) return nullptr;
  return {{"reason", snapshot.pause->reason},
          {"until_unix_s", or_null(snapshot.pause->until_unix_s)}};
}

Json mix_json(Snapshot::Round::Mix const& mix) {
  auto participants = Json::array(), missing = Json::array();
  for (auto const& peer : mix.participants) participants.push_back(peer.text());
  for (auto const& [peer, reason] : mix.missing)
    missing.push_back({{"peer", peer.text()}, {"reason", reason}});
  return {{"state", mix.state},
          {"participants", std::move(participants)},
          {"missing", std::move(missing)},
          {"bytes_in", mix.bytes_in},
          {"bytes_out", mix.bytes_out},
          {"duration_s", mix.duration_s}};
}

Json round_json(Snapshot::Round const& round) {
  return {{"current", round.current},
          {"inner_step", round.inner_step},
          {"inner_steps", round.inner_steps},
          {"swarm_round", round.swarm_round},
          {"behind", round.behind},
          {"phase", round.phase},
          {"mix1", mix_json(round.mix1)},
          {"mix2", mix_json(round.mix2)},
          {"last",
           {{"duration_s", round.last.duration_s},
            {"compute_s", round.last.compute_s},
            {"blocked_s", round.last.blocked_s}}}};
}

Json training_json(Snapshot::Training const& training) {
  return {{"loss", training.loss},
          {"eval_loss", or_null(training.eval_loss)},
          {"tokens_total", training.tokens_total},
          {"tokens_per_s", training.tokens_per_s},
          {"utilization", training.utilization},
          {"device", training.device},
          {"dtype", training.dtype},
          {"lr", training.lr}};
}

Json consensus_json(Snapshot::Consensus const& consensus) {
  return {{"l2", or_null(consensus.l2)}, {"js", or_null(consensus.js)}, {"js_trigger", nullptr}};
}

Json peers_json(std::vector<Snapshot::Peer> const& peers) {
  auto list = Json::array();
  for (auto const& peer : peers)
    list.push_back({{"id", peer.id.text()},
                    {"name", peer.name},
                    {"direction", to_text(peer.direction)},
                    {"rtt_ms", peer.rtt_ms},
                    {"round", peer.round},
                    {"behind", peer.behind},
                    {"bytes_in", peer.bytes_in},
                    {"bytes_out", peer.bytes_out},
                    {"score", nullptr},
                    {"agent", peer.agent},
                    {"via", "direct"},
                    {"connected", peer.connected},
                    {"state", to_string(peer.state)},
                    {"loss", peer.loss},
                    {"tokens_per_s", peer.tokens_per_s}});
  return list;
}

Json caps_json(Snapshot::Network::Caps const& caps) {
  bool const counts = caps.month_bytes_max.has_value();
  return {{"up_bytes_per_s", or_null(caps.up_bytes_per_s)},
          {"down_bytes_per_s", or_null(caps.down_bytes_per_s)},
          {"month_bytes_max", or_null(caps.month_bytes_max)},
          {"month_bytes", counts ? Json(caps.month_bytes) : Json(nullptr)},
          {"month_ends_unix_s", counts ? Json(caps.month_ends_unix_s) : Json(nullptr)}};
}

Json network_json(Snapshot::Network const& network) {
  return {{"bytes_in", network.bytes_in},
          {"bytes_out", network.bytes_out},
          {"in_bytes_per_s", network.in_bytes_per_s},
          {"out_bytes_per_s", network.out_bytes_per_s},
          {"connections", network.connections},
          {"dials_failed", network.dials_failed},
          {"gossip",
           {{"mesh", Json(network.mesh)},
            {"messages_in", network.messages_in},
            {"duplicates", network.duplicates},
            {"rejected", Json(network.rejected)}}},
          {"caps", caps_json(network.caps)},
          {"blob_bytes_served", network.blob_bytes_served},
          {"blob_bytes_fetched", network.blob_bytes_fetched}};
}

Json resources_json(Snapshot const& snapshot, Resources const& resources) {
  auto queues = Json::object();
  for (auto const& [name, queue] : snapshot.queues)
    queues[name] = {{"len", queue.length}, {"max", queue.max}};
  return {{"rss_bytes", resources.rss_bytes},     {"vram_bytes", or_null(resources.vram_bytes)},
          {"open_fds", resources.open_fds},       {"disk_bytes", resources.disk_bytes},
          {"cpu_train_s", resources.cpu_train_s}, {"cpu_node_s", resources.cpu_node_s},
          {"queues", std::move(queues)}};
}

Json errors_json(std::vector<Snapshot::Problem> const& problems) {
  auto list = Json::array();
  for (auto const& problem : problems)
    list.push_back({{"code", problem.code},
                    {"count", problem.count},
                    {"last_s", problem.last_s},
                    {"text", problem.text},
                    {"hint", problem.hint}});
  return list;
}

}  // namespace

std::string status_json(Snapshot const& snapshot, Resources const& resources) {
  Json json{
      {"schema", "grapevine.status/1"},
      {"version", GRAPEVINE_VERSION},
      {"protocol", protocol_version},
      {"peer", peer_json(snapshot)},
      {"run", run_json(snapshot)},
      {"state", to_string(snapshot.state)},
      {"pause", pause_json(snapshot)},
      {"round", round_json(snapshot.round)},
      {"training", training_json(snapshot.training)},
      {"consensus", consensus_json(snapshot.consensus)},
      {"peers", peers_json(snapshot.peers)},
      {"network", network_json(snapshot.network)},
      {"adapter", nullptr},
      {"pipeline", nullptr},
      {"ledger", {{"entries", snapshot.ledger_entries}, {"head", snapshot.ledger_head.hex()}}},
      {"resources", resources_json(snapshot, resources)},
      {"errors", errors_json(snapshot.errors)},
      {"config", Json(snapshot.config)},
      {"checkpoint", snapshot.checkpoint}};
  return text_of(json);
}

std::string history_json(std::span<RoundRecord const> rounds, std::uint64_t since) {
  auto list = Json::array();
  for (auto const& round : rounds)
    list.push_back({{"round", round.round},
                    {"at_unix_s", round.at_unix_s},
                    {"duration_s", round.duration_s},
                    {"compute_s", round.compute_s},
                    {"loss", or_null(round.loss)},
                    {"eval_loss", or_null(round.eval_loss)},
                    {"l2", or_null(round.consensus.l2)},
                    {"js", or_null(round.consensus.js)},
                    {"participants", round.participants},
                    {"missing", round.missing},
                    {"shards_missed", round.shards_missed},
                    {"bytes_in", round.bytes_in},
                    {"bytes_out", round.bytes_out}});
  auto const next = rounds.empty() ? since : rounds.back().round + 1;
  return text_of(
      Json{{"schema", "grapevine.history/1"}, {"rounds", std::move(list)}, {"next", next}});
}

std::string ready_json(Snapshot const& snapshot, bool ready) {
  Json json{{"ready", ready}, {"state", to_string(snapshot.state)}};
  if (!ready) json["reason"] = "this peer is " + std::string(to_string(snapshot.state));
  return text_of(json);
}

std::string command_json(std::string_view command, Snapshot const& after) {
  return text_of(Json{{"done", command},
                      {"state", to_string(after.state)},
                      {"pause", pause_json(after)},
                      {"round", after.round.current},
                      {"checkpoint", after.checkpoint}});
}

std::string error_json(std::string_view text) { return text_of(Json{{"error", text}}); }

}  // namespace grapevine
