#include "grapevine/train/reference_trainer.hpp"

#include "train/reference_model_detail.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

using namespace grapevine;

namespace {

std::vector<float> parameters_of(Trainer& trainer) {
  std::vector<float> parameters(trainer.layout().elements());
  trainer.read(parameters);
  return parameters;
}

InnerReport train(Trainer& trainer, std::uint64_t first_step, std::uint32_t steps) {
  return trainer.run({.first_step = first_step, .steps = steps}, {}, {}).value();
}

void check_gradient(ReferenceOptions const& options) {
  ReferenceModel model(options, reference_layout(options).value());
  SeededRandom random(3);
  auto const batch = ReferenceChain(options).draw(random, 16);
  auto parameters = model.first_parameters(5);
  CHECK(model.loss_and_gradient(parameters, batch) == model.loss(parameters, batch));
  std::vector<double> const gradient(model.gradient().begin(), model.gradient().end());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    float const kept = parameters[i];
    float const above = kept + 0x1p-12F;
    float const below = kept - 0x1p-12F;
    parameters[i] = above;
    double const high = model.loss(parameters, batch);
    parameters[i] = below;
    double const low = model.loss(parameters, batch);
    parameters[i] = kept;
    double const slope = (high - low) / (double{above} - double{below});
    CAPTURE(i);
    CHECK(gradient[i] == doctest::Approx(slope).epsilon(1e-4).scale(1e-3));
  }
}

}  // namespace

TEST_CASE("sizes reach from tens of parameters to a hundred thousand") {
  CHECK(reference_layout({.vocab = 7})->elements() == 56);
  CHECK(reference_layout({.vocab = 64, .context = 4, .hidden = 320})->elements() == 102'784);
  CHECK(reference_layout({.vocab = 1}).error().detail() == "vocab: 1 is not in 2..256");
  CHECK(make_reference_trainer({.settings = {.batch = 0}}).error().errc() == Errc::config_invalid);
}

TEST_CASE("gradients agree with finite differences") {
  check_gradient({.vocab = 5, .context = 2});
  check_gradient({.vocab = 5, .context = 2, .hidden = 6});
}

TEST_CASE("the held-out loss falls from chance towards the entropy of the chain") {
  for (std::uint32_t const hidden : {0U, 16U}) {
    ReferenceOptions const options{.vocab = 8, .hidden = hidden, .run_seed = 1, .data_seed = 2};
    auto const trainer = make_reference_trainer(options).value();
    CHECK(trainer->evaluate({})->loss == doctest::Approx(std::log(8)).epsilon(0.05));
    auto const report = train(*trainer, 0, 300);
    CHECK(report.steps == 300);
    CHECK(report.tokens == 300 * 32);
    CHECK(report.loss_last < report.loss);
    CHECK(report.seconds == doctest::Approx(3.0));
    CHECK(trainer->evaluate({})->loss == doctest::Approx(reference_entropy(options)).epsilon(0.1));
  }
}

TEST_CASE("the same seeds give the same bits, other data gives others") {
  auto const run = [](std::uint64_t data_seed) {
    auto const trainer = make_reference_trainer({.hidden = 4, .data_seed = data_seed}).value();
    train(*trainer, 0, 20);
    return parameters_of(*trainer);
  };
  CHECK(run(1) == run(1));
  CHECK(run(1) != run(2));
}

TEST_CASE("a saved trainer continues exactly") {
  auto const straight = make_reference_trainer({.hidden = 4}).value();
  train(*straight, 0, 30);
  auto const before = make_reference_trainer({.hidden = 4}).value();
  train(*before, 0, 10);
  auto const after = make_reference_trainer({.hidden = 4}).value();
  REQUIRE(after->write(parameters_of(*before)).has_value());
  REQUIRE(after->restore(before->save()).has_value());
  train(*after, 10, 20);
  CHECK(parameters_of(*after) == parameters_of(*straight));
}

TEST_CASE("state of another shape is refused by name") {
  auto const trainer = make_reference_trainer({}).value();
  auto state = trainer->save();
  state.tensors[1].values.pop_back();
  CHECK(trainer->restore(state).error().detail() == "exp_avg_sq: not of the expected shape");
  state.tensors.clear();
  CHECK(trainer->restore(state).error().detail() == "exp_avg: missing");
}

TEST_CASE("parameters that are not numbers are refused") {
  auto const trainer = make_reference_trainer({}).value();
  auto const before = parameters_of(*trainer);
  auto parameters = before;
  parameters[3] = std::numeric_limits<float>::infinity();
  CHECK(trainer->write(parameters).error().errc() == Errc::not_finite);
  parameters[3] = std::numeric_limits<float>::quiet_NaN();
  CHECK(trainer->write(parameters).error().detail() ==
        "input.bias holds a value that is not a number");
  CHECK(trainer->write(std::span(parameters).first(3)).error().errc() == Errc::schema_mismatch);
  CHECK(parameters_of(*trainer) == before);
}

TEST_CASE("a step whose gradient is not a number changes nothing") {
  auto const trainer = make_reference_trainer({.not_finite_at = 5}).value();
  auto const sound = make_reference_trainer({}).value();
  auto const report = trainer->run({.first_step = 0, .steps = 10}, {}, {});
  CHECK(report.error().message() == "GV-TRAIN-002 not a number: step 5: loss or gradient");
  train(*sound, 0, 5);
  CHECK(parameters_of(*trainer) == parameters_of(*sound));
  CHECK(trainer->save().position == 5);
}

TEST_CASE("a probe is answered with the distribution after each token") {
  // Without a hidden layer the logits are the bias and a row of the table for each place back.
  ReferenceOptions const options{.vocab = 5, .context = 3, .run_seed = 1};
  auto const trainer = make_reference_trainer(options).value();
  train(*trainer, 0, 20);
  auto const parameters = parameters_of(*trainer);
  auto const* const weight = parameters.data() + trainer->layout().find("input.weight")->offset;
  auto const* const bias = parameters.data() + trainer->layout().find("input.bias")->offset;
  std::vector<std::uint32_t> const tokens{3, 0, 4, 1};
  auto const answer = trainer->probe(tokens).value();
  CHECK(trainer->info().vocab == 5);
  REQUIRE(answer.rows() == 4);
  CHECK(check(answer).has_value());
  constexpr std::uint32_t contexts[4][3] = {{4, 1, 3}, {1, 3, 0}, {3, 0, 4}, {0, 4, 1}};
  for (std::size_t row = 0; row < 4; ++row) {
    double logits[5], total = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      logits[i] = bias[i];
      for (std::size_t c = 0; c < 3; ++c) logits[i] += weight[(c * 5 + contexts[row][c]) * 5 + i];
      total += std::exp(logits[i]);
    }
    for (std::size_t i = 0; i < 5; ++i)
      CHECK(answer.log_probabilities[row * 5 + i] ==
            doctest::Approx(logits[i] - std::log(total)).epsilon(1e-6));
  }
  CHECK(parameters_of(*trainer) == parameters);
}

