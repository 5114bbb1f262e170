// What the demo found: computed from the peers' summaries and the models they left, then told to a
// person or as the JSON object that scripts read.
#pragma once

#include "app/demo_options.hpp"
#include "app/demo_peer.hpp"

#include <string>
#include <vector>

namespace grapevine {

struct DemoOutcome {
  std::uint32_t survivors = 0;
  std::uint32_t survivors_finished = 0;  // every round
  double loss_first = 0;                 // the first training loss that any peer showed
  double loss_last = 0;                  // of the last round, mean over the survivors
  double loss_alone = 0;  // of a peer that trained alone, on the held-out text of all shares
  double eval_loss = 0;   // of the swarm's model, on the same text
  std::uint64_t tokens_total = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  double seconds = 0;
  double cpu_train_s = 0;  // of the survivors together
  double cpu_node_s = 0;
  std::string sample;
  std::string checkpoint;
  std::vector<DemoSummary> peers;  // the survivors

  [[nodiscard]] bool all_finished() const {
    return survivors > 0 && survivors_finished == survivors;
  }
  [[nodiscard]] bool success() const { return all_finished() && loss_last < loss_first; }
};

// The survivors' figures. A survivor that left no summary or other than all rounds did not finish.
[[nodiscard]] DemoOutcome gather_outcome(DemoOptions const& options, std::vector<DemoPeer>& peers);
// The two losses on the held-out text of all shares, and a sample of what the swarm's model writes.
[[nodiscard]] Result<> judge_models(DemoOutcome& outcome, std::string const& alone_checkpoint,
                                    std::vector<std::string> const& shares);

[[nodiscard]] std::string outcome_text(DemoOutcome const& outcome);
[[nodiscard]] std::string outcome_json(DemoOptions const& options, DemoOutcome const& outcome);

}  // namespace grapevine
