#include "grapevine/status/http.hpp"

#include "grapevine/base/limits.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <vector>

using namespace grapevine;

namespace {

Result<std::vector<HttpRequest>> read_all(HttpReader& reader, ByteView bytes, std::size_t piece) {
  std::vector<HttpRequest> requests;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    auto more = bytes.subspan(at, std::min(piece, bytes.size() - at));
    for (;;) {
      TRY_ASSIGN(auto request, reader.feed(more));
      if (!request) break;
      requests.push_back(std::move(*request));
      more = {};
    }
  }
  return requests;
}

Errc refusal(std::string const& text) {
  HttpReader reader;
  auto const read = read_all(reader, as_bytes(text), text.size());
  REQUIRE_FALSE(read.has_value());
  return read.error().errc();
}

std::string header_of(std::size_t bytes) {
  std::string text = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
  text.append(bytes - text.size() - 4, 'x');
  return text + "\r\n\r\n";
}

std::string body_of(std::size_t bytes) {
  return "POST / HTTP/1.1\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n" +
         std::string(bytes, 'b');
}

}  // namespace

TEST_CASE("pipelined requests come out whole and in order, however they are split") {
  std::string const text =
      "GET /status HTTP/1.1\r\nHost: localhost:80\r\n\r\n"
      "POST /x HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 3\r\n\r\nabc"
      "POST /y HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nde"
      "GET / HTTP/1.0\r\n\r\n";
  CHECK(rc::check("any piece size", [&text] {
    auto const piece = *rc::gen::inRange<std::size_t>(1, text.size() + 1);
    HttpReader reader;
    auto const requests = read_all(reader, as_bytes(text), piece).value();
    RC_ASSERT(requests.size() == 4U);
    RC_ASSERT(requests[0].method == "GET" && requests[0].target == "/status");
    RC_ASSERT(requests[0].host == "localhost" && requests[0].keep_alive);
    RC_ASSERT(requests[1].host == "[::1]" && requests[1].body == "abc");
    RC_ASSERT(requests[2].body == "de");
    RC_ASSERT(!requests[3].keep_alive && requests[3].host.empty());
    RC_ASSERT(reader.idle());
  }));
}

TEST_CASE("what a command needs is read: its authorization, and whether a web page sent it") {
  std::string const text =
      "POST /control/pause HTTP/1.1\r\nHost: h\r\nauthorization: Bearer abc\r\n\r\n"
      "POST /control/pause HTTP/1.1\r\nHost: h\r\nOrigin: null\r\n\r\n";
  HttpReader reader;
  auto const requests = read_all(reader, as_bytes(text), text.size()).value();
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].authorization == "Bearer abc");
  CHECK_FALSE(requests[0].from_web_page);
  CHECK(requests[1].authorization.empty());
  CHECK(requests[1].from_web_page);
}

TEST_CASE("what is not HTTP is refused") {
  CHECK(refusal("\x16\x03\x01\x02 hello\r\n\r\n") == Errc::malformed);
  CHECK(refusal("GET /\r\n\r\n") == Errc::malformed);
  CHECK(refusal("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n") == Errc::malformed);
}

TEST_CASE("a chunked body is refused, whatever its chunks are") {
  std::string const header = "POST /y HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (std::string const body : {"2\r\nde\r\n0\r\n\r\n", "0\r\n", "\r\n", ""})
    CHECK(refusal(header + body) == Errc::malformed);
}

TEST_CASE("a request for two hosts is refused") {
  CHECK(refusal("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n") == Errc::malformed);
  CHECK(refusal("GET / HTTP/1.1\r\nHost: localhost\r\nX: y\r\nhOST: evil\r\n\r\n") ==
        Errc::malformed);
}

TEST_CASE("headers and bodies end at their limits") {
  HttpReader reader;
  auto const fits = header_of(limits::http_header_bytes_max);
  CHECK(read_all(reader, as_bytes(fits), fits.size()).value().size() == 1);
  CHECK(refusal(header_of(limits::http_header_bytes_max + 1)) == Errc::oversize);
  CHECK(refusal(std::string(3 * limits::http_header_bytes_max, 'G')) != Errc::closed);
  auto const body = body_of(limits::http_body_bytes_max);
  CHECK(read_all(reader, as_bytes(body), body.size()).value().size() == 1);
  CHECK(refusal(body_of(limits::http_body_bytes_max + 1)) == Errc::oversize);
  auto const none = body_of(0);
  CHECK(read_all(reader, as_bytes(none), 1).value().size() == 1);
}

TEST_CASE("an endless header is refused before it takes memory") {
  HttpReader reader;
  std::string const piece(1000, 'x');
  CHECK(reader.feed(as_bytes("GET / HTTP/1.1\r\nX: ")).has_value());
  CHECK_FALSE(reader.idle());
  std::size_t fed = 0;
  while (reader.feed(as_bytes(piece)).has_value()) {
    fed += piece.size();
    REQUIRE(fed <= limits::http_header_bytes_max);
  }
}

TEST_CASE("a response says how long it is and whether the connection stays") {
  HttpResponse response;
  response.status = 405;
  response.body = "{}";
  response.allow = "GET";
  auto const bytes = to_bytes(response, {.keep_alive = true});
  auto const text = as_text(bytes);
  CHECK(text.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"));
  CHECK(text.find("Content-Length: 2\r\nConnection: keep-alive\r\nAllow: GET\r\n") !=
        std::string_view::npos);
  CHECK(text.ends_with("\r\n\r\n{}"));
  auto const head = to_bytes(response, {.keep_alive = false, .head = true});
  CHECK(as_text(head).find("Content-Length: 2\r\nConnection: close\r\n") != std::string_view::npos);
  CHECK(as_text(head).ends_with("\r\n\r\n"));
}
