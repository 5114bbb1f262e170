// Blocking HTTP with a deadline, for reading peers' status pages and telling them what to do. No
// redirects, no TLS, no keep-alive; the answer is bounded. Any thread, but never the loop's.
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
// Without a body; `token` as RFC 6750 has it.
[[nodiscard]] Result<HttpAnswer> http_post(Endpoint at, std::string_view path,
                                           std::string_view token, Duration patience);

}  // namespace grapevine
