#include "grapevine/wire/mix_pattern.hpp"

namespace grapevine {

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
