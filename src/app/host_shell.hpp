// HostShell: the language of `grapevine host`: command lines in, one JSON object a line out.
// Commands run at the same time; each answers with its own result line. Loop thread only; owned by
// the command's main task.
#pragma once

#include "grapevine/net/host.hpp"
#include "grapevine/net/pubsub.hpp"
#include "grapevine/runtime/gate.hpp"

#include <list>
#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>
#include <vector>

namespace grapevine {

class HostShell {
 public:
  using Print = std::function<void(std::string const& line)>;
  HostShell(Doors doors, Identity identity, HostOptions options, Print print);
  ~HostShell();
  HostShell(HostShell const&) = delete;

  // Binds, subscribes to `topics`, prints the ready line.
  Result<> start(std::vector<std::string> const& topics);
  // Lines until the end of the input, `quit` or stop(). With `serve` an input without a single line
  // does not end it.
  Awaitable<> run(bool serve);
  void stop();          // asks run() to end
  Awaitable<> leave();  // after run(): says goodbye to everybody

 private:
  struct Line;
  using Fields = nlohmann::ordered_json;
  using Outcome = Result<Fields>;
  using Command = Awaitable<Outcome> (HostShell::*)(std::vector<std::string>);
  struct Entry {
    std::size_t arguments_min;
    std::size_t arguments_max;
    Command run;
  };
  static std::map<std::string, Entry, std::less<>> const& commands();

  Awaitable<> read_lines(bool serve);
  Awaitable<> wait_for_stop();
  Awaitable<> execute(std::string line);
  void print_event(Host::Event const& event);
  void subscribe(std::string const& topic);

  Awaitable<Outcome> listen(std::vector<std::string> words);
  Awaitable<Outcome> dial(std::vector<std::string> words);
  Awaitable<Outcome> id(std::vector<std::string> words);
  Awaitable<Outcome> ping(std::vector<std::string> words);
  Awaitable<Outcome> sub(std::vector<std::string> words);
  Awaitable<Outcome> pub(std::vector<std::string> words);
  Awaitable<Outcome> topicpeers(std::vector<std::string> words);
  Awaitable<Outcome> perf(std::vector<std::string> words);
  Awaitable<Outcome> perfpar(std::vector<std::string> words);
  Awaitable<Outcome> streams(std::vector<std::string> words);
  Awaitable<Outcome> handshakes(std::vector<std::string> words);
  Awaitable<Outcome> unknown(std::vector<std::string> words);
  Awaitable<Outcome> peers(std::vector<std::string> words);
  Awaitable<Outcome> close(std::vector<std::string> words);

  Awaitable<> perf_into(PeerId peer, std::uint64_t up, std::uint64_t down,
                        std::vector<Result<Host::PerfResult>>& into);
  Awaitable<> open_many(PeerId peer, std::uint64_t& left, std::optional<Error>& failure);
  Awaitable<Result<double>> stream_rate(PeerId peer, std::uint64_t count, std::size_t at_once);

  Doors doors_;
  Print print_;
  Host host_;
  PubSub pubsub_;
  bool stopping_ = false;
  Gate stop_asked_;
  std::list<Host> newcomers_;  // of handshakes; a command that is cut short leaves its own behind
  TaskGroup running_;
};

}  // namespace grapevine
