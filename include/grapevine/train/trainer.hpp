// Trainer: what turns data into inner steps. Created, used and destroyed on the train worker's
// thread only. Parameters cross its border as one flat fp32 vector in the order of its
// TensorLayout. A trainer never talks to the network and never sees another peer.
#pragma once

#include "grapevine/base/result.hpp"
#include "grapevine/tensor/layout.hpp"
#include "grapevine/tensor/probe_answer.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace grapevine {

struct InnerJob {
  std::uint64_t first_step = 0;  // round * H: the position in the learning-rate schedule
  std::uint32_t steps = 0;       // inner steps to take
};

struct InnerProgress {
  std::uint32_t step = 0;  // inner steps done in this job
  float loss = 0;          // mean over the steps since the last report
  double tokens_per_s = 0;
  double lr = 0;
};
using ProgressSink = std::function<void(InnerProgress const&)>;  // called at most twice a second

struct InnerReport {
  std::uint32_t steps = 0;   // fewer than asked when stopped
  std::uint64_t tokens = 0;  // trained on in this job
  float loss = 0;            // mean over the job
  float loss_last = 0;       // mean over its last tenth
  double seconds = 0;
  double lr = 0;
};

struct EvalReport {
  float loss = 0;  // nats per token on the held-out split
  std::uint64_t tokens = 0;
};

// Optimizer state and data position, to resume exactly.
struct TrainerState {
  struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;
    std::vector<float> values;
  };
  std::vector<Tensor> tensors;
  std::uint64_t position = 0;         // batches drawn so far
  std::uint64_t optimizer_steps = 0;  // AdamW's t
};

struct TrainerInfo {
  std::string device = "cpu";  // "cpu", "cuda:0"
  std::string dtype = "fp32";  // compute type: "fp32" or "bf16"
  std::uint32_t threads = 1;
  std::uint32_t vocab = 0;  // of what it predicts; 0: nothing that could be probed
};

class Trainer {
 public:
  virtual ~Trainer() = default;
  [[nodiscard]] virtual TensorLayout const& layout() const = 0;
  [[nodiscard]] virtual TrainerInfo info() const = 0;
  virtual void read(std::span<float> parameters) = 0;  // out.size() == layout().elements()
  virtual Result<> write(
      std::span<float const> parameters) = 0;  // Errc::not_finite refuses NaN and Inf
  // Takes inner steps until done or asked to stop (checked once a step). NaN or Inf in the loss or
  // gradient: Errc::not_finite, and the parameters are as before the offending step.
  virtual Result<InnerReport> run(InnerJob const& job, std::stop_token stop,
                                  ProgressSink const& progress) = 0;
  virtual Result<EvalReport> evaluate(std::stop_token stop) = 0;
  // What the model expects after each of `tokens`, in fp32: as many rows as there are tokens, each
  // below info().vocab. The text is cut where the model's context ends. Errc::not_finite,
  // Errc::unsupported.
  virtual Result<ProbeAnswer> probe(std::span<std::uint32_t const> tokens) = 0;
  [[nodiscard]] virtual TrainerState save() = 0;
  virtual Result<> restore(
      TrainerState const& state) = 0;  // Errc::schema_mismatch names the tensor
};

using TrainerFactory = std::function<Result<std::unique_ptr<Trainer>>()>;

}  // namespace grapevine
