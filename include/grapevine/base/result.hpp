// Result<T>: a value or an Error, and the two macros that pass an Error upwards.
#pragma once

#include "grapevine/base/error.hpp"

#include <tl/expected.hpp>

namespace grapevine {

template <class T = void>
using Result = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(Errc errc, std::string detail = {}) {
  return tl::unexpected<Error>(Error(errc, std::move(detail)));
}

}  // namespace grapevine

#define GRAPEVINE_CAT2(a, b) a##b
#define GRAPEVINE_CAT(a, b) GRAPEVINE_CAT2(a, b)
#define GRAPEVINE_TRY_TO(leave, tmp, ...) \
  auto&& tmp = __VA_ARGS__;               \
  if (!tmp.has_value()) leave tl::unexpected(std::move(tmp).error())
#define GRAPEVINE_TRY_VALUE(leave, tmp, declaration, ...) \
  GRAPEVINE_TRY_TO(leave, tmp, __VA_ARGS__);              \
  declaration = *std::move(tmp)

// TRY(expr): return the error of `expr`, if any.   TRY_ASSIGN(auto x, expr): and bind its value.
// CO_ forms for coroutines. No statement expressions: safe around co_await on g++ 12.
#define TRY(...) GRAPEVINE_TRY_TO(return, GRAPEVINE_CAT(try_, __COUNTER__), __VA_ARGS__)
#define TRY_ASSIGN(declaration, ...) \
  GRAPEVINE_TRY_VALUE(return, GRAPEVINE_CAT(try_, __COUNTER__), declaration, __VA_ARGS__)
#define CO_TRY(...) GRAPEVINE_TRY_TO(co_return, GRAPEVINE_CAT(try_, __COUNTER__), __VA_ARGS__)
#define CO_TRY_ASSIGN(declaration, ...) \
  GRAPEVINE_TRY_VALUE(co_return, GRAPEVINE_CAT(try_, __COUNTER__), declaration, __VA_ARGS__)
