#include "grapevine/sim/world.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/log.hpp"
#include "grapevine/runtime/durable_storage.hpp"
#include "grapevine/runtime/task_census.hpp"
#include "sim/disk_detail.hpp"
#include "sim/doors_detail.hpp"
#include "sim/network_detail.hpp"

#include <algorithm>

namespace grapevine::sim {
namespace {

// A stream of the world's randomness of its own for every purpose, so that one more draw here
// changes nothing there.
enum class Stream : std::uint64_t { schedule, links, scenario, disk, random, train, heavy };

std::uint64_t derive(std::uint64_t seed, Stream stream, std::uint64_t node = 0,
                     std::uint64_t incarnation = 0) {
  for (auto const part : {static_cast<std::uint64_t>(stream), node, incarnation})
    seed = SeededRandom(seed + part * 0x9e3779b97f4a7c15ULL + 1).next();
  return seed;
}

// Rounds of "cancel all, run all" that a crashed node may take until its last task has ended.
constexpr int unwind_rounds_max = 1000;

struct Incarnation {
  Incarnation(Scheduler& scheduler, Fabric& fabric, SimDisk& disk, NodeOptions const& options,
              std::uint64_t seed, std::uint32_t node, std::uint64_t number)
      : machine(scheduler, node),
        clock(machine, options),
        random(derive(seed, Stream::random, node, number)),
        network(machine, fabric, address_of(node)),
        storage(disk),
        train(machine, clock, options.train, derive(seed, Stream::train, node, number)),
        heavy(machine, clock, options.heavy, derive(seed, Stream::heavy, node, number)),
        census(machine.executor()),
        tasks(machine.executor()) {}

  [[nodiscard]] Doors doors() {
    return {machine.executor(), clock, random, network, storage, train, heavy};
  }

  Machine machine;
  SimClock clock;
  SeededRandom random;
  SimNetwork network;
  DurableStorage storage;
  SimWorker train;
  SimWorker heavy;
  TaskCensus census;
  TaskGroup tasks;
  std::unique_ptr<Program> program;
};

struct Node {
  MakeProgram make;
  NodeOptions options;
  std::unique_ptr<SimDisk> disk;
  std::uint64_t incarnations = 0;
  std::unique_ptr<Incarnation> alive;
  bool power_cut = false;  // by its disk; the crash follows when its handler has returned
};

}  // namespace

struct World::State {
  explicit State(WorldOptions given)
      : options(std::move(given)),
        scheduler(derive(options.seed, Stream::schedule), trace),
        fabric(scheduler, derive(options.seed, Stream::links), options.link, options.socket_buffer),
        random(derive(options.seed, Stream::scenario)) {}

  WorldOptions options;
  Trace trace;
  Scheduler scheduler;
  Fabric fabric;
  SeededRandom random;
  std::vector<std::unique_ptr<Node>> nodes;

  [[nodiscard]] Node& at(std::size_t node) const {
    ASSERT(node < nodes.size());
    return *nodes[node];
  }
  [[nodiscard]] Incarnation& alive(std::size_t node) const {
    ASSERT(at(node).alive != nullptr);
    return *at(node).alive;
  }
  void note(std::size_t node, std::string_view kind, std::uint64_t number) {
    trace.note({scheduler.now(), static_cast<std::uint32_t>(node), kind, number, 0});
  }

  void start(std::size_t index) {
    auto& node = at(index);
    ASSERT(node.alive == nullptr);
    note(index, "start", ++node.incarnations);
    node.alive =
        std::make_unique<Incarnation>(scheduler, fabric, *node.disk, node.options, options.seed,
                                      static_cast<std::uint32_t>(index), node.incarnations);
    node.alive->program = node.make(node.alive->doors());
    if (node.alive->program) node.alive->tasks.spawn(node.alive->program->run());
  }

  void crash(std::size_t index) {
    ASSERT(scheduler.running() == nullptr);
    auto& node = at(index);
    if (node.alive == nullptr) return;
    node.disk->power_off();
    end(node);
    node.disk->power_on();
    node.power_cut = false;
    note(index, "crash", node.incarnations);
  }

  // From here on nothing of the node has an effect; see world.hpp.
  void end(Node& node) {
    auto& alive = *node.alive;
    fabric.off(alive.machine.index());
    alive.machine.off = true;
    int rounds = 0;
    do {
      alive.census.cancel_all();
      scheduler.drain(alive.machine);
    } while (alive.census.size() > 0 && ++rounds < unwind_rounds_max);
    if (alive.census.size() > 0)
      log_error("node {}: {} tasks neither end nor can be cancelled", alive.machine.index(),
                alive.census.size());
    ASSERT(alive.census.size() == 0);
    alive.program.reset();
    scheduler.drain(alive.machine);
    node.alive.reset();
  }

