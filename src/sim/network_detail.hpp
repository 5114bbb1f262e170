// Fabric: all links, listeners and connections of a world. SimNetwork: one incarnation's door to
// it.
//
// A connection is two Ends. What one end writes is cut into packets; each passes the link's rules
// and lands, in order, in the other end's queue. At most `socket_buffer` bytes a direction are on
// their way or unread; a writer waits for room, and room comes back at once when the reader reads.
#pragma once

#include "grapevine/runtime/gate.hpp"
#include "grapevine/runtime/network.hpp"
#include "grapevine/sim/link_rule.hpp"
#include "sim/scheduler_detail.hpp"

#include <array>
#include <deque>
#include <map>
#include <optional>

namespace grapevine::sim {

struct End {
  std::uint32_t node = 0;
  Endpoint address;
  std::deque<Bytes> arrived;
  std::size_t front_read = 0;  // bytes of arrived.front() that were read
  std::size_t unread = 0;      // bytes sent to this end and not read yet
  Instant last_arrival{};      // packets to this end stay in order
  bool fin = false;            // the other end will write no more
  bool fin_sent = false;
  bool reset = false;
  bool gone = false;  // its socket was destroyed
  Gate changed;       // its reader and its writer wait here
};

struct Connection {
  std::array<End, 2> ends;
};
using ConnectionPtr = std::shared_ptr<Connection>;

class SimNetwork;
class SimListener;

class Fabric {
 public:
  Fabric(Scheduler& scheduler, std::uint64_t seed, LinkRules rules, std::size_t socket_buffer)
      : scheduler_(scheduler), random_(seed), rules_(std::move(rules)), buffer_(socket_buffer) {}

  // A packet from one node to another; `arrive` runs when it gets there. `in_order`: the latest
  // arrival of its stream, which it does not overtake. `connection`: what a rule may break.
  struct Sending {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    Packet packet;
    Instant* in_order = nullptr;
    ConnectionPtr connection;
    std::function<void(Fate const&)> arrive;
  };
  void send(Sending sending);

  void set_rules(std::uint32_t from, std::uint32_t to, std::optional<LinkRules> rules);
  void reset_all_rules();
  void cut(std::uint32_t one, std::uint32_t other);
  void off(std::uint32_t node);  // the machine is off: its connections are reset
  void attach(std::uint32_t node, SimNetwork* network) { networks_[node] = network; }
  void add_name(std::string host, IpAddress ip) { names_[std::move(host)].push_back(ip); }

  [[nodiscard]] std::size_t room(Connection const& connection, std::size_t reader) const;
  void write(ConnectionPtr const& connection, std::size_t reader, ByteView bytes);
  void finish(ConnectionPtr const& connection, std::size_t reader);
  void reset(ConnectionPtr const& connection, std::size_t by);
  ConnectionPtr connect_ends(StreamEnds ends, std::uint32_t from, std::uint32_t to);
  [[nodiscard]] std::size_t piece_max(std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] SimNetwork* network(std::uint32_t node) const;
  [[nodiscard]] std::vector<IpAddress> lookup(std::string const& host) const;
  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  void note(std::uint32_t node, std::string_view kind, std::uint64_t number, std::uint64_t content);

 private:
  struct Link {
    std::optional<LinkRules> rules;
    std::deque<Sending> held;
  };
  [[nodiscard]] LinkRules const& rules_of(std::uint32_t from, std::uint32_t to) const;
  void judge(Sending sending);
  void release(Link& link);
  void data_arrived(ConnectionPtr const& connection, std::size_t reader, Bytes bytes);
  static void break_end(End& end);

  Scheduler& scheduler_;
  SeededRandom random_;
  LinkRules rules_;
  std::size_t buffer_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Link> links_;
  std::map<std::uint32_t, SimNetwork*> networks_;
  std::map<std::string, std::vector<IpAddress>> names_;
  std::deque<std::weak_ptr<Connection>> connections_;  // oldest first
};

class SimNetwork final : public Network {
 public:
  SimNetwork(Machine& machine, Fabric& fabric, IpAddress ip);
  ~SimNetwork() override;
  SimNetwork(SimNetwork const&) = delete;

  Awaitable<Result<std::unique_ptr<Socket>>> connect(Endpoint to) override;
  Result<std::unique_ptr<Listener>> listen(Endpoint at) override;
  Awaitable<Result<std::vector<IpAddress>>> resolve(std::string host, IpFamily family) override;
  [[nodiscard]] std::vector<IpAddress> interfaces() const override;

  [[nodiscard]] Machine& machine() { return machine_; }
  [[nodiscard]] SimListener* listener_at(Endpoint at) const;
  void forget(SimListener& listener);

 private:
  [[nodiscard]] std::uint16_t free_port();
  [[nodiscard]] bool is_mine(IpAddress const& ip) const;

  Machine& machine_;
  Fabric& fabric_;
  IpAddress ip_;
  std::map<std::uint16_t, SimListener*> listeners_;
  std::uint16_t next_port_ = 40'000;
};

// 10.0.(i / 250).(i % 250 + 1), and back.
[[nodiscard]] IpAddress address_of(std::uint32_t node);
[[nodiscard]] std::optional<std::uint32_t> node_at(IpAddress const& ip);

}  // namespace grapevine::sim
