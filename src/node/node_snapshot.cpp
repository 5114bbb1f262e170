// What a node shows of itself.

#include "node/node_state_detail.hpp"

#include <algorithm>

namespace grapevine {

Snapshot Node::State::snapshot() const {
  Snapshot shown;
  shown.id = self;
  shown.name = options.name;
  shown.uptime_s = to_seconds(doors.clock.now() - started);
  if (manifest) {
    shown.run = manifest->manifest;
    shown.run_id = manifest->run;
  }
  shown.config = options.shown_config;
  shown.ledger_entries = ledger_head.entries;
  shown.ledger_head = ledger_head.hash;
  if (on_disk)
    shown.checkpoint = doors.storage.describe("checkpoints/" + std::to_string(on_disk->round));
  shown.consensus = last_consensus;
  shown.training.loss = loss;
  shown.training.eval_loss = eval_loss;
  shown.training.tokens_total = tokens_total;
  shown.training.tokens_per_s = tokens_per_s;
  shown.training.lr = lr;
  shown.training.device = trainer_info.device;
  shown.training.dtype = trainer_info.dtype;
  if (last_round.duration_s > 0)
    shown.training.utilization = std::min(1.0, last_round.compute_s / last_round.duration_s);
  shown.queues["train"] = {doors.train.queued(), 64};
  shown.queues["heavy"] = {doors.heavy.queued(), 64};
  if (paused()) shown.pause = longest_pause();
  if (round != nullptr) fill_round(shown);
  if (host != nullptr) {
    fill_peers(shown);
    fill_network(shown);
  }
  fill_problems(shown);
  return shown;
}

void Node::State::fill_round(Snapshot& shown) const {
  auto const& version = round->version();
  shown.state = shown_state();
  shown.round.current = version.round;
  shown.round.inner_step = inner_done;
  shown.round.inner_steps = round->inner_target();
  shown.round.phase = to_string(round->phase());
  shown.round.swarm_round = version.round;
  for (auto const& [peer, view] : round->view().peers())
    if (view.counts())
      shown.round.swarm_round = std::max(shown.round.swarm_round, view.beacon.round);
  shown.round.behind = shown.round.swarm_round - version.round;
  shown.round.last = last_round;
  auto const& agreed = manifest->manifest;
  shown.round.mix1 = last_mix1;
  if (agreed.mixing.pattern_of(MixLane::parameters) == MixPattern::none)
    shown.round.mix1.state = "off";
  shown.round.mix2 = last_mix2;
  if (round->phase() != RoundPhase::collecting) return;
  auto const counters = host->counters();
  shown.round.mix2 = {};
  shown.round.mix2.state = "collecting";
  shown.round.mix2.participants = round->contributors();
  shown.round.mix2.duration_s = to_seconds(doors.clock.now() - mix_began);
  shown.round.mix2.bytes_in = counters.bytes_in - counters_at_round.bytes_in;
  shown.round.mix2.bytes_out = counters.bytes_out - counters_at_round.bytes_out;
}

void Node::State::fill_peers(Snapshot& shown) const {
  for (auto const& address : host->addresses()) {
    shown.addresses.push_back(address.with_peer(self));
    auto const endpoint = address.tcp_endpoint();
    if (!endpoint) continue;
    auto const kind = endpoint->ip.is_loopback()  ? Reachability::loopback
                      : endpoint->ip.is_private() ? Reachability::private_network
                                                  : Reachability::unknown;
    shown.reachability = std::max(shown.reachability, kind);
  }
  std::map<PeerId, Snapshot::Peer> peers;
  for (auto const& connection : host->connections()) {
    auto& peer = peers[connection.peer];
    peer.connected = true;
    peer.direction = connection.direction;
    peer.rtt_ms = connection.rtt_ms;
    peer.bytes_in += connection.bytes_in;
    peer.bytes_out += connection.bytes_out;
    if (auto const* const told = host->identified(connection.peer)) peer.agent = told->agent;
  }
  if (round != nullptr)
    for (auto const& [id, view] : round->view().peers()) {
      auto& peer = peers[id];
      peer.name = view.beacon.name;
      peer.round = view.beacon.round;
      peer.state = view.beacon.state;
      peer.loss = view.beacon.loss;
      peer.agent = view.beacon.agent;
      peer.behind = shown.round.swarm_round - std::min(shown.round.swarm_round, peer.round);
      auto const& inner = manifest->manifest.inner;
      peer.tokens_per_s = static_cast<double>(view.beacon.steps_per_s) * inner.batch *
                          manifest->manifest.model.context;
    }
  for (auto& [id, peer] : peers) {
    peer.id = id;
    shown.peers.push_back(std::move(peer));
  }
}

void Node::State::fill_network(Snapshot& shown) const {
  auto const counters = host->counters();
  auto const gossip = pubsub->counters();
  auto const pulled = blobs->counters();
  auto& network = shown.network;
  network.bytes_in = counters.bytes_in;
  network.bytes_out = counters.bytes_out;
  network.connections = counters.connections;
  network.dials_failed = counters.dials_failed;
  if (rate_samples.size() >= 2) {
    double const seconds = to_seconds(rate_samples.back().at - rate_samples.front().at);
    if (seconds > 0) {
      network.in_bytes_per_s =
          static_cast<double>(rate_samples.back().in - rate_samples.front().in) / seconds;
      network.out_bytes_per_s =
          static_cast<double>(rate_samples.back().out - rate_samples.front().out) / seconds;
    }
  }
  network.mesh = gossip.mesh;
  network.messages_in = gossip.messages_in;
  network.duplicates = gossip.duplicates;
  network.rejected = gossip.rejected;
  auto const or_none = [](std::uint64_t limit) {
    return limit > 0 ? std::optional(limit) : std::nullopt;
  };
  auto const& allowed = options.allowance;
  network.caps = {or_none(allowed.up_bytes_per_s), or_none(allowed.down_bytes_per_s),
                  or_none(allowed.month_bytes), month.bytes(), month.ends_unix_s()};
  network.blob_bytes_served = pulled.bytes_served;
  network.blob_bytes_fetched = pulled.bytes_fetched;
}

void Node::State::fill_problems(Snapshot& shown) const {
  for (auto const& [code, seen] : problems)
    shown.errors.push_back({code, seen.count, to_seconds(doors.clock.now() - seen.last),
                            seen.error.message(), std::string(explain(seen.error.errc()).fix)});
}

}  // namespace grapevine
