// ProbeAnswer: what a model expects after each token of a probe batch (train/probe_batch.hpp),
// small enough to send: the likeliest tokens with their log-probabilities, and the probability of
// all others together. Pure; a value; any thread.
#pragma once

#include "grapevine/base/limits.hpp"
#include "grapevine/base/result.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace grapevine {

struct ProbeAnswer {
  std::uint32_t vocab = 0;
  // rows() times listed(), row by row; within a row strictly increasing.
  std::vector<std::uint32_t> tokens;
  std::vector<float> log_probabilities;  // of those tokens, natural, never above 0
  std::vector<float> rest;               // one a row: the probability of all tokens not listed

  [[nodiscard]] std::size_t rows() const { return rest.size(); }
  [[nodiscard]] std::size_t listed()
      const {  // in a row; all there are where the vocabulary is small
    return std::min<std::size_t>(limits::probe_listed_max, vocab);
  }
  bool operator==(ProbeAnswer const&) const = default;
};

// One row more, from the log-probabilities of all tokens; of equals the smaller token is listed.
// Errc::not_finite.
[[nodiscard]] Result<> append_row(ProbeAnswer& answer, std::span<float const> log_probabilities);

// Errc::malformed for what no model can have answered: other sizes, tokens out of order or of the
// vocabulary, values out of range, a row that does not add up to 1.
[[nodiscard]] Result<> check(ProbeAnswer const& answer);

}  // namespace grapevine
