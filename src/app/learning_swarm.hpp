// LearningSwarm: whole nodes of a swarm in the simulated world, each with a real LibTorch model and
// a share of a text of its own, over links of which some are down for a while. What is measured is
// what the swarm has learned. Deterministic from its seed; one thread.
#pragma once

#include "grapevine/base/result.hpp"
#include "grapevine/train/dataset.hpp"
#include "grapevine/wire/manifest.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace grapevine {

struct LearningShape {
  std::vector<std::string> shares;  // a folder of text for each peer …
  std::string all;                  // … and the one that they are in
  Mixing mixing;
  OuterOptimizer outer;
  double inner_lr = 4e-3;  // after the warm-up; a tenth of it at the end
  std::uint32_t inner_steps = 50;
  std::uint64_t rounds = 12;
  // For as long as a round takes a link between two is down with this probability: connections over
  // it break, and none can be made.
  double link_failure = 0;
  std::uint64_t seed = 1;
};

struct Learned {
  double loss = 0;          // nats a token, on everybody's held-out text, mean of the peers' models
  double loss_mean = 0;     // of the mean of their parameters
  double mixed = 0;         // of what a round would mix if all links were up
  double js = 0;            // how far apart the models were, mean of what the peers measured
  std::uint64_t bytes = 0;  // sent by a peer in a round
};

// The text at `path`, read as the model below wants it.
[[nodiscard]] DatasetOptions learning_data(std::string path);
// Of a model small enough for two cores: the same in every shape.
[[nodiscard]] Result<Learned> learn_together(LearningShape const& shape);
// Synchronous data parallel: each step takes the mean of what all peers' batches say. Equal tokens.
[[nodiscard]] Result<Learned> learn_synchronously(LearningShape const& shape);
// DiLoCo as its paper has it, without a node or a link: what learn_together() is held against.
[[nodiscard]] Result<Learned> learn_by_the_formula(LearningShape const& shape);
// A peer by itself, on its own share: the first.
[[nodiscard]] Result<Learned> learn_alone(LearningShape const& shape);

}  // namespace grapevine
