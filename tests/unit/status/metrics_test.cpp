#include "grapevine/status/metrics.hpp"

#include "grapevine/base/limits.hpp"
#include "unit/status/sample_snapshot.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <regex>
#include <set>
#include <sstream>

using namespace grapevine;

namespace {

std::size_t series_of(std::string const& text, std::string const& name) {
  std::istringstream lines(text);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) count += line.starts_with(name) ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("every line is a comment or a sample of the metric declared before it") {
  std::regex const sample(R"re((grapevine_[a-z0-9_]+)(\{([a-z]+="([^"\\]|\\.)*",?)+\})? (\S+))re");
  auto const text = metrics_text(sample_snapshot(), {}, true);
  REQUIRE(text.ends_with('\n'));
  std::set<std::string> seen;
  std::string declared;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    if (line.starts_with("# HELP ")) continue;
    if (line.starts_with("# TYPE ")) {
      declared = line.substr(7, line.find(' ', 7) - 7);
      CHECK(seen.insert(declared).second);
      continue;
    }
    std::smatch match;
    REQUIRE(std::regex_match(line, match, sample));
    CHECK(match[1] == declared);
  }
  CHECK(text.find("grapevine_loss 2.5\n") != std::string::npos);
  CHECK(text.find("grapevine_consensus_js 0.25\n") != std::string::npos);
  CHECK(text.find("grapevine_consensus_l2") == std::string::npos);  // not measured
  CHECK(text.find("grapevine_state{state=\"mixing\"} 1\n") != std::string::npos);
  CHECK(text.find("grapevine_state{state=\"training\"} 0\n") != std::string::npos);
  CHECK(text.find("grapevine_errors_total{code=\"GV-NET-001\"} 2\n") != std::string::npos);
}

TEST_CASE("the number of series is bounded, and does not grow with the swarm") {
  auto snapshot = sample_snapshot();
  auto const few = metrics_text(snapshot, {}, true);
  for (std::uint8_t i = 3; i < 100; ++i) snapshot.peers.push_back(known_peer(i));
  CHECK(std::ranges::count(metrics_text(snapshot, {}, true), '\n') ==
        std::ranges::count(few, '\n'));
  for (int i = 0; i < 1000; ++i) snapshot.network.rejected["reason " + std::to_string(i)] = 1;
  CHECK(series_of(metrics_text(snapshot, {}, true), "grapevine_gossip_rejected_total{") ==
        limits::metric_labels_max);
}

TEST_CASE("label values are escaped, and numbers that are none are named") {
  auto snapshot = sample_snapshot();
  snapshot.network.rejected = {{"a\"b\\c\nd", 1}};
  snapshot.training.loss = NAN;
  auto const text = metrics_text(snapshot, {}, false);
  CHECK(text.find(R"(reason="a\"b\\c\nd")") != std::string::npos);
  CHECK(text.find("grapevine_loss NaN\n") != std::string::npos);
  CHECK(text.find("grapevine_ready 0\n") != std::string::npos);
}
