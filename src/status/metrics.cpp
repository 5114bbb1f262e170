#include "grapevine/status/metrics.hpp"

#include "grapevine/base/limits.hpp"

#include <fmt/core.h>

#include <cmath>
#include <initializer_list>
#include <utility>

namespace grapevine {

namespace {

std::string escaped(std::string_view value) {
  std::string text;
  for (char const c : value) {
    if (c == '\n') {
      text += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') text += '\\';
    text += c;
  }
  return text;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

class MetricsWriter {
 public:
  // What follows belongs to this metric, until the next.
  void metric(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ +=
        fmt::format("# HELP grapevine_{} {}\n# TYPE grapevine_{} {}\n", name, help, name, type);
  }
  void sample(double value, Labels labels = {}) {
    text_ += fmt::format("grapevine_{}", name_);
    char separator = '{';
    for (auto const& [label, label_value] : labels) {
      text_ += fmt::format("{}{}=\"{}\"", separator, label, escaped(label_value));
      separator = ',';
    }
    if (labels.size() > 0) text_ += '}';
    text_ += fmt::format(" {}\n", number(value));
  }
  void gauge(std::string_view name, std::string_view help, double value) {
    metric(name, "gauge", help);
    sample(value);
  }
  void counter(std::string_view name, std::string_view help, std::uint64_t value) {
    metric(name, "counter", help);
    sample(static_cast<double>(value));
  }
  // One series a value of `label`, up to the limit.
  template <class Map, class Value>
  void by_label(std::string_view label, Map const& values, Value value_of) {
    std::size_t left = limits::metric_labels_max;
    for (auto const& [key, value] : values) {
      if (left-- == 0) break;
      sample(static_cast<double>(value_of(value)), {{label, key}});
    }
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::string_view name_;
};

void write_identity(MetricsWriter& out, Snapshot const& snapshot, bool ready) {
  out.metric("info", "gauge", "Always 1: who this is and what it takes part in.");
  out.sample(1, {{"version", GRAPEVINE_VERSION},
                 {"peer", snapshot.id.text()},
                 {"run", snapshot.run ? snapshot.run_id.hex() : ""},
                 {"device", snapshot.training.device},
                 {"dtype", snapshot.training.dtype}});
  out.gauge("uptime_seconds", "Time since this peer started.", snapshot.uptime_s);
  out.gauge("ready", "1 while it takes part: trains or mixes.", ready ? 1 : 0);
  out.metric("state", "gauge", "1 for the state it is in.");
  using enum PeerState;
  for (auto const state : {joining, syncing, training, mixing, paused, degraded, stopping})
    out.sample(snapshot.state == state ? 1 : 0, {{"state", to_string(state)}});
}

void write_round(MetricsWriter& out, Snapshot::Round const& round) {
  out.gauge("round", "The round this peer is in.", static_cast<double>(round.current));
  out.gauge("swarm_round", "The newest round any counting peer is in.",
            static_cast<double>(round.swarm_round));
  out.gauge("rounds_behind", "Rounds this peer is behind the swarm.",
            static_cast<double>(round.behind));
  out.gauge("inner_step", "Inner steps done in this round.", round.inner_step);
  out.gauge("inner_steps", "Inner steps of a round.", round.inner_steps);
  out.gauge("mix_participants", "Peers in the newest mix.",
            static_cast<double>(round.mix2.participants.size()));
  out.gauge("mix_missing", "Peers that were missing from it.",
            static_cast<double>(round.mix2.missing.size()));
  out.gauge("round_duration_seconds", "Wall time of the last round.", round.last.duration_s);
  out.gauge("round_compute_seconds", "Of that, training and evaluating.", round.last.compute_s);
  out.gauge("round_blocked_seconds", "Of that, neither.", round.last.blocked_s);
}

void write_training(MetricsWriter& out, Snapshot::Training const& training) {
  out.gauge("loss", "Training loss, nats per token.", training.loss);
  if (training.eval_loss)
    out.gauge("eval_loss", "Loss on the held-out text, nats per token.", *training.eval_loss);
  out.counter("tokens_total", "Tokens trained on.", training.tokens_total);
  out.gauge("tokens_per_second", "Training speed.", training.tokens_per_s);
  out.gauge("utilization_ratio", "Compute time / wall time of the last round.",
            training.utilization);
  out.gauge("learning_rate", "Of the inner optimizer, now.", training.lr);
}

void write_consensus(MetricsWriter& out, Snapshot::Consensus const& consensus) {
  if (consensus.l2)
    out.gauge("consensus_l2", "Root mean squared distance to the parameters of the others.",
              *consensus.l2);
  if (consensus.js)
    out.gauge("consensus_js", "Mean Jensen-Shannon distance to the models of the others, 0 to 1.",
              *consensus.js);
}

void write_network(MetricsWriter& out, Snapshot const& snapshot) {
  auto const& network = snapshot.network;
  std::size_t connected = 0;
  for (auto const& peer : snapshot.peers) connected += peer.connected ? 1 : 0;
  out.gauge("peers_known", "Peers of the run that are known.",
            static_cast<double>(snapshot.peers.size()));
  out.gauge("peers_connected", "Of those, connected.", static_cast<double>(connected));
  out.gauge("connections", "Open connections.", static_cast<double>(network.connections));
  out.metric("network_bytes_total", "counter", "Bytes over all sockets.");
  out.sample(static_cast<double>(network.bytes_in), {{"direction", "in"}});
  out.sample(static_cast<double>(network.bytes_out), {{"direction", "out"}});
  out.metric("blob_bytes_total", "counter", "Bytes of tensors exchanged by content hash.");
  out.sample(static_cast<double>(network.blob_bytes_fetched), {{"direction", "in"}});
  out.sample(static_cast<double>(network.blob_bytes_served), {{"direction", "out"}});
  out.counter("dials_failed_total", "Dials that reached nobody.", network.dials_failed);
  out.counter("gossip_messages_total", "Gossip messages received.", network.messages_in);
  out.counter("gossip_duplicates_total", "Of those, seen before.", network.duplicates);
  auto const same = [](auto value) { return value; };
  out.metric("gossip_rejected_total", "counter", "Gossip messages rejected.");
  out.by_label("reason", network.rejected, same);
  out.metric("gossip_mesh_peers", "gauge", "Peers in the mesh of a topic.");
  out.by_label("topic", network.mesh, same);
}

void write_process(MetricsWriter& out, Snapshot const& snapshot, Resources const& resources) {
  out.gauge("resident_bytes", "Memory of the process.", static_cast<double>(resources.rss_bytes));
  out.gauge("open_fds", "Open file descriptors.", static_cast<double>(resources.open_fds));
  out.gauge("disk_bytes", "Size of the home directory.", static_cast<double>(resources.disk_bytes));
  out.metric("cpu_seconds_total", "counter", "Processor time, by what it was spent on.");
  out.sample(resources.cpu_train_s, {{"work", "train"}});
  out.sample(resources.cpu_node_s, {{"work", "node"}});
  out.counter("ledger_entries_total", "Lines in this peer's ledger.", snapshot.ledger_entries);
  out.metric("queue_length", "gauge", "Things waiting in a bounded queue.");
  out.by_label("queue", snapshot.queues, [](auto const& queue) { return queue.length; });
  out.metric("queue_max", "gauge", "What that queue holds at most.");
  out.by_label("queue", snapshot.queues, [](auto const& queue) { return queue.max; });
  out.metric("errors_total", "counter", "Problems seen, by code.");
  std::size_t left = limits::metric_labels_max;
  for (auto const& problem : snapshot.errors) {
    if (left-- == 0) break;
    out.sample(static_cast<double>(problem.count), {{"code", problem.code}});
  }
}

}  // namespace

std::string metrics_text(Snapshot const& snapshot, Resources const& resources, bool ready) {
  MetricsWriter out;
  write_identity(out, snapshot, ready);
  write_round(out, snapshot.round);
  write_training(out, snapshot.training);
  write_consensus(out, snapshot.consensus);
  write_network(out, snapshot);
  write_process(out, snapshot, resources);
  return out.take();
}

}  // namespace grapevine
