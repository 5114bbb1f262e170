// A blocking HTTP GET with a deadline, for reading peers' status pages. No redirects, no TLS, no
// keep-alive; the answer is bounded. Any thread, but never the loop's.
#pragma once

#include "grapevine/base/endpoint.hpp"
#include "grapevine/base/time.hpp"

#include <string>
#include <string_view>

namespace grapevine {

struct HttpAnswer {
  unsigned status = 0;
  std::string body;
};

// Errc::refused, unreachable, timed_out, or malformed when what answers speaks no HTTP.
[[nodiscard]] Result<HttpAnswer> http_get(Endpoint at, std::string_view path, Duration patience);

}  // namespace grapevine
