// ErrorFeedback: what a lossy encoding left out of one tensor, kept to be sent later:
//
//   e <- beta e + delta ; sent = decode(encode(e)) ; e <- e - sent   once sent was delivered
//
// The last two steps wait for the delivery, so that an encoding that reached nobody loses nothing,
// and one that did is not sent twice. With beta 1 the sum of what was delivered plus the error is
// the sum of all deltas (up to rounding), whatever was lost on the way; with beta below 1 old
// errors fade. Memory: the error; while a delivery is open the sum too, and the encoding, shared
// with whoever serves it. Not thread-safe; any one thread. Sources: SparseLoCo (arXiv 2508.15706)
// and Templar, which decays by 0.95 and subtracts the decoded value.
#pragma once

#include "grapevine/kernels/codec.hpp"

#include <memory>
#include <vector>

namespace grapevine {

class ErrorFeedback {
 public:
  // `elements` of the tensor, error 0. beta in [0, 1].
  ErrorFeedback(CodecSettings const& settings, float beta, std::size_t elements);

  // Encodes the decayed error with `delta` (as long as the tensor) added. The delivery of what is
  // returned is open until one of the three below: no other `encode` before. Errc::not_finite when
  // the sum is not finite, and nothing has changed.
  [[nodiscard]] Result<std::shared_ptr<Bytes const>> encode(std::span<float const> delta);

  void commit();   // it was delivered: the error is what the receivers' decoding left out
  void discard();  // it was not, and nobody else has the delta: it stays in the error
  void undo();     // as if it had not been encoded: its owner has another use for the delta
  [[nodiscard]] bool open() const { return sent_ != nullptr; }

  [[nodiscard]] std::span<float const> error() const { return error_; }
  void reset();  // error 0, nothing open: after a state was taken over from others

 private:
  CodecSettings settings_;
  float beta_;
  std::vector<float> error_;
  std::vector<float> sum_;             // with the delta; empty when no delivery is open
  std::shared_ptr<Bytes const> sent_;  // null when no delivery is open
};

}  // namespace grapevine
