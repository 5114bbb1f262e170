#include "grapevine/status/routes.hpp"

#include "unit/status/sample_snapshot.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace grapevine;
using Json = nlohmann::json;

namespace {

std::string const token(64, 'a');

HttpRequest get(std::string target, std::string host = "127.0.0.1") {
  HttpRequest request;
  request.method = "GET";
  request.target = std::move(target);
  request.host = std::move(host);
  return request;
}

HttpRequest post(std::string target, std::string authorization = "Bearer " + token) {
  auto request = get(std::move(target));
  request.method = "POST";
  request.authorization = std::move(authorization);
  return request;
}

Command command_of(HttpRequest const& request) {
  return std::get<Command>(route(request, {true, token}));
}

Route page_of(HttpRequest const& request) { return std::get<Route>(route(request, {})); }

HttpResponse refused(HttpRequest const& request, bool on_loopback = true) {
  auto response = std::get<HttpResponse>(route(request, {on_loopback, token}));
  CHECK(Json::parse(response.body).contains("error"));
  return response;
}

Facts sample_facts(bool ready) { return {sample_snapshot(), {}, ready, {round_record(7, 1.0F)}}; }

}  // namespace

TEST_CASE("each path is its page, with or without a query") {
  CHECK(page_of(get("/")).page == Page::dashboard);
  CHECK(page_of(get("/status")).page == Page::status);
  CHECK(page_of(get("/status?pretty")).page == Page::status);
  CHECK(page_of(get("/metrics")).page == Page::metrics);
  CHECK(page_of(get("/healthz")).page == Page::healthz);
  CHECK(page_of(get("/readyz")).page == Page::readyz);
  CHECK(page_of(get("/history")).since == 0);
  CHECK(page_of(get("/history?x=1&since=12")).since == 12);
  auto head = get("/status");
  head.method = "HEAD";
  CHECK(page_of(head).page == Page::status);
}

TEST_CASE("what is not there, not allowed or not a number is refused") {
  CHECK(refused(get("")).status == 404);
  CHECK(refused(get("http://elsewhere/status")).status == 404);
  CHECK(refused(get("/history?since=-1")).status == 400);
  CHECK(refused(get("/history?since=")).status == 400);
  CHECK(refused(get("/history?since=99999999999999999999999")).status == 400);
  CHECK(refused(post("/status")).status == 405);
  CHECK(refused(post("/status")).allow == "GET, HEAD");
}

TEST_CASE("a command is sent with POST and the token") {
  CHECK(command_of(post("/control/pause")) == Command::pause);
  CHECK(command_of(post("/control/resume")) == Command::resume);
  CHECK(command_of(post("/control/leave?now")) == Command::leave);
  CHECK(command_of(post("/control/checkpoint", "bEARER " + token)) == Command::checkpoint);
  CHECK(refused(get("/control/pause")).status == 405);
  CHECK(refused(get("/control/pause")).allow == "POST");
  CHECK(refused(post("/control/")).status == 404);
  CHECK(refused(post("/control/shutdown")).status == 404);
  CHECK(refused(post("/control")).status == 404);
}

TEST_CASE("without the token there is no command") {
  for (auto const& given : {std::string(), std::string("Bearer "), "Bearer " + token + "a",
                            "Bearer " + token.substr(1), "Bearer  " + token, "Basic " + token,
                            token, "Bearer" + token, "Bearer " + token.substr(1) + "b"}) {
    CAPTURE(given);
    auto const response = refused(post("/control/pause", given));
    CHECK(response.status == 401);
    CHECK(response.authenticate == "Bearer");
  }
  // A server without a token has no commands, whatever is sent.
  auto const nothing = route(post("/control/pause", "Bearer "), {true, ""});
  CHECK(std::get<HttpResponse>(nothing).status == 404);
}

TEST_CASE("no web page commands a peer, whatever it knows") {
  auto request = post("/control/pause");
  request.from_web_page = true;
  CHECK(refused(request).status == 403);
  request = post("/control/pause");
  request.host = "evil.example";
  CHECK(refused(request).status == 403);
}

TEST_CASE("the answer to a command says what has become of the peer") {
  auto snapshot = sample_snapshot();
  snapshot.state = PeerState::paused;
  snapshot.pause = Snapshot::Pause{"asked", {}};
  auto const done = render(Command::pause, {}, snapshot);
  CHECK(done.status == 200);
  auto const said = Json::parse(done.body);
  CHECK(said["done"] == "pause");
  CHECK(said["state"] == "paused");
  CHECK(said["pause"]["reason"] == "asked");
  CHECK(said["pause"]["until_unix_s"].is_null());
  auto const failed = render(Command::checkpoint, fail(Errc::disk_full, "home"), snapshot);
  CHECK(failed.status == 503);
  CHECK(Json::parse(failed.body)["error"].get<std::string>().find("GV-IO-003") == 0);
}

TEST_CASE("on loopback only local names are answered") {
  CHECK(refused(get("/status", "evil.example")).status == 403);
  CHECK(page_of(get("/status", "localhost")).page == Page::status);
  CHECK(page_of(get("/status", "[::1]")).page == Page::status);
  CHECK(page_of(get("/status", "")).page == Page::status);
  CHECK(std::holds_alternative<Route>(route(get("/status", "node7.example"), {false, ""})));
}

TEST_CASE("each page is made from the facts") {
  CHECK(render({Page::dashboard}, sample_facts(true)).body.starts_with("<!doctype html>"));
  CHECK(Json::parse(render({Page::status}, sample_facts(true)).body)["state"] == "mixing");
  auto const metrics = render({Page::metrics}, sample_facts(true));
  CHECK(metrics.content_type == "text/plain; version=0.0.4; charset=utf-8");
  CHECK(render({Page::healthz}, sample_facts(false)).status == 200);
  auto const history = Json::parse(render({Page::history, 7}, sample_facts(true)).body);
  CHECK(history["rounds"][0]["round"] == 7);
  CHECK(render({Page::readyz}, sample_facts(true)).status == 200);
  auto const not_ready = render({Page::readyz}, sample_facts(false));
  CHECK(not_ready.status == 503);
  CHECK(Json::parse(not_ready.body)["reason"] == "this peer is mixing");
}
