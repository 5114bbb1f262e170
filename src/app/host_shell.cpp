#include "app/host_shell.hpp"

#include "app/line_reader.hpp"
#include "grapevine/crypto/hash.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

namespace grapevine {

// "@tag command argument…"
struct HostShell::Line {
  std::string tag;
  std::string command;
  std::vector<std::string> arguments;

  static Line parse(std::string const& text) {
    Line line;
    std::istringstream in(text);
    std::string word;
    while (in >> word) {
      if (line.tag.empty() && line.command.empty() && word.starts_with('@'))
        line.tag = word.substr(1);
      else if (line.command.empty())
        line.command = word;
      else
        line.arguments.push_back(word);
    }
    return line;
  }
};

HostShell::HostShell(Doors doors, Identity identity, HostOptions options, Print print)
    : doors_(doors),
      print_(std::move(print)),
      host_(doors, std::move(identity), std::move(options)),
      pubsub_(doors, host_, {.seqno_first = doors.clock.unix_ns()}),
      running_(doors.executor) {
  host_.on_event([this](Host::Event const& event) { print_event(event); });
}

HostShell::~HostShell() = default;

Result<> HostShell::start(std::vector<std::string> const& topics) {
  TRY(host_.start());
  pubsub_.start();
  for (auto const& topic : topics) subscribe(topic);
  Fields ready{{"ev", "ready"}, {"peer", host_.id().text()}};
  auto const bound = host_.addresses();
  for (auto const& address : bound) ready["addrs"].push_back(address.with_peer(host_.id()).text());
  print_(ready.dump());
  return {};
}

Awaitable<> HostShell::run(bool serve) {
  std::vector<Awaitable<>> either;
  either.push_back(read_lines(serve));
  either.push_back(wait_for_stop());
  co_await first_of(std::move(either));
  running_.cancel();
  co_await running_.join();
}

Awaitable<> HostShell::leave() {
  for (auto& newcomer : newcomers_) co_await newcomer.stop();
  co_await pubsub_.stop();
  co_await host_.stop();
}

void HostShell::stop() {
  stopping_ = true;
  stop_asked_.notify_all();
}

Awaitable<> HostShell::wait_for_stop() {
  while (!stopping_) co_await stop_asked_.wait();
}

Awaitable<> HostShell::read_lines(bool serve) {
  LineReader reader(doors_.train);  // nothing trains here: its thread may block on the input
  bool any = false;
  while (auto const line = co_await reader.next()) {
    any = true;
    auto const parsed = Line::parse(*line);
    if (parsed.command == "quit") co_return;
    if (!parsed.command.empty()) running_.spawn(execute(*line));
  }
  if (serve && !any) co_await wait_for_stop();
  co_await running_.join();  // a script's last commands still get their answers
}

Awaitable<> HostShell::execute(std::string text) {
  auto const line = Line::parse(text);
  Fields answer{{"ev", "result"}, {"cmd", line.command}};
  if (!line.tag.empty()) answer["tag"] = line.tag;
  Outcome outcome = Fields::object();
  auto const entry = commands().find(line.command);
  if (entry == commands().end()) {
    outcome = fail(Errc::usage, "no command " + line.command);
  } else if (line.arguments.size() < entry->second.arguments_min ||
             line.arguments.size() > entry->second.arguments_max) {
    outcome = fail(Errc::usage, "wrong number of arguments for " + line.command);
  } else {
    outcome = co_await (this->*entry->second.run)(line.arguments);
  }
  answer["ok"] = outcome.has_value();
  if (outcome)
    answer.update(*outcome);
  else
    answer["error"] = outcome.error().message();
  print_(answer.dump(-1, ' ', false, Fields::error_handler_t::replace));
}

void HostShell::print_event(Host::Event const& event) {
  Fields shown;
  switch (event.kind) {
    case Host::Event::connected:
      shown = {{"ev", "connected"},
               {"peer", event.peer.text()},
               {"dir", event.direction == Direction::inbound ? "inbound" : "outbound"},
               {"addr", event.address.text()}};
      break;
    case Host::Event::disconnected:
      shown = {{"ev", "disconnected"}, {"peer", event.peer.text()}, {"reason", event.reason}};
      break;
    case Host::Event::identified:
      return;
  }
  print_(shown.dump(-1, ' ', false, Fields::error_handler_t::replace));
}

void HostShell::subscribe(std::string const& topic) {
  auto const accept = [](GossipMessage const&) { return Verdict::accept; };
  auto const show = [this](GossipMessage const& message) {
    Fields const shown{{"ev", "message"},
                       {"topic", message.topic},
                       {"from", message.from.text()},
                       {"seqno", fmt::format("{:016x}", message.seqno)},
                       {"hash", sha256(message.data).hex()},
                       {"size", message.data.size()},
                       {"via", message.via.text()}};
    print_(shown.dump(-1, ' ', false, Fields::error_handler_t::replace));
  };
  pubsub_.subscribe(topic, accept, show);
}

}  // namespace grapevine
