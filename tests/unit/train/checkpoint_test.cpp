#include "grapevine/train/checkpoint.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/train/reference_trainer.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace grapevine;

namespace {

struct Saved {
  TensorLayout layout;
  Checkpoint checkpoint;
  std::map<std::string, Bytes> files;
};

Saved save() {
  auto const trainer = make_reference_trainer({.hidden = 4}).value();
  REQUIRE(trainer->run({.first_step = 0, .steps = 5}, {}, {}).has_value());
  Saved saved{.layout = trainer->layout(), .checkpoint = {}, .files = {}};
  auto& checkpoint = saved.checkpoint;
  checkpoint.run = sha256(as_bytes("run"));
  checkpoint.round = 3;
  checkpoint.tokens_total = 12'345'678'901;
  checkpoint.parameters.resize(saved.layout.elements());
  trainer->read(checkpoint.parameters);
  checkpoint.outer_momentum.assign(saved.layout.elements(), 0.25F);
  checkpoint.trainer = trainer->save();
  for (auto& file : checkpoint_files(checkpoint, saved.layout, "{}"))
    saved.files.emplace(file.name, std::move(file.content));
  return saved;
}

std::string complaint(Saved const& saved) {
  auto const parsed = parse_checkpoint(saved.files, saved.layout);
  if (parsed) return "accepted";
  CHECK(parsed.error().errc() == Errc::checkpoint_corrupt);
  return parsed.error().detail();
}

}  // namespace

TEST_CASE("a checkpoint goes both ways, and a trainer continues from it exactly") {
  auto const saved = save();
  std::vector<std::string> names;
  for (auto const& [name, content] : saved.files) names.push_back(name);
  CHECK(names == std::vector<std::string>{"config.json", "model.safetensors",
                                          "optimizer.safetensors", "outer.safetensors",
                                          "state.json"});
  auto const parsed = parse_checkpoint(saved.files, saved.layout).value();
  CHECK(parsed.run == saved.checkpoint.run);
  CHECK(parsed.round == 3);
  CHECK(parsed.tokens_total == 12'345'678'901);
  CHECK(parsed.parameters == saved.checkpoint.parameters);
  CHECK(parsed.outer_momentum == saved.checkpoint.outer_momentum);
  CHECK(parsed.trainer.position == 5);
  CHECK(parsed.trainer.optimizer_steps == 5);

  auto const steps = [](Trainer& trainer, std::uint64_t first, std::uint32_t count) {
    REQUIRE(trainer.run({.first_step = first, .steps = count}, {}, {}).has_value());
  };
  auto const straight = make_reference_trainer({.hidden = 4}).value();
  steps(*straight, 0, 9);
  auto const resumed = make_reference_trainer({.hidden = 4}).value();
  REQUIRE(resumed->write(parsed.parameters).has_value());
  REQUIRE(resumed->restore(parsed.trainer).has_value());
  steps(*resumed, 5, 4);
  std::vector<float> expected(saved.layout.elements()), got(saved.layout.elements());
  straight->read(expected);
  resumed->read(got);
  CHECK(got == expected);
}

TEST_CASE("without outer momentum and configuration there are fewer files") {
  auto saved = save();
  saved.checkpoint.outer_momentum.clear();
  auto const files = checkpoint_files(saved.checkpoint, saved.layout, {});
  saved.files.clear();
  for (auto const& file : files) saved.files.emplace(file.name, file.content);
  CHECK(files.size() == 3);
  CHECK(parse_checkpoint(saved.files, saved.layout)->outer_momentum.empty());
}

TEST_CASE("a damaged or missing file is named") {
  for (char const* name :
       {"config.json", "model.safetensors", "optimizer.safetensors", "outer.safetensors"}) {
    auto saved = save();
    saved.files.at(name).back() ^= 1;
    CHECK(complaint(saved) == std::string(name) + ": does not have its hash");
    saved.files.erase(name);
    CHECK(complaint(saved) == std::string(name) + ": missing");
  }
  auto saved = save();
  saved.files.at("state.json").resize(100);
  CHECK(complaint(saved) == "state.json: not a JSON object");
  saved.files.erase("state.json");
  CHECK(complaint(saved) == "state.json: missing");
}

TEST_CASE("no changed byte of state.json is believed") {
  auto const good = save();
  CHECK(rc::check("one byte changed", [&] {
    auto saved = good;
    auto& state = saved.files.at("state.json");
    auto& byte = state[*rc::gen::inRange<std::size_t>(0, state.size())];
    byte ^= static_cast<std::uint8_t>(1 << *rc::gen::inRange(0, 8));
    auto const parsed = parse_checkpoint(saved.files, saved.layout);
    // White space between values may change; nothing that is read may.
    if (parsed) RC_ASSERT(parsed->round == good.checkpoint.round);
    if (parsed) RC_ASSERT(parsed->trainer.position == good.checkpoint.trainer.position);
  }));
}

TEST_CASE("another model's checkpoint is refused by the name of a tensor") {
  auto const saved = save();
  auto const other = reference_layout({.hidden = 5}).value();
  auto const parsed = parse_checkpoint(saved.files, other);
  CHECK(parsed.error().errc() == Errc::schema_mismatch);
  CHECK(parsed.error().detail() == "input.bias: another type or shape");
  auto const smaller = reference_layout({.hidden = 0}).value();
  CHECK(read_model_file(saved.files.at("model.safetensors"), smaller).error().errc() ==
        Errc::schema_mismatch);
}

TEST_CASE("a model file with a value that is not a number is refused") {
  auto const layout = reference_layout({}).value();
  std::vector<float> values(layout.elements(), 1.0F);
  CHECK(read_model_file(model_file(layout, values), layout).value() == values);
  values[5] = std::numeric_limits<float>::infinity();
  CHECK(read_model_file(model_file(layout, values), layout).error().errc() == Errc::not_finite);
}

TEST_CASE("counters that no run can reach are refused") {
  auto const with = [](auto const& set) {
    auto saved = save();
    set(saved.checkpoint);
    for (auto& file : checkpoint_files(saved.checkpoint, saved.layout, "{}"))
      saved.files[file.name] = std::move(file.content);
    return complaint(saved);
  };
  CHECK(with([](Checkpoint& it) { it.tokens_total = limits::tokens_total_max; }) == "accepted");
  CHECK(with([](Checkpoint& it) {
          it.tokens_total = limits::tokens_total_max + 1;
        }).find("tokens_total is over") != std::string::npos);
  CHECK(with([](Checkpoint& it) { it.round = limits::rounds_max + 1; }).find("round is over") !=
        std::string::npos);
  CHECK(with([](Checkpoint& it) { it.trainer.position = ~0ULL; }).find("position is over") !=
        std::string::npos);
}
