#include "grapevine/status/http.hpp"

#include "grapevine/base/limits.hpp"

#include <fmt/core.h>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>

namespace grapevine {

namespace http = boost::beast::http;

namespace {

using Parser = http::request_parser<http::string_body>;

std::string without_port(std::string_view host) {
  if (host.starts_with('[')) return std::string(host.substr(0, host.find(']') + 1));
  return std::string(host.substr(0, host.find(':')));
}

HttpRequest to_request(http::request<http::string_body> message) {
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  request.host = without_port(std::string_view(message[http::field::host]));
  request.authorization = std::string(message[http::field::authorization]);
  request.from_web_page = message.count(http::field::origin) > 0;
  request.keep_alive = message.keep_alive();
  request.body = std::move(message.body());
  return request;
}

bool is_oversize(boost::beast::error_code error) {
  return error == http::error::header_limit || error == http::error::body_limit ||
         error == http::error::buffer_overflow;
}

}  // namespace

struct HttpReader::State {
  std::optional<Parser> parser;  // anew for each request
  Bytes unread;

  void fresh() {
    parser.emplace();
    parser->eager(true);
    parser->header_limit(limits::http_header_bytes_max);
    parser->body_limit(limits::http_body_bytes_max);
  }

  // Gives the parser up to `bytes`, in the end what it can use of them.
  Result<> parse(std::size_t bytes) {
    boost::beast::error_code error;
    auto const used = parser->put(boost::asio::buffer(unread.data(), bytes), error);
    unread.erase(unread.begin(), unread.begin() + static_cast<std::ptrdiff_t>(used));
    if (error && error != http::error::need_more)
      return fail(is_oversize(error) ? Errc::oversize : Errc::malformed, error.message());
    return {};
  }

  // Only a whole header is parsed, and by itself: what becomes of it depends neither on how it was
  // split nor on what follows.
  Result<> parse_header() {
    auto const end = as_text(unread).find("\r\n\r\n");
    bool const whole = end != std::string_view::npos;
    auto const bytes = whole ? end + 4 : unread.size();
    if (bytes > limits::http_header_bytes_max) return fail(Errc::oversize, "HTTP header");
    if (!whole) return {};
    TRY(parse(bytes));
    if (!parser->is_header_done()) return fail(Errc::malformed, "HTTP header");
    // Of two names the one that is checked here may not be the one that somebody before us used.
    if (parser->get().count(http::field::host) > 1)
      return fail(Errc::malformed, "two Host headers");
    // Nothing here is asked for with a body of unknown length, and Beast's parser (1.81) meets an
    // assertion on a last chunk that comes without its end.
    if (parser->chunked()) return fail(Errc::malformed, "a chunked body");
    return {};
  }

  Result<> parse_body() {
    for (auto before = unread.size() + 1;
         !parser->is_done() && !unread.empty() && unread.size() < before;) {
      before = unread.size();
      TRY(parse(before));
    }
    return {};
  }
};

HttpReader::HttpReader() : state_(std::make_unique<State>()) { state_->fresh(); }
HttpReader::~HttpReader() = default;
HttpReader::HttpReader(HttpReader&&) noexcept = default;

Result<std::optional<HttpRequest>> HttpReader::feed(ByteView more) {
  auto& state = *state_;
  append(state.unread, more);
  auto& parser = *state.parser;
  if (!parser.is_header_done()) {
    TRY(state.parse_header());
  }
  if (parser.is_header_done()) {
    TRY(state.parse_body());
  }
  if (!parser.is_done()) return std::nullopt;
  auto request = to_request(parser.release());
  state.fresh();
  return request;
}

bool HttpReader::idle() const { return state_->unread.empty() && !state_->parser->got_some(); }

Bytes to_bytes(HttpResponse const& response, HttpReply reply) {
  auto const reason = http::obsolete_reason(static_cast<http::status>(response.status));
  std::string text =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: {}\r\n",
                  response.status, std::string_view(reason), response.content_type,
                  response.body.size(), reply.keep_alive ? "keep-alive" : "close");
  if (!response.allow.empty()) text += fmt::format("Allow: {}\r\n", response.allow);
  if (!response.authenticate.empty())
    text += fmt::format("WWW-Authenticate: {}\r\n", response.authenticate);
  // The page is one file without outside parts: nothing else may be loaded into it or around it.
  text +=
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
      "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; "
      "style-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'\r\n\r\n";
  if (!reply.head) text += response.body;
  auto const bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

}  // namespace grapevine
