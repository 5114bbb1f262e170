#include "sim/swarm.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/train/checkpoint.hpp"
#include "node/ledger_detail.hpp"

namespace grapevine::test {
namespace {

constexpr std::uint16_t port = 4001;
constexpr double seconds_per_step = 0.5;  // so that a slice of training is one step

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

RunManifest run_of(SwarmOptions const& options) {
  RunManifest run;
  run.name = "simulated";
  run.seed = options.seed;
  run.inner_steps = options.inner_steps;
  run.rounds = options.rounds;
  run.mix = options.mix;
  run.tokenizer = reference_tokenizer;
  run.inner.lr = 0.05F;
  run.inner.lr_final = 0.005F;
  run.inner.warmup_steps = 0;
  run.inner.batch = 16;
  return run;
}

NodeOptions node_options(SwarmOptions const& options, std::size_t machine) {
  NodeOptions node;
  node.name = "peer-" + std::to_string(machine);
  node.listen = {Multiaddr::tcp_address({sim::World::address(machine), port})};
  if (machine == 0)
    node.create = run_of(options);
  else
    node.bootstrap = {Multiaddr::tcp_address({sim::World::address(0), port})};
  node.retry = true;
  node.linger = 30s;
  node.make_trainer = [options, machine](RunManifest const& run, PeerId const&) {
    ReferenceOptions reference;
    reference.hidden = options.hidden;
    reference.seconds_per_step = seconds_per_step;
    reference.run_seed = run.seed;
    reference.data_seed = run.seed * 1000 + machine;
    reference.settings = settings_of(run.inner);
    if (machine == 1) reference.not_finite_at = options.not_finite_at;
    return make_reference_trainer(reference);
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
    : world({.seed = options.seed, .link = {sim::rules::delay(10ms), sim::rules::jitter(20ms)}}),
      options_(options) {
  for (std::size_t i = 0; i < options_.peers; ++i) add_peer();
}

void Swarm::add_peer() {
  std::size_t const machine = endings.size();
  auto& ending = endings[machine];
  auto make = [this, machine, &ending](Doors doors) -> std::unique_ptr<sim::Program> {
    return std::make_unique<NodeProgram>(doors, node_options(options_, machine), ending);
  };
  world.add_node(make, {.train = {400ms, 600ms}, .heavy = {1ms, 10ms}});
}

Node& Swarm::node(std::size_t machine) {
  return static_cast<NodeProgram&>(world.program(machine)).node();
}

bool Swarm::all_ended() const {
  for (auto const& [machine, ending] : endings)
    if (!ending.ended) return false;
  return true;
}

std::vector<Verified<LedgerEntry>> Swarm::ledger(std::size_t machine) {
  auto opened = Ledger::open(world.doors(machine).storage);
  ASSERT(opened.has_value());
  auto const bytes = (*opened)->entries(1, 10'000);
  ASSERT(bytes.has_value());
  std::vector<Verified<LedgerEntry>> entries;
  Hash previous;
  for (auto const& signed_entry : *bytes) {
    auto entry = verify_ledger_entry(signed_entry);
    ASSERT(entry.has_value());
    ASSERT((*entry)->previous == previous);
    previous = sha256(signed_entry);
    entries.push_back(*entry);
  }
  return entries;
}

std::vector<float> Swarm::checkpoint(std::size_t machine, std::uint64_t round) {
  ReferenceOptions reference;
  reference.hidden = options_.hidden;
  auto const layout = reference_layout(reference);
  ASSERT(layout.has_value());
  auto const file = world.doors(machine).storage.read(
      "checkpoints/" + std::to_string(round) + "/model.safetensors",
      checkpoint_file_bytes_max(*layout));
  ASSERT(file.has_value());
  auto const parameters = read_model_file(*file, *layout);
  ASSERT(parameters.has_value());
  return *parameters;
}

}  // namespace grapevine::test