TEST_CASE("extreme parameters give a large loss, not an infinite one") {
  auto const trainer = make_reference_trainer({.hidden = 2}).value();
  std::vector<float> large(trainer->layout().elements(), 3e38F);
  large[trainer->layout().find("output.bias")->offset] = -3e38F;
  REQUIRE(trainer->write(large).has_value());
  CHECK(trainer->evaluate({})->loss > 10);
  CHECK(check(trainer->probe(std::vector<std::uint32_t>{0, 1}).value()).has_value());
  CHECK(train(*trainer, 0, 3).steps == 3);
}

TEST_CASE("the bits do not depend on the compiler or the machine") {
  auto const trainer = make_reference_trainer({.hidden = 4, .run_seed = 1}).value();
  train(*trainer, 0, 50);
  std::uint64_t sum = 0;
  for (float const value : parameters_of(*trainer))
    sum = sum * 31 + std::bit_cast<std::uint32_t>(value);
  CHECK(sum == 15'136'274'066'764'939'846ULL);
}

TEST_CASE("a stop is obeyed before the next step") {
  auto const trainer = make_reference_trainer({}).value();
  std::stop_source stop;
  std::uint32_t lines = 0;
  auto const sink = [&](InnerProgress const& line) {
    ++lines;
    CHECK(line.step == 50);
    CHECK(line.tokens_per_s == doctest::Approx(3200));
    stop.request_stop();
  };
  auto const report = trainer->run({.first_step = 0, .steps = 1000}, stop.get_token(), sink);
  CHECK(report->steps == 50);
  CHECK(lines == 1);
}
