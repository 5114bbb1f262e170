#include "grapevine/status/routes.hpp"

#include "unit/status/sample_snapshot.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace grapevine;
using Json = nlohmann::json;

namespace {

HttpRequest get(std::string target, std::string host = "127.0.0.1") {
  return {.method = "GET", .target = std::move(target), .host = std::move(host), .body = {}};
}

Route page_of(HttpRequest const& request) { return std::get<Route>(route(request, true)); }

HttpResponse refused(HttpRequest const& request, bool on_loopback = true) {
  auto response = std::get<HttpResponse>(route(request, on_loopback));
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
  CHECK(refused(get("/control/pause")).status == 404);
  CHECK(refused(get("")).status == 404);
  CHECK(refused(get("http://elsewhere/status")).status == 404);
  CHECK(refused(get("/history?since=-1")).status == 400);
  CHECK(refused(get("/history?since=")).status == 400);
  CHECK(refused(get("/history?since=99999999999999999999999")).status == 400);
  auto post = get("/status");
  post.method = "POST";
  CHECK(refused(post).status == 405);
  CHECK(refused(post).allow == "GET, HEAD");
}

TEST_CASE("on loopback only local names are answered") {
  CHECK(refused(get("/status", "evil.example")).status == 403);
  CHECK(page_of(get("/status", "localhost")).page == Page::status);
  CHECK(page_of(get("/status", "[::1]")).page == Page::status);
  CHECK(page_of(get("/status", "")).page == Page::status);
  CHECK(std::holds_alternative<Route>(route(get("/status", "node7.example"), false)));
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
