// `grapevine demo`: starts a swarm of this same program on loopback, watches it from outside as
// anybody could, kills a part of it and judges what came of it.

#include "app/command_line.hpp"
#include "app/commands.hpp"
#include "app/demo_data.hpp"
#include "app/demo_options.hpp"
#include "app/demo_outcome.hpp"
#include "app/demo_view.hpp"
#include "grapevine/base/log.hpp"
#include "grapevine/runtime/steady_clock.hpp"
#include "grapevine/tensor/model_config.hpp"
#include "grapevine/wire/mix_pattern.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

namespace grapevine {

namespace {

// Rounds short enough that a swarm shows what it is within two minutes on two cores.
constexpr std::uint32_t inner_steps = 120;
constexpr std::uint32_t batch = 4;
constexpr long tick_ms = 400;
constexpr Duration start_patience = 60s;
constexpr Duration stall_max = 120s;  // nobody makes a step for so long: the demo has failed
constexpr Duration stop_patience = 5s;

class Demo {
 public:
  explicit Demo(DemoOptions options)
      : options_(std::move(options)), view_(options_.json ? stderr : stdout) {
    ::sigemptyset(&awaited_);
    for (int const number : {SIGINT, SIGTERM, SIGCHLD}) ::sigaddset(&awaited_, number);
    ::pthread_sigmask(SIG_BLOCK, &awaited_, nullptr);
  }

  int run() {
    auto ended = play();
    if (stopped_by_ != 0) {
      stop_everyone();
      view_.say("Stopped. Everything is in " + options_.home);
      return 128 + stopped_by_;
    }
    if (!ended && peers_.empty()) clear_home();
    if (!ended) return end_with(ended.error(), options_.json);
    return report();
  }

 private:
  // Until everyone has ended, or a signal came.
  Result<> play() {
    TRY_ASSIGN(auto const model, model_preset(options_.preset));
    DatasetOptions const data{.path = options_.data,
                              .vocab_size = model.vocab_size,
                              .context = model.context,
                              .batch = batch};
    TRY_ASSIGN(shares_, share_data(data, data_folder(), options_.peers));
    TRY(write_manifest());
    view_.say(fmt::format("{} peers train a {} model together for {} rounds, each on its own text.",
                          options_.peers, options_.preset, options_.rounds));
    TRY(start_peer(0, {"--new", "--manifest", manifest_path()}));
    TRY(wait_for_address());
    if (stopped_by_ != 0) return {};
    view_.say("The others know one address: " + peers_[0].figures().address);
    for (std::uint32_t i = 1; i < options_.peers; ++i) {
      TRY(start_peer(i, {"--bootstrap", peers_[0].figures().address}));
    }
    TRY_ASSIGN(auto alone, start("alone", 0, {"--new", "--manifest", manifest_path()}));
    alone_.push_back(std::move(alone));
    return watch();
  }

  [[nodiscard]] std::string data_folder() const { return options_.home + "/data"; }
  [[nodiscard]] std::string manifest_path() const { return options_.home + "/run.json"; }

  // Nothing has begun: there is nothing in it that anybody could want to look at.
  void clear_home() {
    std::error_code ignored;
    std::filesystem::remove_all(options_.temporary ? options_.home : data_folder(), ignored);
    std::filesystem::remove(manifest_path(), ignored);
  }

  Result<> write_manifest() {
    TRY_ASSIGN(auto const mixing, mixing_method(options_.method, options_.codec));
    nlohmann::json const manifest{
        {"name", "demo"},
        {"mix1", to_string(mixing.mix1)},
        {"mix2", to_string(mixing.mix2)},
        {"joint", mixing.joint},
        {"mix1_codec", codec_name(mixing.mix1_codec)},
        {"mix2_codec", codec_name(mixing.mix2_codec)},
        {"model", {{"preset", options_.preset}}},
        {"inner_steps", inner_steps},
        {"rounds", options_.rounds},
        // Few outer steps: little momentum, or the first gradients are followed for too long.
        {"outer", {{"lr", 0.8}, {"momentum", 0.5}}},
        {"inner",
         {{"batch", batch},
          {"lr", 3e-3},
          {"lr_final", 1.2e-3},
          {"warmup_steps", 10},
          {"schedule_steps", std::max<std::uint64_t>(options_.rounds * inner_steps, 100)}}}};
    std::ofstream file(manifest_path());
    file << manifest.dump(2) << std::flush;
    if (!file) return fail(Errc::not_writable, manifest_path());
    return {};
  }

