#include "app/up_report.hpp"

#include "app/pause_words.hpp"
#include "grapevine/base/log.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace grapevine {

namespace {

template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print(format, std::forward<Args>(args)...);
  fmt::print("\n");
  std::fflush(stdout);  // a line is for now, also into a pipe
}

bool is_loopback(Multiaddr const& address) {
  auto const endpoint = address.tcp_endpoint();
  return endpoint && endpoint->ip.is_loopback();
}

// What others reach most likely: a public address, then one of the same network.
int usefulness(Multiaddr const& address) {
  auto const endpoint = address.tcp_endpoint();
  if (!endpoint) return 3;  // a name that somebody announced
  if (endpoint->ip.is_loopback()) return 0;
  return endpoint->ip.is_private() ? 1 : 2;
}

std::string missing_words(Snapshot::Round::Mix const& mix, PeerId const& self) {
  std::string others, own;
  for (auto const& [peer, reason] : mix.missing) {
    if (peer == self)
      own = fmt::format("; this peer's own part is not in it ({})", printable(reason));
    else
      others += fmt::format("{} {} ({})", others.empty() ? "; without" : ",", peer.brief(),
                            printable(reason));
  }
  return others + own;
}

}  // namespace

UpReport::UpReport(Node& node) : node_(node) {
  node_.on_change([this] {
    changed_ = true;
    changed_gate_.notify_all();
  });
}

Awaitable<> UpReport::follow() {
  for (;;) {
    while (!changed_) co_await changed_gate_.wait();
    changed_ = false;
    co_await catch_up();
  }
}

Awaitable<> UpReport::catch_up() {
  auto const snapshot = node_.snapshot();
  if (!page_.empty() && (snapshot.run || !snapshot.errors.empty()))
    say("Status page: http://{}/", std::exchange(page_, {}));
  if (!join_said_ && snapshot.run && !snapshot.addresses.empty()) say_how_to_join(snapshot);
  if (!snapshot.run) co_return;
  say_state(snapshot);
  if (!entries_before_) entries_before_ = snapshot.ledger_entries;
  while (entries_read_ < snapshot.ledger_entries) {
    auto const rounds = co_await node_.history(next_round_);
    if (!rounds || rounds->empty()) co_return;  // the ledger's trouble is in the node's own log
    for (auto const& round : *rounds) take(round, snapshot);
  }
  // Not only after the last one read: a peer that was killed does the round again that it had
  // recorded and not yet on disk.
  next_round_ = snapshot.round.current;
}

void UpReport::take(RoundRecord const& round, Snapshot const& snapshot) {
  next_round_ = round.round + 1;
  if (round.entry <= entries_read_) return;
  entries_read_ = round.entry;
  if (!first_ && round.loss) first_ = round;
  last_ = round;
  if (round.entry > *entries_before_) say_round(round, snapshot);
}

void UpReport::say_how_to_join(Snapshot const& snapshot) {
  join_said_ = true;
  auto const& best = *std::ranges::max_element(snapshot.addresses, {}, usefulness);
  say("Peer {} takes part in run \"{}\" ({}).", snapshot.id.text(), printable(snapshot.run->name),
      snapshot.run_id.hex());
  say("Others join with:\n  grapevine up --bootstrap {} --data YOUR_TEXT", best.text());
  if (std::ranges::all_of(snapshot.addresses, is_loopback))
    say("Only this machine can reach that address. For others, listen on all interfaces: "
        "--listen /ip4/0.0.0.0/tcp/4001");
}

void UpReport::say_state(Snapshot const& snapshot) {
  say_pause(snapshot);
  if (state_said_ == snapshot.state) return;
  bool const first_training = !state_said_ || *state_said_ < PeerState::training;
  state_said_ = snapshot.state;
  if (snapshot.state == PeerState::syncing) say("Fetching the model from the other peers.");
  if (snapshot.state == PeerState::training && first_training)
    say("Training on {}: {} parameters, {} steps a round, from round {}.", snapshot.training.device,
        snapshot.run->parameters, snapshot.run->inner_steps, snapshot.round.current + 1);
}

void UpReport::say_pause(Snapshot const& snapshot) {
  auto const words =
      snapshot.pause ? pause_words(to_string(snapshot.state), *snapshot.pause) : std::string();
  if (words == pause_said_) return;
  say("{}", words.empty() ? "No longer paused." : words);
  pause_said_ = words;
}

void UpReport::say_round(RoundRecord const& round, Snapshot const& snapshot) {
  auto const of = snapshot.run && snapshot.run->rounds > 0
                      ? fmt::format(" of {}", snapshot.run->rounds)
                      : std::string();
  auto const held_out =
      round.eval_loss ? fmt::format(", held out {:.3f}", *round.eval_loss) : std::string();
  bool const newest = round.round + 1 == snapshot.round.current;
  auto const mixed = round.participants > 1 ? fmt::format("mixed {} peers", round.participants)
                                            : std::string("nobody to mix with");
  auto const learned = round.loss ? fmt::format("loss {:.3f}{}; {}", *round.loss, held_out, mixed)
                                  : std::string("the others' work alone, this peer came late");
  say("Round {}{}: {}, {:.1f} s{}", round.round + 1, of, learned, round.duration_s,
      newest ? missing_words(snapshot.round.mix2, snapshot.id) : std::string());
}

void UpReport::finish(bool json) {
  auto const snapshot = node_.snapshot();
  if (!snapshot.checkpoint.empty()) say("The newest checkpoint is {}", snapshot.checkpoint);
  if (!json) return;
  using Json = nlohmann::ordered_json;
  auto const loss_of = [](auto const& round) {
    return round && round->loss ? Json(*round->loss) : Json(nullptr);
  };
  Json const object{
      {"peer", snapshot.id.text()},
      {"run", snapshot.run ? Json(snapshot.run_id.hex()) : Json(nullptr)},
      {"rounds", snapshot.round.current},
      {"loss_first", loss_of(first_)},
      {"loss_last", loss_of(last_)},
      {"eval_loss", last_ && last_->eval_loss ? Json(*last_->eval_loss) : Json(nullptr)},
      {"participants_last", last_ ? last_->participants : 0},
      {"tokens_total", snapshot.training.tokens_total},
      {"bytes_sent", snapshot.network.bytes_out},
      {"bytes_received", snapshot.network.bytes_in},
      {"seconds", snapshot.uptime_s},
      {"checkpoint", snapshot.checkpoint}};
  say("{}", object.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace grapevine
