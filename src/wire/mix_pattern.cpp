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

}  // namespace grapevine
