#include "grapevine/wire/mix_pattern.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

namespace grapevine {
namespace {

constexpr auto none = MixPattern::none, pair = MixPattern::pair, global = MixPattern::global;
constexpr auto methods = std::to_array<MixingMethod>({
    {"diloco", {.mix1 = none, .mix2 = global}},
    {"global-m1", {.mix1 = global, .mix2 = none}},
    {"local-m1", {.mix1 = pair, .mix2 = none}},
    {"global-m1-local-m2", {.mix1 = global, .mix2 = pair}},
    {"local-m1-m2", {.mix1 = pair, .mix2 = pair}},
    {"joint-pairs", {.mix1 = pair, .mix2 = pair, .joint = true}},
    {"alone", {.mix1 = none, .mix2 = none}},
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

Result<Mixing> mixing_method(std::string_view name, std::string_view codec) {
  auto const* const method = std::ranges::find(methods, name, &MixingMethod::name);
  auto const* const named = std::ranges::find(codecs, codec, codec_name);
  std::vector<std::string_view> known;
  if (method == methods.end()) {
    std::ranges::transform(methods, std::back_inserter(known), &MixingMethod::name);
    return fail(Errc::config_invalid,
                fmt::format("method: {:.64} is not one of {}", name, fmt::join(known, " ")));
  }
  if (named == codecs.end()) {
    std::ranges::transform(codecs, std::back_inserter(known), codec_name);
    return fail(Errc::config_invalid,
                fmt::format("codec: {:.64} is not one of {}", codec, fmt::join(known, " ")));
  }
  Mixing mixing = method->mixing;
  if (mixing.mix1 != MixPattern::none)
    mixing.mix1_codec = *named == Codec::topk ? Codec::bf16 : *named;
  if (mixing.mix2 != MixPattern::none) mixing.mix2_codec = *named;
  return mixing;
}

Codec Mixing::result_codec(MixLane lane) const {
  auto const codec = lane == MixLane::parameters ? mix1_codec : mix2_codec;
  return codec == Codec::topk ? Codec::int8 : codec;
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