  Result<DemoPeer> start(std::string name, std::uint32_t share,
                         std::vector<std::string> arguments) {
    auto const cores = std::max(1U, std::thread::hardware_concurrency());
    auto const threads = std::max(1U, cores / (options_.peers + 1));
    arguments.insert(arguments.end(),
                     {"--data", shares_[share], "--threads", std::to_string(threads)});
    return DemoPeer::start(options_.home, std::move(name), std::move(arguments));
  }

  Result<> start_peer(std::uint32_t index, std::vector<std::string> arguments) {
    TRY_ASSIGN(auto peer, start("peer-" + std::to_string(index + 1), index, std::move(arguments)));
    peers_.push_back(std::move(peer));
    return {};
  }

  Result<> wait_for_address() {
    auto const until = clock_.now() + start_patience;
    while (stopped_by_ == 0 && peers_[0].figures().address.empty()) {
      if (peers_[0].exit_code()) return tl::unexpected(peers_[0].failure());
      if (clock_.now() > until)
        return fail(Errc::timed_out, "the first peer does not start; see " + peers_[0].log_path());
      tick();
      peers_[0].refresh();
    }
    return {};
  }

  Result<> watch() {
    auto progress_at = clock_.now();
    std::uint64_t progress = 0;
    while (stopped_by_ == 0 && !everyone_ended()) {
      tick();
      std::uint64_t now = 0;
      for (auto& peer : peers_) {
        if (!peer.killed()) peer.refresh();
        now += peer.figures().round * inner_steps + peer.figures().step;
      }
      if (now != progress) progress_at = clock_.now();
      progress = now;
      if (clock_.now() - progress_at > stall_max)
        return fail(Errc::timed_out, "no peer makes progress; the logs are in " + options_.home);
      kill_some();
      view_.draw(peers_, elapsed_s());
    }
    return {};
  }

  // Once the swarm is half-way: the last to have come go, without a word.
  void kill_some() {
    if (killed_) return;
    std::uint64_t newest = 0;
    for (auto const& peer : peers_) newest = std::max(newest, peer.figures().round);
    if (newest * 2 < options_.rounds) return;
    killed_ = true;
    for (std::uint32_t i = 0; i < options_.kill; ++i) {
      auto& victim = peers_[options_.peers - 1 - i];
      victim.kill();
      view_.say(fmt::format("Killing {}. The others carry on.", victim.name()));
    }
  }

  bool everyone_ended() {
    auto const ended = [](DemoPeer& peer) { return peer.exit_code().has_value(); };
    return std::ranges::all_of(peers_, ended) && std::ranges::all_of(alone_, ended);
  }

  // The pause between two looks, cut short by a signal.
  void tick() {
    timespec const pause{0, tick_ms * 1'000'000};
    int const number = ::sigtimedwait(&awaited_, nullptr, &pause);
    if (number == SIGINT || number == SIGTERM) stopped_by_ = number;
  }

  void stop_everyone() {
    for (auto& peer : peers_) peer.stop();
    for (auto& peer : alone_) peer.stop();
    auto const until = clock_.now() + stop_patience;
    while (!everyone_ended() && clock_.now() < until) tick();
    peers_.clear();  // what has not ended by now is killed
    alone_.clear();
  }

  int report() {
    ::pthread_sigmask(SIG_UNBLOCK, &awaited_, nullptr);  // nobody is left to stop
    auto outcome = gather_outcome(options_, peers_);
    outcome.seconds = elapsed_s();
    if (auto const judged = judge(outcome); !judged) return end_with(judged.error(), options_.json);
    view_.say(outcome_text(outcome));
    if (options_.json) fmt::print("{}\n", outcome_json(options_, outcome));
    if (outcome.success()) return 0;
    view_.say("The demo did not succeed; the peers' logs are in " + options_.home);
    return static_cast<int>(ExitCode::failed);
  }

  Result<> judge(DemoOutcome& outcome) {
    if (!outcome.all_finished()) return {};
    TRY_ASSIGN(auto const alone, alone_.front().summary());
    return judge_models(outcome, alone.checkpoint, shares_);
  }

  [[nodiscard]] double elapsed_s() const { return to_seconds(clock_.now() - started_); }

  DemoOptions options_;
  SteadyClock clock_;
  Instant started_ = clock_.now();
  DemoView view_;
  sigset_t awaited_{};
  int stopped_by_ = 0;
  bool killed_ = false;
  std::vector<std::string> shares_;
  std::vector<DemoPeer> peers_;
  std::vector<DemoPeer> alone_;  // trains as long by itself, for comparison
};

}  // namespace

int demo_command(int argc, char** argv) {
  auto parsed = parse_demo_options(argc, argv);
  if (auto const* code = std::get_if<int>(&parsed)) return *code;
  set_log_level(LogLevel::warn);
  return Demo(std::move(std::get<DemoOptions>(parsed))).run();
}

}  // namespace grapevine
