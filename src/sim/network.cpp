#include "grapevine/runtime/cancellation.hpp"
#include "sim/network_detail.hpp"

#include <algorithm>

namespace grapevine::sim {
namespace {

constexpr std::size_t backlog_max = 128;
constexpr Duration connect_patience = 127s;  // Linux: six retries of a SYN

class SimSocket final : public Socket {
 public:
  SimSocket(SimNetwork& network, Fabric& fabric, ConnectionPtr connection, std::size_t side)
      : machine_(network.machine()),
        fabric_(fabric),
        connection_(std::move(connection)),
        side_(side) {}

  ~SimSocket() override {
    auto& end = own();
    end.gone = true;
    // As close(2): a reset when something was left unread, else the end of the stream.
    if (!end.arrived.empty()) fabric_.reset(connection_, side_);
    if (!end.fin_sent && !end.reset) fabric_.finish(connection_, other());
  }

  Awaitable<Result<std::size_t>> read_some(MutableByteView into) override {
    while (own().arrived.empty() || discarded_) {
      if (own().reset || machine_.off) co_return failure();
      if (own().fin) co_return fail(Errc::closed, remote().text());
      co_await own().changed.wait();
    }
    co_return take(into);
  }

  Awaitable<Result<>> write(ByteView bytes) override {
    while (!bytes.empty()) {
      if (own().reset || own().fin_sent || machine_.off) co_return failure();
      auto const room = fabric_.room(*connection_, other());
      if (room == 0) {
        co_await own().changed.wait();
        continue;
      }
      auto const piece = fabric_.piece_max(own().node, peer().node);
      auto const size = std::min({room, bytes.size(), piece});
      fabric_.write(connection_, other(), bytes.first(size));
      bytes = bytes.subspan(size);
    }
    co_return Result<>();
  }

  Awaitable<Result<>> close_write() override {
    if (own().reset || machine_.off) co_return failure();
    if (!std::exchange(own().fin_sent, true)) fabric_.finish(connection_, other());
    co_return Result<>();
  }

  void reset() override {
    discarded_ = true;
    fabric_.reset(connection_, side_);
  }

  [[nodiscard]] StreamEnds ends() const override {
    return {connection_->ends[side_].address, remote()};
  }

 private:
  [[nodiscard]] std::size_t other() const { return 1 - side_; }
  [[nodiscard]] End& own() { return connection_->ends[side_]; }
  [[nodiscard]] End& peer() { return connection_->ends[other()]; }
  [[nodiscard]] Endpoint remote() const { return connection_->ends[other()].address; }
  [[nodiscard]] tl::unexpected<Error> failure() const { return fail(Errc::reset, remote().text()); }

  // One packet at most: readers must live with short reads.
  std::size_t take(MutableByteView into) {
    auto& end = own();
    auto const& front = end.arrived.front();
    auto const size = std::min(into.size(), front.size() - end.front_read);
    std::copy_n(front.begin() + static_cast<std::ptrdiff_t>(end.front_read), size, into.begin());
    end.front_read += size;
    end.unread -= size;
    if (end.front_read == front.size()) {
      end.arrived.pop_front();
      end.front_read = 0;
    }
    peer().changed.notify_all();
    return size;
  }

  Machine& machine_;
  Fabric& fabric_;
  ConnectionPtr connection_;
  std::size_t side_;
  bool discarded_ = false;
};

// One connect() on its way. Shared with the packets that carry it, which may outlive the caller.
struct Dial {
  std::optional<Errc> failed;
  ConnectionPtr connection;
  bool abandoned = false;
  Gate answered;

  void fail_with(Errc errc) {
    failed = errc;
    answered.notify_all();
  }
};

}  // namespace

class SimListener final : public Listener {
 public:
  SimListener(SimNetwork& network, Endpoint local) : network_(&network), local_(local) {}
  ~SimListener() override { close(); }

  Awaitable<Result<std::unique_ptr<Socket>>> accept() override {
    while (network_ != nullptr && backlog_.empty()) co_await changed_.wait();
    if (network_ == nullptr) co_return fail(Errc::closed, local_.text());
    auto socket = std::move(backlog_.front());
    backlog_.pop_front();
    co_return socket;
  }

  [[nodiscard]] Endpoint local() const override { return local_; }

  void close() override {
    if (network_ == nullptr) return;
    std::exchange(network_, nullptr)->forget(*this);
    backlog_.clear();
    changed_.notify_all();
  }

  [[nodiscard]] bool full() const { return backlog_.size() >= backlog_max; }
  void add(std::unique_ptr<Socket> socket) {
    backlog_.push_back(std::move(socket));
    changed_.notify_all();
  }

