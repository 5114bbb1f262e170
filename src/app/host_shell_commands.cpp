#include "app/host_shell.hpp"
#include "grapevine/crypto/hash.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace grapevine {
namespace {

constexpr std::uint64_t streams_at_once = 64;
constexpr std::uint64_t perf_streams_max = 256;

Result<std::uint64_t> number(std::string const& word) {
  std::uint64_t value = 0;
  auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size())
    return fail(Errc::usage, "not a number: " + word);
  return value;
}

std::vector<std::string> texts(std::vector<Multiaddr> const& addresses) {
  std::vector<std::string> all;
  for (auto const& address : addresses) all.push_back(address.text());
  return all;
}

}  // namespace

std::map<std::string, HostShell::Entry, std::less<>> const& HostShell::commands() {
  static std::map<std::string, Entry, std::less<>> const all{
      {"listen", {0, 1, &HostShell::listen}},
      {"dial", {1, 1, &HostShell::dial}},
      {"id", {1, 1, &HostShell::id}},
      {"ping", {1, 2, &HostShell::ping}},
      {"sub", {1, 1, &HostShell::sub}},
      {"pub", {1, 2, &HostShell::pub}},
      {"topicpeers", {1, 1, &HostShell::topicpeers}},
      {"perf", {3, 3, &HostShell::perf}},
      {"perfpar", {4, 4, &HostShell::perfpar}},
      {"streams", {2, 2, &HostShell::streams}},
      {"handshakes", {2, 2, &HostShell::handshakes}},
      {"unknown", {1, 1, &HostShell::unknown}},
      {"peers", {0, 0, &HostShell::peers}},
      {"close", {1, 1, &HostShell::close}},
  };
  return all;
}

Awaitable<HostShell::Outcome> HostShell::listen(std::vector<std::string> words) {
  auto const text = words.empty() ? std::string("/ip4/127.0.0.1/tcp/0") : words[0];
  CO_TRY_ASSIGN(auto const address, Multiaddr::parse(text));
  CO_TRY(co_await host_.listen(address));
  Fields fields;
  auto const bound = host_.addresses();
  for (auto const& one : bound) fields["addrs"].push_back(one.with_peer(host_.id()).text());
  co_return fields;
}

Awaitable<HostShell::Outcome> HostShell::dial(std::vector<std::string> words) {
  CO_TRY_ASSIGN(auto const address, Multiaddr::parse(words[0]));
  CO_TRY_ASSIGN(auto const peer, co_await host_.dial(address));
  Fields fields;
  fields["peer"] = peer.text();
  co_return fields;
}

Awaitable<HostShell::Outcome> HostShell::id(std::vector<std::string> words) {
  CO_TRY_ASSIGN(auto const peer, PeerId::parse(words[0]));
  CO_TRY_ASSIGN(auto const info, co_await host_.identify(peer));
  Fields fields;
  fields["agent"] = info.agent;
  fields["protocolVersion"] = info.protocol;
  fields["listenAddrs"] = texts(info.listen);
  fields["observedAddr"] = info.observed ? info.observed->text() : "";
  fields["protocols"] = info.protocols;
  co_return fields;
}

Awaitable<HostShell::Outcome> HostShell::ping(std::vector<std::string> words) {
  CO_TRY_ASSIGN(auto const peer, PeerId::parse(words[0]));
  CO_TRY_ASSIGN(auto const count, number(words.size() > 1 ? words[1] : "1"));
  CO_TRY_ASSIGN(auto const rtts, co_await host_.ping(peer, static_cast<std::uint32_t>(count)));
  Fields fields;
  fields["rtt_ms"] = rtts;
  co_return fields;
}

Awaitable<HostShell::Outcome> HostShell::sub(std::vector<std::string> words) {
  subscribe(words[0]);
  co_return Fields::object();
}

Awaitable<HostShell::Outcome> HostShell::pub(std::vector<std::string> words) {
  CO_TRY_ASSIGN(auto const data, from_hex(words.size() > 1 ? words[1] : ""));
  CO_TRY_ASSIGN(auto const published, pubsub_.publish(words[0], data));
  Fields fields;
  fields["hash"] = sha256(data).hex();
  fields["seqno"] = fmt::format("{:016x}", published.seqno);
  fields["peers"] = published.peers;
  co_return fields;
}

Awaitable<HostShell::Outcome> HostShell::topicpeers(std::vector<std::string> words) {
  Fields fields;
  fields["peers"] = Fields::array();
  for (auto const& peer : pubsub_.topic_peers(words[0])) fields["peers"].push_back(peer.text());
  co_return fields;
}

Awaitable<HostShell::Outcome> HostShell::perf(std::vector<std::string> words) {
  CO_TRY_ASSIGN(auto const peer, PeerId::parse(words[0]));
  CO_TRY_ASSIGN(auto const up, number(words[1]));
  CO_TRY_ASSIGN(auto const down, number(words[2]));
  CO_TRY_ASSIGN(auto const result, co_await host_.perf(peer, up, down));
  Fields fields;
  fields["upload_s"] = result.upload_s;
  fields["download_s"] = result.download_s;
  co_return fields;
}

Awaitable<> HostShell::perf_into(PeerId peer, std::uint64_t up, std::uint64_t down,
                                 std::vector<Result<Host::PerfResult>>& into) {
  into.push_back(co_await host_.perf(std::move(peer), up, down));
}

