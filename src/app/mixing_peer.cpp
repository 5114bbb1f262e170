#include "app/mixing_peer.hpp"

#include "app/command_line.hpp"
#include "app/home.hpp"
#include "app/vector_trainer.hpp"
#include "grapevine/node/node.hpp"
#include "grapevine/runtime/runtime.hpp"

#include <fmt/core.h>
#include <sys/resource.h>
#include <nlohmann/json.hpp>

#include <cstdio>

namespace grapevine {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration step = 1s;  // long enough for the others to come
constexpr std::uint32_t rounds_kept = 1;

void print(Json const& line) {
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
}

RunManifest run_of(MixingPeerOptions const& options) {
  RunManifest run;
  run.name = "mixing";
  run.tokenizer = reference_tokenizer;
  run.mixing.joint = options.pattern == MixPattern::pair;
  run.mixing.mix1 = run.mixing.joint ? MixPattern::pair : MixPattern::none;
  run.mixing.mix2 = options.pattern;
  run.mixing.mix2_codec = options.codec;
  if (run.mixing.joint) run.mixing.mix1_codec = options.codec;
  run.inner_steps = 1;
  run.rounds = options.rounds;
  run.outer = {.lr = 0.7F, .momentum = 0.9F, .nesterov = true};
  run.deadline_s_min = 5;
  return run;
}

Result<NodeOptions> node_options(MixingPeerOptions const& options) {
  NodeOptions node;
  node.listen = {Multiaddr::tcp_address({IpAddress::v4(127, 0, 0, 1), 0})};
  if (options.bootstrap.empty()) {
    node.create = run_of(options);
  } else {
    TRY_ASSIGN(auto const address, Multiaddr::parse(options.bootstrap));
    node.bootstrap = {address};
  }
  node.checkpoint_every = ~0U;
  node.checkpoints_kept = rounds_kept;
  node.evaluate = false;
  // What two peers send must differ: equal bytes have one name and are sent once.
  node.make_trainer = [elements = options.elements](RunManifest const&, PeerId const& self) {
    return make_vector_trainer(elements, step, 1e-8F * static_cast<float>(self.bytes().back() + 1));
  };
  return node;
}

double seconds_of(timeval const& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

rusage used() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used;
}

double cpu_seconds() { return seconds_of(used().ru_utime) + seconds_of(used().ru_stime); }

// Tells what changed since it last looked.
class Teller {
 public:
  explicit Teller(Node& node) : node_(node) {
    node_.on_change([this] { look(); });
  }

 private:
  void look() {
    auto const now = node_.snapshot();
    if (!told_address_ && now.run && !now.addresses.empty()) {
      told_address_ = true;
      print({{"address", now.addresses.front().text()}});
    }
    if (now.round.current == told_round_ || now.round.mix2.state != "done") return;
    told_round_ = now.round.current;
    print({{"round", now.round.current - 1},
           {"participants", now.round.mix2.participants.size()},
           {"mix_s", now.round.mix2.duration_s},
           {"bytes_out", now.round.mix2.bytes_out},
           {"cpu_s", cpu_seconds()}});
  }

  Node& node_;
  bool told_address_ = false;
  std::uint64_t told_round_ = 0;
};

Awaitable<> run_node(Node& node, Result<>& into) { into = co_await node.run(); }

}  // namespace

int run_mixing_peer(MixingPeerOptions const& options) {
  auto const storage = open_home(options.home);
  if (!storage) return end_with(storage.error(), true);
  auto made = node_options(options);
  if (!made) return end_with(made.error(), true);
  Runtime runtime(**storage);
  Result<> result;
  {
    Node node(runtime.doors(), std::move(*made));
    Teller const teller(node);
    runtime.on_stop_signal([&node](int) { node.stop(); });
    runtime.run(run_node(node, result));
  }
  if (!result) return end_with(result.error(), true);
  print({{"rss_bytes_max", std::uint64_t(used().ru_maxrss) * 1024}});
  return 0;
}

}  // namespace grapevine
