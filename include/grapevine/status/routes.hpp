// Routes: from a request to the page or the command it asks for, and from a page and the facts to
// the response. Pure, so that any bytes can be thrown at them. Pages only read; a command needs the
// bearer token (RFC 6750), and never comes from a web page. A server on loopback refuses foreign
// host names, so that no web site can reach it through a browser (DNS rebinding).
#pragma once

#include "grapevine/status/control.hpp"
#include "grapevine/status/http.hpp"
#include "grapevine/status/status_json.hpp"

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

namespace grapevine {

enum class Page : std::uint8_t { dashboard, status, metrics, healthz, readyz, history };

struct Route {
  Page page = Page::dashboard;
  std::uint64_t since = 0;  // of history
};

// Who may ask for what.
struct Access {
  bool on_loopback = true;    // local host names only
  std::string control_token;  // empty: there are no commands
};

struct Facts {
  Snapshot snapshot;
  Resources resources;
  bool ready = false;
  std::vector<RoundRecord> rounds;  // of history
};

// The page or the command, or the response that refuses the request.
[[nodiscard]] std::variant<Route, Command, HttpResponse> route(HttpRequest const& request,
                                                               Access const& access);
[[nodiscard]] HttpResponse render(Route const& route, Facts const& facts);
[[nodiscard]] HttpResponse render(Command command, Result<> const& done, Snapshot const& after);
[[nodiscard]] HttpResponse refuse(unsigned status, std::string_view why);

}  // namespace grapevine
