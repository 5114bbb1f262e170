#include "grapevine/status/routes.hpp"

#include "grapevine/status/metrics.hpp"
#include "status/dashboard_detail.hpp"

#include "grapevine/base/endpoint.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace grapevine {

namespace {

struct PagePath {
  std::string_view path;
  Page page;
};
constexpr std::array pages{
    PagePath{"/", Page::dashboard},      PagePath{"/status", Page::status},
    PagePath{"/metrics", Page::metrics}, PagePath{"/healthz", Page::healthz},
    PagePath{"/readyz", Page::readyz},   PagePath{"/history", Page::history}};

bool is_local_name(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host.empty() || host == "localhost" || IpAddress::parse(host).has_value();
}

// The number in "since=N"; other parameters mean nothing here.
std::optional<std::uint64_t> since_of(std::string_view query) {
  while (!query.empty()) {
    auto const end = std::min(query.find('&'), query.size());
    auto part = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (!part.starts_with("since=")) continue;
    part.remove_prefix(6);
    std::uint64_t since = 0;
    auto const [stop, error] = std::from_chars(part.data(), part.data() + part.size(), since);
    if (error != std::errc{} || stop != part.data() + part.size()) return std::nullopt;
    return since;
  }
  return 0;
}

}  // namespace

HttpResponse refuse(unsigned status, std::string_view why) {
  return {.status = status, .body = error_json(why), .allow = {}};
}

std::variant<Route, HttpResponse> route(HttpRequest const& request, bool on_loopback) {
  if (on_loopback && !is_local_name(request.host))
    return refuse(403, "this page answers to localhost and plain addresses only");
  std::string_view const target = request.target;
  auto const path = target.substr(0, target.find('?'));
  auto const* found = std::ranges::find(pages, path, &PagePath::path);
  if (found == pages.end())
    return refuse(404, "no such page; there are /, /status, /metrics, /healthz, /readyz, /history");
  if (request.method != "GET" && request.method != "HEAD") {
    auto response = refuse(405, "this page can only be read: use GET");
    response.allow = "GET, HEAD";
    return response;
  }
  Route route{found->page, 0};
  if (route.page == Page::history) {
    auto const since = since_of(target.substr(std::min(path.size() + 1, target.size())));
    if (!since) return refuse(400, "since must be the number of a round");
    route.since = *since;
  }
  return route;
}

HttpResponse render(Route const& route, Facts const& facts) {
  HttpResponse response;
  switch (route.page) {
    case Page::dashboard:
      response.content_type = "text/html; charset=utf-8";
      response.body = dashboard_html();
      break;
    case Page::status:
      response.body = status_json(facts.snapshot, facts.resources);
      break;
    case Page::metrics:
      response.content_type = "text/plain; version=0.0.4; charset=utf-8";
      response.body = metrics_text(facts.snapshot, facts.resources, facts.ready);
      break;
    case Page::healthz:
      response.body = R"({"alive":true})";
      break;
    case Page::readyz:
      response.status = facts.ready ? 200 : 503;
      response.body = ready_json(facts.snapshot, facts.ready);
      break;
    case Page::history:
      response.body = history_json(facts.rounds, route.since);
      break;
  }
  return response;
}

}  // namespace grapevine
