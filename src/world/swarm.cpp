#include "grapevine/world/swarm.hpp"

#include "grapevine/node/ledger.hpp"

#include <limits>

namespace grapevine::world {
namespace {

constexpr std::uint16_t port = 4001;

// What a step takes there on the average; more than the node's slice, so that a slice is one step.
double seconds_per_step(sim::NodeOptions const& machine) {
  return to_seconds(machine.train.min + machine.train.max) / 2;
}

sim::NodeOptions machine_of(SwarmOptions const& options, std::size_t machine) {
  auto const known = options.machines.find(machine);
  return known == options.machines.end() ? usual_machine : known->second;
}

TrainSettings settings_of(InnerOptimizer const& inner) {
  TrainSettings settings;
  settings.lr = inner.lr;
  settings.lr_final = inner.lr_final;
  settings.warmup_steps = inner.warmup_steps;
  settings.schedule_steps = inner.schedule_steps;
  settings.weight_decay = inner.weight_decay;
  settings.clip_norm = inner.clip_norm;
  settings.batch = inner.batch;
  return settings;
}

Multiaddr address_of(std::size_t machine) {
  return Multiaddr::tcp_address({sim::World::address(machine), port});
}

RunManifest run_of(SwarmOptions const& options) {
  RunManifest run;
  run.name = "simulated";
  run.seed = options.seed;
  run.inner_steps = options.inner_steps;
  run.rounds = options.rounds;
  run.mixing = options.mixing;
  run.shards = options.shards;
  run.tokenizer = reference_tokenizer;
  run.inner.lr = 0.05F;
  run.inner.lr_final = 0.005F;
  run.inner.warmup_steps = 0;
  run.inner.batch = 16;
  if (options.change_run) options.change_run(run);
  return run;
}

NodeOptions node_options(SwarmOptions const& options, std::size_t machine, TrainerRecord& record) {
  NodeOptions node;
  node.name = "peer-" + std::to_string(machine);
  node.listen = {address_of(machine)};
  if (machine == 0)
    node.create = run_of(options);
  else
    node.bootstrap = {address_of(0)};
  node.retry = true;
  node.linger = 30s;
  if (options.witness) node.checkpoints_kept = std::numeric_limits<std::uint32_t>::max();
  if (auto const allowed = options.allowances.find(machine); allowed != options.allowances.end())
    node.allowance = allowed->second;
  if (options.make_trainer) {
    node.make_trainer = [make = options.make_trainer, machine](RunManifest const& run,
                                                               PeerId const& self) {
      return make(machine, run, self);
    };
    return node;
  }
  auto const known = options.trainers.find(machine);
  auto const faults = known == options.trainers.end() ? TrainerFaults{} : known->second;
  node.make_trainer = [options, machine, faults, &record](RunManifest const& run, PeerId const&) {
    ReferenceOptions reference;
    reference.hidden = options.hidden;
    reference.seconds_per_step = seconds_per_step(machine_of(options, machine));
    reference.run_seed = run.seed;
    reference.data_seed = run.seed * 1000 + machine;
    reference.settings = settings_of(run.inner);
    return make_watched_trainer(reference, faults, record);
  };
  return node;
}

class NodeProgram final : public sim::Program {
 public:
  NodeProgram(Doors doors, NodeOptions options, Swarm::Ending& ending)
      : node_(doors, std::move(options)), ending_(ending) {
    ending_ = {};
  }
  Awaitable<> run() override {
    auto const result = co_await node_.run();
    auto const shown = node_.snapshot();
    ending_ = {true, result ? "" : result.error().message(), shown.round.current,
               node_.state_hash()};
  }
  Node& node() { return node_; }

 private:
  Node node_;
  Swarm::Ending& ending_;
};

}  // namespace

Swarm::Swarm(SwarmOptions options)
    : world({.seed = options.seed, .link = options.link}), options_(std::move(options)) {
  for (std::size_t i = 0; i < options_.peers; ++i) add_peer();
  for (auto const& ways : options_.hostile) add_hostile(ways);
  if (options_.witness) add_witness();
}

void Swarm::add_hostile(std::set<Bent> const& ways) {
  HostileOptions hostile;
  hostile.bootstrap = addresses();
  hostile.ways = ways;
  auto make = [hostile](Doors doors) { return make_hostile_peer(doors, hostile); };
  world.add_node(make, usual_machine);
}

void Swarm::add_witness() {
  auto make = [this](Doors doors) { return make_witness(doors, addresses(), testimony_); };
  world.add_node(make, usual_machine);
}

std::vector<Multiaddr> Swarm::addresses() const {
  std::vector<Multiaddr> addresses;
  for (std::size_t i = 0; i < options_.peers; ++i) addresses.push_back(address_of(i));
  return addresses;
}

void Swarm::add_peer() {
  std::size_t const machine = endings.size();
  auto& ending = endings[machine];
  auto& record = trained[machine];
  auto make = [this, machine, &ending, &record](Doors doors) -> std::unique_ptr<sim::Program> {
    return std::make_unique<NodeProgram>(doors, node_options(options_, machine, record), ending);
  };
  world.add_node(make, machine_of(options_, machine));
}

Node& Swarm::node(std::size_t machine) {
  return static_cast<NodeProgram&>(world.program(machine)).node();
}

bool Swarm::all_ended() const {
  for (auto const& [machine, ending] : endings)
    if (!ending.ended) return false;
  return true;
}

Result<std::vector<Verified<LedgerEntry>>> Swarm::ledger(std::size_t machine) {
  TRY_ASSIGN(auto const opened, Ledger::open(world.doors(machine).storage));
  TRY_ASSIGN(auto const bytes, opened->entries(1, 10'000));
  std::vector<Verified<LedgerEntry>> entries;
  Hash previous;
  for (auto const& signed_entry : bytes) {
    TRY_ASSIGN(auto entry, verify_ledger_entry(signed_entry));
    if (entry->previous != previous)
      return fail(Errc::database_corrupt, "the entry of round " + std::to_string(entry->round) +
                                              " does not follow the one before");
    previous = sha256(signed_entry);
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<Checkpoint> Swarm::checkpoint(std::size_t machine, std::uint64_t round) {
  ReferenceOptions reference;
  reference.hidden = options_.hidden;
  TRY_ASSIGN(auto const layout, reference_layout(reference));
  return checkpoint(machine, round, layout);
}

Result<Checkpoint> Swarm::checkpoint(std::size_t machine, std::uint64_t round,
                                     TensorLayout const& layout) {
  auto const folder = "checkpoints/" + std::to_string(round);
  auto& storage = world.doors(machine).storage;
  TRY_ASSIGN(auto const names, storage.list(folder));
  std::map<std::string, Bytes> files;
  for (auto const& name : names) {
    TRY_ASSIGN(files[name], storage.read(folder + "/" + name, checkpoint_file_bytes_max(layout)));
  }
  return parse_checkpoint(files, layout);
}

}  // namespace grapevine::world