// The slowest stream decides.
Awaitable<HostShell::Outcome> HostShell::perfpar(std::vector<std::string> words) {
  CO_TRY_ASSIGN(auto const peer, PeerId::parse(words[0]));
  CO_TRY_ASSIGN(auto const count, number(words[1]));
  CO_TRY_ASSIGN(auto const up, number(words[2]));
  CO_TRY_ASSIGN(auto const down, number(words[3]));
  if (count == 0 || count > perf_streams_max) co_return fail(Errc::usage, "streams: 1 to 256");
  std::vector<Result<Host::PerfResult>> results;
  std::function<Awaitable<>(TaskGroup&)> const body = [&](TaskGroup& group) {
    for (std::uint64_t i = 0; i < count; ++i) group.spawn(perf_into(peer, up, down, results));
    return group.join();
  };
  co_await with_tasks(body);
  Host::PerfResult slowest;
  for (auto const& result : results) {
    CO_TRY(result);
    slowest.upload_s = std::max(slowest.upload_s, result->upload_s);
    slowest.download_s = std::max(slowest.download_s, result->download_s);
  }
  Fields fields;
  fields["upload_s"] = slowest.upload_s;
  fields["download_s"] = slowest.download_s;
  co_return fields;
}

// A stream that does as little as the peer offers: an empty perf request, otherwise identify.
Awaitable<> HostShell::open_many(PeerId peer, std::uint64_t& left, std::optional<Error>& failure) {
  auto const* info = host_.identified(peer);
  bool const by_perf = info != nullptr && std::find(info->protocols.begin(), info->protocols.end(),
                                                    "/perf/1.0.0") != info->protocols.end();
  while (left > 0 && !failure) {
    --left;
    if (by_perf) {
      if (auto const done = co_await host_.perf(peer, 0, 0); !done) failure = done.error();
    } else {
      if (auto const done = co_await host_.identify(peer); !done) failure = done.error();
    }
  }
}

Awaitable<Result<double>> HostShell::stream_rate(PeerId peer, std::uint64_t count,
                                                 std::size_t at_once) {
  auto left = count;
  std::optional<Error> failure;
  auto const begun = doors_.clock.now();
  std::function<Awaitable<>(TaskGroup&)> const body = [&](TaskGroup& group) {
    for (std::size_t i = 0; i < at_once; ++i) group.spawn(open_many(peer, left, failure));
    return group.join();
  };
  co_await with_tasks(body);
  if (failure) co_return tl::unexpected(*failure);
  co_return static_cast<double>(count) / to_seconds(doors_.clock.now() - begun);
}

Awaitable<HostShell::Outcome> HostShell::streams(std::vector<std::string> words) {
  CO_TRY_ASSIGN(auto const peer, PeerId::parse(words[0]));
  CO_TRY_ASSIGN(auto const count, number(words[1]));
  CO_TRY(co_await host_.connect(peer));
  CO_TRY_ASSIGN(auto const sequential, co_await stream_rate(peer, count, 1));
  CO_TRY_ASSIGN(auto const parallel, co_await stream_rate(peer, count, streams_at_once));
  Fields fields;
  fields["sequential_per_s"] = sequential;
  fields["parallel64_per_s"] = parallel;
  co_return fields;
}

Awaitable<HostShell::Outcome> HostShell::handshakes(std::vector<std::string> words) {
  CO_TRY_ASSIGN(auto const address, Multiaddr::parse(words[0]));
  CO_TRY_ASSIGN(auto const count, number(words[1]));
  auto const begun = doors_.clock.now();
  for (std::uint64_t i = 0; i < count; ++i) {
    auto const newcomer = newcomers_.emplace(newcomers_.end(), doors_,
                                             Identity::generate(doors_.random), HostOptions{});
    CO_TRY(newcomer->start());
    auto const met = co_await newcomer->dial(address);
    co_await newcomer->stop();
    newcomers_.erase(newcomer);
    CO_TRY(met);
  }
  Fields fields;
  fields["per_s"] = static_cast<double>(count) / to_seconds(doors_.clock.now() - begun);
  co_return fields;
}

Awaitable<HostShell::Outcome> HostShell::unknown(std::vector<std::string> words) {
  CO_TRY_ASSIGN(auto const peer, PeerId::parse(words[0]));
  std::vector<std::string> const protocols(1, "/grapevine/nobody-has-this/1");
  auto const stream = co_await host_.open_stream(peer, protocols);
  if (stream) co_return fail(Errc::protocol_violation, "the peer agreed to it");
  if (stream.error().errc() != Errc::no_protocol) co_return tl::unexpected(stream.error());
  co_return Fields::object();
}

Awaitable<HostShell::Outcome> HostShell::peers(std::vector<std::string>) {
  Fields fields;
  fields["peers"] = Fields::array();
  for (auto const& peer : host_.peers()) fields["peers"].push_back(peer.text());
  co_return fields;
}

Awaitable<HostShell::Outcome> HostShell::close(std::vector<std::string> words) {
  CO_TRY_ASSIGN(auto const peer, PeerId::parse(words[0]));
  host_.disconnect(peer);
  co_return Fields::object();
}

}  // namespace grapevine
