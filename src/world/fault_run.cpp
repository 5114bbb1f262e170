#include "grapevine/world/fault_run.hpp"

#include "world/checkers_detail.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace grapevine::world {
namespace {

constexpr Duration pause = 250ms;        // between two thorough looks
constexpr Duration healing_max = 5min;   // by then a peer that was not reached is dialled again
constexpr Duration giving_up_max = 10s;  // from a fault to the end of run()
constexpr Duration stopping_max = 2min;  // connections that are silent are given up by then

class Run {
 public:
  explicit Run(Scenario scenario)
      : scenario_(std::move(scenario)),
        options_(scenario_.swarm),
        swarm_(options_),
        checkers_(swarm_, options_) {}

  FaultRun run() {
    safety();
    auto const healed = swarm_.world.now();
    auto const round = newest_round();
    if (well()) liveness(round + 2);  // one that began after the mending, and its end
    FaultRun result;
    result.healed_after_s = to_seconds(swarm_.world.now() - healed);
    result.rounds = newest_round();
    if (well()) stop();
    if (well()) checkers_.end();
    result.trace = swarm_.world.trace().hash();
    result.events = swarm_.world.trace().count();
    result.replays = checkers_.replays();
    result.fault = checkers_.fault();
    return result;
  }

 private:
  [[nodiscard]] bool well() const { return checkers_.fault().empty(); }

  // Runs until `done`, which is asked now and then; false when that did not come in time.
  bool watch(Duration most, std::function<bool()> const& done) {
    Instant const limit = swarm_.world.now() + most;
    auto const broken = [this] { return !checkers_.after_event(); };
    while (swarm_.world.now() < limit) {
      if (done()) return true;
      swarm_.world.run_until(std::min(limit, swarm_.world.now() + pause), broken);
      checkers_.look();
      if (!well()) return true;
    }
    return false;
  }

  void safety() {
    Instant const begin = swarm_.world.now();
    for (auto const& fault : scenario_.faults)
      swarm_.world.at(begin + fault.at, [this, &fault] { fault.strike(swarm_); });
    watch(scenario_.faults_last, [] { return false; });
  }

  // What people would do: mend the network and the disks …
  void mend() {
    auto& world = swarm_.world;
    world.heal();
    for (std::size_t i = 0; i < options_.hostile.size(); ++i) world.crash(options_.peers + i);
    for (std::size_t machine = 0; machine < options_.peers; ++machine) {
      swarm_.trained.at(machine).faults_over = true;
      world.set_disk_full(machine, false);
      world.fail_disk_step(machine, 0, Errc::io_failed);
      world.cut_power_at_disk_step(machine, 0);
    }
  }

  // … and start what is down or has given up.
  void start() {
    for (auto const& [machine, ending] : swarm_.endings)
      if (!swarm_.world.running(machine) || (ending.ended && !ending.error.empty()))
        swarm_.world.restart(machine);
  }

  void liveness(std::uint64_t round) {
    mend();
    watch(giving_up_max, [] { return false; });
    if (!well()) return;
    start();
    auto const there = [this, round] { return options_.rounds > 0 ? at_the_end() : beyond(round); };
    if (!watch(healing_max, there))
      checkers_.blame(fmt::format("not all came to round {} and one state in {:.0f} s{}", round,
                                  to_seconds(healing_max), where_all_are()));
  }

  bool at_the_end() {
    for (auto const& [machine, ending] : swarm_.endings) {
      if (!ending.ended) return false;
      if (!ending.error.empty() || ending.round != options_.rounds)
        checkers_.blame(
            fmt::format("peer {} ended in round {} {}", machine, ending.round, ending.error));
    }
    return true;
  }

  // Where they are not, the fastest may still make every round alone for a long time (seed 793).
  [[nodiscard]] bool equally_fast() const {
    return std::ranges::all_of(options_.machines, [this](auto const& machine) {
      return machine.second.train.max == options_.machines.at(0).train.max;
    });
  }

  bool beyond(std::uint64_t round) {
    std::set<Hash> states;
    bool mixed = options_.mixing.nothing() || !equally_fast();
    for (auto const& [machine, ending] : swarm_.endings) {
      auto& node = swarm_.node(machine);
      auto const shown = node.snapshot();
      if (ending.ended || !node.ready() || shown.round.current < round) return false;
      for (auto const& [topic, peers] : shown.network.mesh)
        if (peers == 0) return false;
      states.insert(node.state_hash());
      for (auto const* mix : {&shown.round.mix1, &shown.round.mix2})
        mixed |= mix->state == "done" && mix->participants.size() > 1;
    }
    return mixed && (!options_.mixing.one_state() || states.size() == 1);
  }

  void stop() {
    for (auto const& [machine, ending] : swarm_.endings) swarm_.node(machine).stop();
    if (!watch(stopping_max, [this] { return swarm_.all_ended(); }))
      return checkers_.blame("not all stopped" + where_all_are());
    for (auto const& [machine, ending] : swarm_.endings)
      if (swarm_.world.tasks(machine) > 0)
        checkers_.blame(fmt::format("peer {} has stopped, and {} tasks of it go on", machine,
                                    swarm_.world.tasks(machine)));
  }

  std::uint64_t newest_round() {
    std::uint64_t newest = 0;
    for (auto const& [machine, ending] : swarm_.endings)
      if (swarm_.world.running(machine))
        newest = std::max(newest, swarm_.node(machine).snapshot().round.current);
    return newest;
  }

  std::string where_all_are() {
    std::string text;
    for (auto const& [machine, ending] : swarm_.endings) {
      auto const shown = swarm_.node(machine).snapshot();
      text += fmt::format("; peer {} in round {} {} {} with {} connections {}{}", machine,
                          shown.round.current, swarm_.node(machine).state_hash().hex().substr(0, 6),
                          shown.round.phase, shown.network.connections,
                          ending.ended ? "ended " : "", ending.error);
      for (auto const& error : shown.errors) text += fmt::format(" [{}]", error.text);
    }
    return text;
  }

  Scenario scenario_;
  SwarmOptions const& options_;
  Swarm swarm_;
  Checkers checkers_;
};

}  // namespace

FaultRun run_with_faults(std::uint64_t seed) { return Run(draw_scenario(seed)).run(); }

}  // namespace grapevine::world
