#include "app/demo_view.hpp"

#include "app/table.hpp"

#include <fmt/core.h>
#include <unistd.h>

namespace grapevine {

namespace {

std::string state_of(DemoPeer const& peer) {
  return peer.killed() ? "killed" : peer.figures().state;
}

std::string loss_text(double loss) { return loss > 0 ? fmt::format("{:.3f}", loss) : "-"; }

std::vector<std::string> row_of(DemoPeer const& peer) {
  auto const& figures = peer.figures();
  return {peer.name(),
          state_of(peer),
          fmt::format("{}", figures.round),
          fmt::format("{}/{}", figures.step, figures.steps),
          loss_text(figures.loss),
          fmt::format("{:.0f}", figures.tokens_per_s),
          fmt::format("{}", figures.mixed_with),
          bytes_text(figures.bytes_sent),
          bytes_text(figures.bytes_received)};
}

}  // namespace

DemoView::DemoView(std::FILE* out) : out_(out), terminal_(::isatty(::fileno(out)) != 0) {}

void DemoView::say(std::string const& line) {
  clear_table();
  fmt::print(out_, "{}\n", line);
  std::fflush(out_);
}

void DemoView::draw(std::vector<DemoPeer> const& peers, double elapsed_s) {
  if (terminal_)
    draw_table(peers, elapsed_s);
  else
    draw_lines(peers, elapsed_s);
  std::fflush(out_);
}

void DemoView::clear_table() {
  if (drawn_ > 0) fmt::print(out_, "\x1b[{}A\x1b[J", drawn_);
  drawn_ = 0;
}

void DemoView::draw_table(std::vector<DemoPeer> const& peers, double elapsed_s) {
  Table table({"peer", "state", "rounds", "step", "loss", "tokens/s", "mixed", "sent", "received"});
  for (auto const& peer : peers) table.add(row_of(peer));
  clear_table();
  fmt::print(out_, "{}  {:.0f} s\n", table.text(), elapsed_s);
  drawn_ = table.lines() + 1;
}

void DemoView::draw_lines(std::vector<DemoPeer> const& peers, double elapsed_s) {
  for (auto const& peer : peers) {
    auto const& figures = peer.figures();
    auto line = fmt::format("{} {}, {} done", peer.name(), state_of(peer),
                            count_text(figures.round, "round"));
    bool const trains = figures.state == "training" || figures.state == "mixing";
    auto const key = fmt::format("{} {} {}", figures.round, trains && figures.loss > 0,
                                 trains ? "" : state_of(peer));
    if (said_last_[peer.name()] == key) continue;
    said_last_[peer.name()] = key;
    if (figures.loss > 0)
      line += fmt::format(", loss {:.3f}, {:.0f} tokens/s, mixed with {}, {} sent", figures.loss,
                          figures.tokens_per_s, count_text(figures.mixed_with, "other"),
                          bytes_text(figures.bytes_sent));
    fmt::print(out_, "{:6.1f} s  {}\n", elapsed_s, line);
  }
}

}  // namespace grapevine
