// World: machines, links and time that exist only in memory, made from a seed. The whole node runs
// in it through its doors, with production code and no thread, socket, file or clock. The same seed
// gives the same trace, under every compiler.
//
// A crash is kill -9 and a power cut in one. First the machine is off: its sockets are reset, its
// disk keeps what was synced (and torn pieces of what was not), and from then on nothing that its
// code does leaves it: doors answer with errors, sleeps and jobs by cancellation, nothing is
// traced. Then every task is cancelled and runs to its end unobserved, children before parents as
// always, and the program is destroyed. So memory is released as in a clean end and no frame is
// ever torn down from outside, yet the others see a machine that stopped at one instant. What it
// asks of a program: its destructor needs no more than that its tasks have ended.
//
// now() is true time; a node whose clock runs fast or slow sees another.
//
// Single thread. crash(), restart() and the faults are called between steps: from outside
// run_until, from its condition, or from at(). A job must not block on another thread.
#pragma once

#include "grapevine/runtime/doors.hpp"
#include "grapevine/sim/link_rule.hpp"
#include "grapevine/sim/trace.hpp"

#include <functional>
#include <memory>

namespace grapevine::sim {

// What runs on a node: made from its doors at every start; run() is its first task.
class Program {
 public:
  virtual ~Program() = default;
  virtual Awaitable<> run() = 0;
};
using MakeProgram = std::function<std::unique_ptr<Program>(Doors)>;

// How long a job takes: uniform in [min, max].
struct WorkCost {
  Duration min = 1ms;
  Duration max = 1ms;
};

struct NodeOptions {
  WorkCost train{};
  WorkCost heavy{};
  Duration wall_offset{};           // of the wall clock, from the true time
  std::int64_t clock_fast_ppm = 0;  // how much faster than true time its clocks run, in millionths
};

struct WorldOptions {
  std::uint64_t seed = 1;
  LinkRules link{rules::delay(5ms)};        // between two nodes that have none of their own
  std::size_t socket_buffer = 1024 * 1024;  // bytes on their way or unread, per direction
  std::uint64_t steps_max = 50'000'000;     // of one run_until: more is an endless loop
};

class World {
 public:
  explicit World(WorldOptions options);
  ~World();
  World(World const&) = delete;

  // Node i has the address 10.0.(i / 250).(i % 250 + 1). It starts at once.
  std::size_t add_node(MakeProgram make, NodeOptions options = {});
  [[nodiscard]] static IpAddress address(std::size_t node);
  void crash(std::size_t node);
  void restart(std::size_t node);  // crashes it first when it runs
  [[nodiscard]] bool running(std::size_t node) const;
  [[nodiscard]] Doors doors(std::size_t node);
  [[nodiscard]] Program& program(std::size_t node);
  void spawn(std::size_t node, Awaitable<> task);  // ends with the node
  [[nodiscard]] std::size_t tasks(std::size_t node) const;

  [[nodiscard]] Instant now() const;
  // Until the condition holds (checked after every step): true; or until nothing happens before
  // `limit`: false, and it is `limit`.
  bool run_until(Instant limit, std::function<bool()> const& condition = {});
  bool run_for(Duration d, std::function<bool()> const& condition = {}) {
    return run_until(now() + d, condition);
  }
  void at(Instant due, std::function<void()> event);
  [[nodiscard]] Random& random();  // for the scenario itself
  [[nodiscard]] Trace& trace();

  // Links. Each direction has its own rules; what a rule held is judged again by the new ones.
  void set_link(std::size_t from, std::size_t to, LinkRules rules);
  void set_links_between(std::size_t one, std::size_t other, LinkRules const& rules);
  void reset_link(std::size_t from, std::size_t to);  // to the world's own rules
  // Nodes of different groups do not reach each other; heal() resets every link.
  void partition(std::vector<std::vector<std::size_t>> const& groups);
  void heal();
  void cut_connections(std::size_t one, std::size_t other);  // resets them, now
  void add_name(std::string host, std::size_t node);         // for resolve()

  void jump_wall_clock(std::size_t node, Duration by);

  // Disks. A step is one operation that changes something.
  [[nodiscard]] std::uint64_t disk_steps(std::size_t node) const;
  void fail_disk_step(std::size_t node, std::uint64_t step, Errc errc);
  void cut_power_at_disk_step(std::size_t node, std::uint64_t step);  // then it has crashed
  void set_disk_full(std::size_t node, bool full);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace grapevine::sim
