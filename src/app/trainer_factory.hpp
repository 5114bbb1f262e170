// How the program turns a run's manifest and a person's data into a LibTorch trainer. Called on the
// train worker's thread.
#pragma once

#include "grapevine/train/trainer.hpp"
#include "grapevine/wire/manifest.hpp"

#include <functional>
#include <memory>
#include <string>

namespace grapevine {

struct TrainerChoice {
  std::string data;
  std::string device = "auto";
  std::uint32_t threads = 0;
};

[[nodiscard]] std::function<Result<std::unique_ptr<Trainer>>(RunManifest const&, PeerId const&)>
trainer_factory(TrainerChoice choice);

}  // namespace grapevine
