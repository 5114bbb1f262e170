// HTTP/1.1 (RFC 9112) as the status server needs it: a reader that takes bytes in any split and
// gives whole requests, and a writer. Pure; no socket. One HttpReader a connection; every length is
// bounded by limits::http_*.
#pragma once

#include "grapevine/base/bytes.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace grapevine {

struct HttpRequest {
  std::string method;
  std::string target;  // as sent: path and query
  std::string host;    // of the Host header, without the port
  std::string authorization;
  bool from_web_page = false;  // a browser says so, by its Origin header
  std::string body;
  bool keep_alive = false;
};

struct HttpResponse {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string allow;         // with 405: the methods that would do
  std::string authenticate;  // with 401: how
};

class HttpReader {
 public:
  HttpReader();
  ~HttpReader();
  HttpReader(HttpReader&&) noexcept;

  // The next request, once it is whole. Bytes behind it are kept: ask again with nothing before
  // reading more. Errc::malformed or Errc::oversize: answer and close.
  [[nodiscard]] Result<std::optional<HttpRequest>> feed(ByteView more);
  [[nodiscard]] bool idle() const;  // nothing of a next request has come yet

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct HttpReply {
  bool keep_alive = false;
  bool head = false;  // the request was HEAD: no body, but its length
};
[[nodiscard]] Bytes to_bytes(HttpResponse const& response, HttpReply reply);

}  // namespace grapevine
