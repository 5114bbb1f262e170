// Routes: from a request to the page it asks for, and from a page and the facts to the response.
// Pure, so that any bytes can be thrown at them. Everything here only reads; a server on loopback
// refuses foreign host names, so that no web site can read it through a browser (DNS rebinding).
#pragma once

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

struct Facts {
  Snapshot snapshot;
  Resources resources;
  bool ready = false;
  std::vector<RoundRecord> rounds;  // of history
};

// The page, or the response that refuses the request.
[[nodiscard]] std::variant<Route, HttpResponse> route(HttpRequest const& request, bool on_loopback);
[[nodiscard]] HttpResponse render(Route const& route, Facts const& facts);
[[nodiscard]] HttpResponse refuse(unsigned status, std::string_view why);

}  // namespace grapevine
