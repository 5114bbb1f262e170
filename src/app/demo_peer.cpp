#include "app/demo_peer.hpp"

#include "app/command_line.hpp"
#include "app/home.hpp"
#include "app/http_client.hpp"

#include <nlohmann/json.hpp>

#include <csignal>

namespace grapevine {

namespace {

using Json = nlohmann::json;

constexpr std::size_t output_bytes_max = 16 * 1024 * 1024;
constexpr Duration status_patience = 1s;

DemoFigures figures_of(Json const& page) {
  DemoFigures figures;
  auto const& round = page.at("round");
  auto const& training = page.at("training");
  auto const& network = page.at("network");
  figures.state = page.at("state").get<std::string>();
  figures.round = round.at("current").get<std::uint64_t>();
  figures.step = round.at("inner_step").get<std::uint32_t>();
  figures.steps = round.at("inner_steps").get<std::uint32_t>();
  if (training.at("loss").is_number()) figures.loss = training["loss"].get<double>();
  figures.tokens_per_s = training.at("tokens_per_s").get<double>();
  auto const participants = round.at("mix2").at("participants").size();
  figures.mixed_with = participants > 0 ? participants - 1 : 0;
  figures.bytes_sent = network.at("bytes_out").get<std::uint64_t>();
  figures.bytes_received = network.at("bytes_in").get<std::uint64_t>();
  figures.cpu_train_s = page.at("resources").at("cpu_train_s").get<double>();
  figures.cpu_node_s = page.at("resources").at("cpu_node_s").get<double>();
  auto const& addrs = page.at("peer").at("addrs");
  if (page.at("run").is_object() && !addrs.empty()) figures.address = addrs[0].get<std::string>();
  return figures;
}

std::optional<double> number_in(Json const& json, char const* key) {
  auto const& value = json.at(key);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

DemoSummary summary_of(Json const& json) {
  return {.id = json.at("peer").get<std::string>(),
          .rounds = json.at("rounds").get<std::uint64_t>(),
          .loss_first = number_in(json, "loss_first"),
          .loss_last = number_in(json, "loss_last"),
          .participants_last = json.at("participants_last").get<std::uint32_t>(),
          .tokens_total = json.at("tokens_total").get<std::uint64_t>(),
          .bytes_sent = json.at("bytes_sent").get<std::uint64_t>(),
          .bytes_received = json.at("bytes_received").get<std::uint64_t>(),
          .checkpoint = json.at("checkpoint").get<std::string>()};
}

}  // namespace

Result<DemoPeer> DemoPeer::start(std::string const& home, std::string name,
                                 std::vector<std::string> arguments) {
  auto const base = home + "/" + name;
  std::vector<std::string> all{"up", "--json",   "--home",      base,       "--name",
                               name, "--status", "127.0.0.1:0", "--listen", "/ip4/127.0.0.1/tcp/0"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  TRY_ASSIGN(auto process, ChildProcess::start(std::move(all), base + ".out", base + ".log"));
  return DemoPeer(std::move(name), base, std::move(process));
}

void DemoPeer::refresh() {
  if (auto const code = exit_code()) {
    if (!killed_) figures_.state = *code == 0 ? "done" : "failed";
    return;
  }
  if (!status_) {
    auto const text = read_text_file(base_ + "/" + status_address_path, 256);
    if (!text) return;
    auto const at = parse_endpoint("status", *text);
    if (!at) return;
    status_ = *at;
  }
  auto const answer = http_get(*status_, "/status", status_patience);
  if (!answer || answer->status != 200) return;
  try {
    figures_ = figures_of(Json::parse(answer->body));
    if (first_loss_ == 0) first_loss_ = figures_.loss;
  } catch (Json::exception const&) {
    // A page cut short by the peer's end: the figures before it are the newest.
  }
}

void DemoPeer::kill() {
  killed_ = true;
  process_.signal(SIGKILL);
}

void DemoPeer::stop() { process_.signal(SIGTERM); }

std::string DemoPeer::last_line() const {
  auto output = read_text_file(base_ + ".out", output_bytes_max).value_or("");
  while (output.ends_with('\n')) output.pop_back();
  auto const line = output.rfind('\n');
  return output.substr(line == std::string::npos ? 0 : line + 1);
}

Result<DemoSummary> DemoPeer::summary() const {
  try {
    return summary_of(Json::parse(last_line()));
  } catch (Json::exception const&) {
    return tl::unexpected(failure());
  }
}

Error DemoPeer::failure() const {
  auto const line = Json::parse(last_line(), nullptr, false);
  try {
    auto const& error = line.at("error");
    auto const row = explain(error.at("code").get<std::string>());
    if (row) return Error(row->errc, name_ + ": " + error.at("message").get<std::string>());
  } catch (Json::exception const&) {
    // It ended without a word of its own.
  }
  return Error(Errc::internal, name_ + " ended without a summary; see " + log_path());
}

}  // namespace grapevine
