#include "grapevine/base/error.hpp"

#include <doctest/doctest.h>

#include <set>
#include <vector>

using namespace grapevine;

TEST_CASE("every error has a unique code, a cause and a fix") {
  std::set<std::string_view> codes;
  for (auto const& row : all_explanations()) {
    CAPTURE(row.code);
    CHECK(codes.insert(row.code).second);
    CHECK(row.code.starts_with("GV-"));
    CHECK_FALSE(row.title.empty());
    CHECK_FALSE(row.cause.empty());
    CHECK_FALSE(row.fix.empty());
    CHECK(explain(row.code)->errc == row.errc);
  }
  CHECK_FALSE(explain("GV-NONE-000").has_value());
}

TEST_CASE("a message names the code, the title and the thing") {
  CHECK(Error(Errc::refused, "127.0.0.1:4001").message() ==
        "GV-NET-001 connection refused: 127.0.0.1:4001");
}

TEST_CASE("what several tries came to says each cause once") {
  std::vector<Error> const failures{Error(Errc::refused, "one"),
                                    Error(Errc::unreachable, "two: no route")};
  CHECK(details_of(failures, Errc::refused) == "one; two: no route (host unreachable)");
  CHECK(details_of(failures, Errc::dial_failed) ==
        "one (connection refused); two: no route (host unreachable)");
  CHECK(details_of({}, Errc::refused).empty());
}