  void crash_where_power_was_cut() {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i]->power_cut) crash(i);
  }
};

World::World(WorldOptions options) : state_(std::make_unique<State>(std::move(options))) {}

World::~World() {
  for (auto& node : state_->nodes) {
    node->disk->power_off();
    if (node->alive) state_->end(*node);
  }
}

IpAddress World::address(std::size_t node) { return address_of(static_cast<std::uint32_t>(node)); }

std::size_t World::add_node(MakeProgram make, NodeOptions options) {
  auto& state = *state_;
  auto const index = state.nodes.size();
  auto disk = std::make_unique<SimDisk>("node-" + std::to_string(index),
                                        derive(state.options.seed, Stream::disk, index));
  disk->on_step([&state, index](std::uint64_t bytes) { state.note(index, "disk", bytes); });
  auto node = std::make_unique<Node>();
  node->make = std::move(make);
  node->options = options;
  node->disk = std::move(disk);
  state.nodes.push_back(std::move(node));
  state.start(index);
  return index;
}

void World::crash(std::size_t node) { state_->crash(node); }

void World::restart(std::size_t node) {
  state_->crash(node);
  state_->start(node);
}

bool World::running(std::size_t node) const { return state_->at(node).alive != nullptr; }
Doors World::doors(std::size_t node) { return state_->alive(node).doors(); }

Program& World::program(std::size_t node) {
  ASSERT(state_->alive(node).program != nullptr);
  return *state_->alive(node).program;
}

void World::spawn(std::size_t node, Awaitable<> task) {
  state_->alive(node).tasks.spawn(std::move(task));
}

std::size_t World::tasks(std::size_t node) const { return state_->alive(node).census.size(); }
Instant World::now() const { return state_->scheduler.now(); }

bool World::run_until(Instant limit, std::function<bool()> const& condition) {
  for (std::uint64_t steps = 0; !condition || !condition(); ++steps) {
    ASSERT(steps < state_->options.steps_max);
    bool const stepped = state_->scheduler.step(limit);
    state_->crash_where_power_was_cut();
    if (!stepped) return condition && condition();
  }
  return true;
}

void World::at(Instant due, std::function<void()> event) {
  state_->scheduler.at(due, std::move(event));
}
Random& World::random() { return state_->random; }
Trace& World::trace() { return state_->trace; }

void World::set_link(std::size_t from, std::size_t to, LinkRules rules) {
  state_->fabric.set_rules(static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to),
                           std::move(rules));
}

void World::set_links_between(std::size_t one, std::size_t other, LinkRules const& rules) {
  set_link(one, other, rules);
  set_link(other, one, rules);
}

void World::reset_link(std::size_t from, std::size_t to) {
  state_->fabric.set_rules(static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to),
                           std::nullopt);
}

void World::partition(std::vector<std::vector<std::size_t>> const& groups) {
  LinkRules const nothing_passes{rules::hold()};
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (std::size_t j = i + 1; j < groups.size(); ++j)
      for (auto const one : groups[i])
        for (auto const other : groups[j]) set_links_between(one, other, nothing_passes);
}

void World::heal() { state_->fabric.reset_all_rules(); }

void World::cut_connections(std::size_t one, std::size_t other) {
  state_->fabric.cut(static_cast<std::uint32_t>(one), static_cast<std::uint32_t>(other));
}

void World::add_name(std::string host, std::size_t node) {
  state_->fabric.add_name(std::move(host), address(node));
}

void World::jump_wall_clock(std::size_t node, Duration by) {
  state_->at(node).options.wall_offset += by;
  state_->note(node, "clock", static_cast<std::uint64_t>(by.count()));
}

std::uint64_t World::disk_steps(std::size_t node) const { return state_->at(node).disk->steps(); }

void World::fail_disk_step(std::size_t node, std::uint64_t step, Errc errc) {
  state_->at(node).disk->fail_step(step, errc);
}

void World::cut_power_at_disk_step(std::size_t node, std::uint64_t step) {
  auto& target = state_->at(node);
  // Its other doors close in the same instant; the handler that runs may still be in the middle.
  auto cut = [&target, &fabric = state_->fabric] {
    target.power_cut = true;
    if (target.alive == nullptr) return;
    fabric.off(target.alive->machine.index());
    target.alive->machine.off = true;
  };
  target.disk->cut_at_step(step, std::move(cut));
}

void World::set_disk_full(std::size_t node, bool full) { state_->at(node).disk->set_full(full); }

}  // namespace grapevine::sim
