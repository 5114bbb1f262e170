#include "grapevine/status/status_server.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/runtime/file_storage.hpp"
#include "grapevine/runtime/runtime.hpp"
#include "unit/status/sample_snapshot.hpp"

#include "unit/scratch_folder.hpp"

#include <doctest/doctest.h>

using namespace grapevine;

namespace {

class FixedSource final : public StatusSource {
 public:
  [[nodiscard]] Snapshot snapshot() const override { return sample_snapshot(); }
  [[nodiscard]] bool ready() const override { return true; }
  Awaitable<Result<std::vector<RoundRecord>>> history(std::uint64_t since) override {
    if (since > 100) co_return fail(Errc::database_corrupt, "ledger.db");
    co_return std::vector<RoundRecord>{round_record(since, 1.0F)};
  }
};

class CountingControl final : public Control {
 public:
  Awaitable<Result<>> carry_out(Command command) override {
    ++carried_out[command];
    co_return Result<>{};
  }
  std::map<Command, int> carried_out;
};

struct ServerFixture {
  test::ScratchFolder scratch;
  std::string const& parent = scratch.path;
  std::unique_ptr<Storage> storage = FileStorage::open(parent + "/home").value();
  Runtime runtime{*storage};
  FixedSource source;
  CountingControl control;
  StatusServer server{runtime.doors(),
                      source,
                      {.at = {IpAddress::v4(127, 0, 0, 1), 0},
                       .measure = [] { return resident(4711); },
                       .control = &control,
                       .control_token = "secret"}};
};

// Everything the server says to `sent` until it closes or, with `until`, until that has come.
Awaitable<std::string> talk(Doors doors, Endpoint at, std::string sent, std::string until = {}) {
  auto socket = (co_await doors.network.connect(at)).value();
  (void)co_await socket->write(as_bytes(sent));
  std::string answer;
  Bytes buffer(4096);
  while (until.empty() || answer.find(until) == std::string::npos) {
    auto const got = co_await socket->read_some(buffer);
    if (!got) break;
    answer += as_text(ByteView(buffer).first(*got));
  }
  co_return answer;
}

Awaitable<> ask_and_stop(ServerFixture& fixture, std::vector<std::string> requests,
                         std::vector<std::string>& answers) {
  for (auto const& request : requests)
    answers.push_back(co_await talk(fixture.runtime.doors(), fixture.server.local(), request));
  co_await fixture.server.stop();
}

std::vector<std::string> answers_to(ServerFixture& fixture, std::vector<std::string> requests) {
  std::vector<std::string> answers;
  CHECK(fixture.server.start().has_value());
  fixture.runtime.run(ask_and_stop(fixture, std::move(requests), answers));
  return answers;
}

std::string get(std::string const& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
}

std::string post(std::string const& target, std::string const& headers) {
  return "POST " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers +
         "\r\n";
}

Awaitable<> fill_and_stop(ServerFixture& fixture, std::vector<std::unique_ptr<Socket>>& sockets,
                          std::string& answer) {
  auto const doors = fixture.runtime.doors();
  for (std::size_t i = 0; i < limits::http_connections_max; ++i)
    sockets.push_back((co_await doors.network.connect(fixture.server.local())).value());
  // One more than there is room for: answered once another has gone.
  auto late = (co_await doors.network.connect(fixture.server.local())).value();
  auto const request = get("/healthz");
  (void)co_await late->write(as_bytes(request));
  sockets.front().reset();
  Bytes buffer(4096);
  auto const got = co_await late->read_some(buffer);
  if (got) answer = std::string(as_text(ByteView(buffer).first(*got)));
  co_await fixture.server.stop();
}

}  // namespace

TEST_CASE_FIXTURE(ServerFixture, "pages over a real socket") {
  auto const answers = answers_to(
      *this, {get("/status"), get("/history?since=5"), get("/history?since=101"), get("/nothing")});
  REQUIRE(answers.size() == 4);
  CHECK(answers[0].starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(answers[0].find("\"schema\":\"grapevine.status/1\"") != std::string::npos);
  CHECK(answers[1].find("\"next\":6") != std::string::npos);
  CHECK(answers[2].starts_with("HTTP/1.1 503 "));
  CHECK(answers[2].find("GV-IO-005") != std::string::npos);
  CHECK(answers[3].starts_with("HTTP/1.1 404 "));
}

TEST_CASE_FIXTURE(ServerFixture, "a command with its token is carried out, once, and no other") {
  auto const answers = answers_to(
      *this, {post("/control/pause", "Authorization: Bearer secret\r\n"),
              post("/control/leave", "Authorization: Bearer wrong\r\n"), post("/control/leave", ""),
              post("/control/leave", "Authorization: Bearer secret\r\nOrigin: http://a\r\n")});
  REQUIRE(answers.size() == 4);
  CHECK(answers[0].starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(answers[0].find("{\"done\":\"pause\"") != std::string::npos);
  CHECK(answers[1].starts_with("HTTP/1.1 401 "));
  CHECK(answers[1].find("\r\nWWW-Authenticate: Bearer\r\n") != std::string::npos);
  CHECK(answers[2].starts_with("HTTP/1.1 401 "));
  CHECK(answers[3].starts_with("HTTP/1.1 403 "));
  CHECK(control.carried_out == std::map<Command, int>{{Command::pause, 1}});
}

TEST_CASE_FIXTURE(ServerFixture, "a connection is kept for more requests, pipelined or not") {
  std::string const kept = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  auto const answers = answers_to(*this, {kept + kept + get("/healthz")});
  std::size_t count = 0;
  for (std::size_t at = 0; (at = answers[0].find("HTTP/1.1 200 OK", at)) != std::string::npos; ++at)
    ++count;
  CHECK(count == 3);
}

TEST_CASE_FIXTURE(ServerFixture, "nonsense is answered and ends the connection") {
  auto const answers = answers_to(
      *this, {"nonsense\r\n\r\n", "GET / HTTP/1.1\r\nX: " + std::string(9000, 'x') + "\r\n\r\n",
              "POST /status HTTP/1.1\r\nConnection: close\r\n\r\n"});
  CHECK(answers[0].starts_with("HTTP/1.1 400 "));
  CHECK(answers[1].starts_with("HTTP/1.1 413 "));
  CHECK(answers[2].starts_with("HTTP/1.1 405 "));
}

TEST_CASE_FIXTURE(ServerFixture, "stop() ends connections that say nothing, and there is a bound") {
  std::vector<std::unique_ptr<Socket>> sockets;
  std::string answer;
  CHECK(server.start().has_value());
  runtime.run(fill_and_stop(*this, sockets, answer));
  CHECK(answer.starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_CASE_FIXTURE(ServerFixture, "a port that is taken is named") {
  auto const taken = runtime.doors().network.listen({IpAddress::v4(127, 0, 0, 1), 0}).value();
  StatusServer second(
      runtime.doors(), source,
      {.at = taken->local(), .measure = {}, .control = nullptr, .control_token = {}});
  auto const started = second.start();
  REQUIRE_FALSE(started.has_value());
  CHECK(started.error().errc() == Errc::port_in_use);
  CHECK(started.error().detail().find(taken->local().text()) != std::string::npos);
}
