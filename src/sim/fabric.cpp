#include "grapevine/base/assert.hpp"
#include "sim/network_detail.hpp"

#include <algorithm>

namespace grapevine::sim {
namespace {

constexpr std::uint32_t nodes_per_subnet = 250;

}  // namespace

IpAddress address_of(std::uint32_t node) {
  return IpAddress::v4(10, 0, static_cast<std::uint8_t>(node / nodes_per_subnet),
                       static_cast<std::uint8_t>(node % nodes_per_subnet + 1));
}

std::optional<std::uint32_t> node_at(IpAddress const& ip) {
  std::uint32_t const node = ip.bytes[2] * nodes_per_subnet + ip.bytes[3] - 1;
  if (ip.bytes[3] == 0 || address_of(node) != ip) return std::nullopt;
  return node;
}

void Fabric::note(std::uint32_t node, std::string_view kind, std::uint64_t number,
                  std::uint64_t content) {
  scheduler_.trace().note({scheduler_.now(), node, kind, number, content});
}

LinkRules const& Fabric::rules_of(std::uint32_t from, std::uint32_t to) const {
  static LinkRules const within_a_machine;
  auto const link = links_.find({from, to});
  if (link != links_.end() && link->second.rules) return *link->second.rules;
  return from == to ? within_a_machine : rules_;
}

std::size_t Fabric::piece_max(std::uint32_t from, std::uint32_t to) const {
  std::size_t most = 64 * 1024;
  for (auto const& rule : rules_of(from, to)) most = std::min(most, rule->piece_max());
  return most;
}

void Fabric::send(Sending sending) {
  auto const link = links_.find({sending.from, sending.to});
  if (link != links_.end() && !link->second.held.empty())
    link->second.held.push_back(std::move(sending));  // behind what is held already
  else
    judge(std::move(sending));
}

void Fabric::judge(Sending sending) {
  Fate fate{scheduler_.now()};
  for (auto const& rule : rules_of(sending.from, sending.to))
    rule->judge(sending.packet, fate, random_);
  if (fate.held) {
    links_[{sending.from, sending.to}].held.push_back(std::move(sending));
    return;
  }
  if (fate.broken && sending.connection) {
    note(sending.to, "broken", sending.packet.bytes, 0);
    for (auto& end : sending.connection->ends) break_end(end);
    return;
  }
  if (sending.in_order != nullptr)
    *sending.in_order = fate.arrival = std::max(fate.arrival, *sending.in_order);
  auto arrive = [kept = std::move(sending.connection), fate, run = std::move(sending.arrive)] {
    run(fate);
  };
  scheduler_.at(fate.arrival, std::move(arrive));
}

void Fabric::release(Link& link) {
  auto held = std::exchange(link.held, {});
  for (auto& sending : held) send(std::move(sending));
}

void Fabric::set_rules(std::uint32_t from, std::uint32_t to, std::optional<LinkRules> rules) {
  auto& link = links_[{from, to}];
  link.rules = std::move(rules);
  release(link);
}

void Fabric::reset_all_rules() {
  for (auto& [pair, link] : links_) link.rules.reset();
  for (auto& [pair, link] : links_) release(link);
}

// What has arrived can still be read; then the reset shows.
void Fabric::break_end(End& end) {
  end.reset = true;
  end.changed.notify_all();
}

void Fabric::cut(std::uint32_t one, std::uint32_t other) {
  for (auto const& weak : connections_) {
    auto const connection = weak.lock();
    if (!connection) continue;
    auto const from = connection->ends[0].node;
    auto const to = connection->ends[1].node;
    if (!((from == one && to == other) || (from == other && to == one))) continue;
    for (auto& end : connection->ends) break_end(end);
  }
}

void Fabric::off(std::uint32_t node) {
  networks_.erase(node);
  for (auto const& weak : connections_) {
    auto const connection = weak.lock();
    for (std::size_t side = 0; connection && side < 2; ++side)
      if (connection->ends[side].node == node) reset(connection, side);
  }
  std::erase_if(connections_, [](auto const& weak) { return weak.expired(); });
}

SimNetwork* Fabric::network(std::uint32_t node) const {
  auto const found = networks_.find(node);
  return found == networks_.end() ? nullptr : found->second;
}

std::vector<IpAddress> Fabric::lookup(std::string const& host) const {
  if (auto const literal = IpAddress::parse(host)) return {*literal};
  auto const found = names_.find(host);
  return found == names_.end() ? std::vector<IpAddress>{} : found->second;
}

ConnectionPtr Fabric::connect_ends(StreamEnds ends, std::uint32_t from, std::uint32_t to) {
  auto connection = std::make_shared<Connection>();
  connection->ends[0].node = from;
  connection->ends[0].address = ends.local;
  connection->ends[1].node = to;
  connection->ends[1].address = ends.remote;
  if (connections_.size() % 64 == 0)
    std::erase_if(connections_, [](auto const& weak) { return weak.expired(); });
  connections_.push_back(connection);
  return connection;
}

std::size_t Fabric::room(Connection const& connection, std::size_t reader) const {
  return buffer_ - std::min(buffer_, connection.ends[reader].unread);
}

void Fabric::write(ConnectionPtr const& connection, std::size_t reader, ByteView bytes) {
  auto& end = connection->ends[reader];
  end.unread += bytes.size();
  Bytes copy(bytes.begin(), bytes.end());
  auto arrive = [this, connection, reader, copy = std::move(copy)](Fate const&) {
    data_arrived(connection, reader, copy);
  };
  send({connection->ends[1 - reader].node,
        end.node,
        {PacketKind::data, bytes.size()},
        &end.last_arrival,
        connection,
        std::move(arrive)});
}

void Fabric::data_arrived(ConnectionPtr const& connection, std::size_t reader, Bytes bytes) {
  auto& end = connection->ends[reader];
  if (end.reset) return;
  if (end.gone) {
    reset(connection, reader);  // nobody is there to read it
    return;
  }
  note(end.node, "data", bytes.size(), fnv1a(bytes));
  end.arrived.push_back(std::move(bytes));
  end.changed.notify_all();
}

void Fabric::finish(ConnectionPtr const& connection, std::size_t reader) {
  auto& end = connection->ends[reader];
  auto arrive = [this, connection, reader](Fate const&) {
    auto& finished = connection->ends[reader];
    note(finished.node, "fin", 0, 0);
    finished.fin = true;
    finished.changed.notify_all();
  };
  send({connection->ends[1 - reader].node,
        end.node,
        {PacketKind::fin, 0},
        &end.last_arrival,
        connection,
        std::move(arrive)});
}

void Fabric::reset(ConnectionPtr const& connection, std::size_t by) {
  auto& own = connection->ends[by];
  if (own.reset) return;
  break_end(own);
  auto& other = connection->ends[1 - by];
  auto arrive = [this, connection, by](Fate const&) {
    auto& end = connection->ends[1 - by];
    if (!end.reset) note(end.node, "reset", 0, 0);
    break_end(end);
  };
  send({own.node,
        other.node,
        {PacketKind::reset, 0},
        &other.last_arrival,
        connection,
        std::move(arrive)});
}

}  // namespace grapevine::sim
