#include "grapevine/wire/mix_pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace grapevine {
namespace {

constexpr auto none = MixPattern::none, pair = MixPattern::pair, global = MixPattern::global;
constexpr auto methods = std::to_array<MixingMethod>({
    {"diloco", {none, global, false, false}},
    {"global-m1", {global, none, false, false}},
    {"local-m1", {pair, none, false, false}},
    {"global-m1-local-m2", {global, pair, false, false}},
    {"local-m1-m2", {pair, pair, false, false}},
    {"joint-pairs", {pair, pair, true, false}},
    {"alone", {none, none, false, false}},
});

}  // namespace

std::string_view to_string(MixPattern pattern) {
  switch (pattern) {
    case MixPattern::none:
      return "none";
    case MixPattern::pair:
      return "pair";
    case MixPattern::global:
      return "global";
  }
  return "unknown";
}

std::string_view to_string(MixLane lane) {
  switch (lane) {
    case MixLane::gradients:
      return "gradients";
    case MixLane::parameters:
      return "parameters";
    case MixLane::joint:
      return "joint";
  }
  return "unknown";
}

std::span<MixingMethod const> mixing_methods() { return methods; }

Result<Mixing> mixing_method(std::string_view name) {
  auto const* const found = std::ranges::find(methods, name, &MixingMethod::name);
  if (found != methods.end()) return found->mixing;
  std::string names;
  for (auto const& method : methods) names += fmt::format(" {}", method.name);
  return fail(Errc::config_invalid, fmt::format("method: {:.64} is not one of{}", name, names));
}

MixPattern Mixing::pattern_of(MixLane lane) const {
  switch (lane) {
    case MixLane::joint:
      return joint ? MixPattern::pair : MixPattern::none;
    case MixLane::parameters:
      return joint ? MixPattern::none : mix1;
    case MixLane::gradients:
      return joint ? MixPattern::none : mix2;
  }
  return MixPattern::none;
}

}  // namespace grapevine