 private:
  SimNetwork* network_;  // null once closed
  Endpoint local_;
  std::deque<std::unique_ptr<Socket>> backlog_;
  Gate changed_;
};

namespace {

// The connect packet has come to its target: the answer goes back.
void answer_dial(Fabric& fabric, std::shared_ptr<Dial> const& dial, StreamEnds ends,
                 std::uint32_t from, std::uint32_t to, bool refused) {
  if (dial->abandoned) return;
  auto* const network = fabric.network(to);
  auto* const listener = network == nullptr ? nullptr : network->listener_at(ends.remote);
  fabric.note(to, "connect", ends.remote.port, 0);
  if (refused || listener == nullptr || listener->full()) {
    auto refuse = [dial](Fate const&) { dial->fail_with(Errc::refused); };
    fabric.send({to, from, {PacketKind::accept, 0}, nullptr, nullptr, std::move(refuse)});
    return;
  }
  auto connection = fabric.connect_ends(ends, from, to);
  listener->add(std::make_unique<SimSocket>(*network, fabric, connection, 1));
  auto accepted = [dial, connection, &fabric](Fate const&) {
    if (dial->abandoned) {
      fabric.reset(connection, 0);
      return;
    }
    dial->connection = connection;
    dial->answered.notify_all();
  };
  fabric.send({to,
               from,
               {PacketKind::accept, 0},
               &connection->ends[0].last_arrival,
               connection,
               std::move(accepted)});
}

// Whatever ends a connect(), what is still on its way for it finds out.
struct DialOfCaller {
  DialOfCaller(Scheduler& of, std::shared_ptr<Dial> shared)
      : scheduler(of), dial(std::move(shared)) {
    auto give_up = [kept = dial] { kept->fail_with(Errc::timed_out); };
    patience = scheduler.at(scheduler.now() + connect_patience, std::move(give_up));
  }
  DialOfCaller(DialOfCaller const&) = delete;
  ~DialOfCaller() {
    dial->abandoned = true;
    scheduler.forget(patience);
  }
  Scheduler& scheduler;
  std::shared_ptr<Dial> dial;
  Scheduler::EventId patience;
};

}  // namespace

SimNetwork::SimNetwork(Machine& machine, Fabric& fabric, IpAddress ip)
    : machine_(machine), fabric_(fabric), ip_(ip) {
  fabric_.attach(machine_.index(), this);
}

SimNetwork::~SimNetwork() {
  if (fabric_.network(machine_.index()) == this) fabric_.off(machine_.index());
}

bool SimNetwork::is_mine(IpAddress const& ip) const { return ip.is_loopback() || ip == ip_; }

std::uint16_t SimNetwork::free_port() {
  do {
    if (++next_port_ == 0) next_port_ = 40'000;
  } while (listeners_.contains(next_port_));
  return next_port_;
}

Awaitable<Result<std::unique_ptr<Socket>>> SimNetwork::connect(Endpoint to) {
  auto const target = is_mine(to.ip) ? machine_.index() : node_at(to.ip);
  if (machine_.off || !target) co_return fail(Errc::unreachable, to.text());
  Endpoint const local{to.ip.is_loopback() ? to.ip : ip_, free_port()};
  StreamEnds const ends{local, to};
  auto const from = machine_.index();
  DialOfCaller const own(fabric_.scheduler(), std::make_shared<Dial>());
  auto const& dial = *own.dial;
  auto arrive = [&fabric = fabric_, kept = own.dial, ends, from, at = *target](Fate const& fate) {
    answer_dial(fabric, kept, ends, from, at, fate.refused);
  };
  fabric_.send({from, *target, {PacketKind::connect, 0}, nullptr, nullptr, std::move(arrive)});
  while (!dial.failed && !dial.connection) co_await own.dial->answered.wait();
  if (machine_.off) co_return fail(Errc::unreachable, to.text());
  if (dial.failed) co_return fail(*dial.failed, to.text());
  co_return std::make_unique<SimSocket>(*this, fabric_, dial.connection, 0);
}

Result<std::unique_ptr<Listener>> SimNetwork::listen(Endpoint at) {
  if (machine_.off || !(at.ip.is_unspecified() || is_mine(at.ip)))
    return fail(Errc::unreachable, at.text());
  if (at.port == 0) at.port = free_port();
  if (listeners_.contains(at.port)) return fail(Errc::address_in_use, at.text());
  auto listener = std::make_unique<SimListener>(*this, at);
  listeners_[at.port] = listener.get();
  return listener;
}

Awaitable<Result<std::vector<IpAddress>>> SimNetwork::resolve(std::string host, IpFamily family) {
  auto found = fabric_.lookup(host);
  std::erase_if(found, [family](IpAddress const& ip) {
    return family != IpFamily::any && ip.is_v6 != (family == IpFamily::v6);
  });
  if (machine_.off || found.empty()) co_return fail(Errc::unreachable);
  co_return found;
}

std::vector<IpAddress> SimNetwork::interfaces() const { return {IpAddress::v4(127, 0, 0, 1), ip_}; }

SimListener* SimNetwork::listener_at(Endpoint at) const {
  auto const found = listeners_.find(at.port);
  if (found == listeners_.end()) return nullptr;
  auto const ip = found->second->local().ip;
  return ip.is_unspecified() || ip == at.ip ? found->second : nullptr;
}

void SimNetwork::forget(SimListener& listener) { listeners_.erase(listener.local().port); }

}  // namespace grapevine::sim
