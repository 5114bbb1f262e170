#include "grapevine/status/routes.hpp"

#include "grapevine/base/endpoint.hpp"
#include "grapevine/crypto/secret.hpp"
#include "grapevine/status/metrics.hpp"
#include "status/dashboard_detail.hpp"

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

constexpr std::string_view control_path = "/control/";
constexpr std::array commands{Command::pause, Command::resume, Command::leave, Command::checkpoint};

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

// RFC 6750 section 2.1; the name of the scheme in any case (RFC 9110 section 11.1).
bool has_token(HttpRequest const& request, std::string_view token) {
  constexpr std::string_view scheme = "bearer ";
  std::string_view const given = request.authorization;
  if (given.size() < scheme.size()) return false;
  auto const same_letter = [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); };
  if (!std::ranges::equal(scheme, given.substr(0, scheme.size()), same_letter)) return false;
  return same_secret(as_bytes(given.substr(scheme.size())), as_bytes(token));
}

std::variant<Route, Command, HttpResponse> route_command(HttpRequest const& request,
                                                         std::string_view name,
                                                         std::string_view token) {
  auto const* const found =
      std::ranges::find(commands, name, [](Command command) { return to_string(command); });
  if (token.empty() || found == commands.end())
    return refuse(404, "no such command; there are pause, resume, leave and checkpoint");
  if (request.method != "POST") {
    auto response = refuse(405, "a command is sent with POST");
    response.allow = "POST";
    return response;
  }
  // A browser sends this by itself and lets no page leave it out.
  if (request.from_web_page) return refuse(403, "web pages may not command a peer");
  if (!has_token(request, token)) {
    auto response = refuse(401, "a command needs the token that is in HOME/control.token");
    response.authenticate = "Bearer";
    return response;
  }
  return *found;
}

}  // namespace

HttpResponse refuse(unsigned status, std::string_view why) {
  return {.status = status, .body = error_json(why), .allow = {}, .authenticate = {}};
}

std::variant<Route, Command, HttpResponse> route(HttpRequest const& request, Access const& access) {
  if (access.on_loopback && !is_local_name(request.host))
    return refuse(403, "this page answers to localhost and plain addresses only");
  std::string_view const target = request.target;
  auto const path = target.substr(0, target.find('?'));
  if (path.starts_with(control_path))
    return route_command(request, path.substr(control_path.size()), access.control_token);
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

HttpResponse render(Command command, Result<> const& done, Snapshot const& after) {
  if (!done) return refuse(503, done.error().message());
  HttpResponse response;
  response.body = command_json(to_string(command), after);
  return response;
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
