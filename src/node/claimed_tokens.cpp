#include "node/claimed_tokens_detail.hpp"

namespace grapevine {
namespace {

constexpr std::uint64_t rounds_in_a_claim_max = 4;

}  // namespace

std::uint64_t claimed_tokens_max(RunManifest const& run, MixLane lane) {
  if (lane == MixLane::parameters) return 1;
  return rounds_in_a_claim_max * run.inner_steps * run.inner.batch * run.model.context;
}

Result<> check_claimed_tokens(RunManifest const& run, MixLane lane, std::uint64_t tokens) {
  auto const max = claimed_tokens_max(run, lane);
  if (tokens <= max) return {};
  return fail(Errc::limit_exceeded, "somebody claims " + std::to_string(tokens) +
                                        " tokens of at most " + std::to_string(max));
}

}  // namespace grapevine
