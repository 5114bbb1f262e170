#include "grapevine/torch/torch_trainer.hpp"
#include "grapevine/train/checkpoint.hpp"
#include "grapevine/train/initial_parameters.hpp"
#include "grapevine/train/probe_batch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

using namespace grapevine;

namespace {

ModelConfig small_model() {
  return {.hidden_size = 32,
          .intermediate_size = 64,
          .layers = 2,
          .heads = 4,
          .kv_heads = 2,
          .context = 32};
}

// Sentences of a small grammar: enough to learn from, the same everywhere.
std::string sentences() {
  std::string text;
  constexpr char const* who[] = {"the cat", "a dog", "my friend", "the old man"};
  constexpr char const* does[] = {" sees ", " likes ", " follows "};
  for (int i = 0; i < 600; ++i)
    text += std::string(who[i % 4]) + does[i * 7 % 3] + who[i * 5 / 3 % 4] + ".\n";
  return text;
}

std::shared_ptr<Dataset const> data_of(ModelConfig const& model, std::string const& text,
                                       std::uint32_t batch) {
  DatasetOptions const options{
      .path = {}, .vocab_size = model.vocab_size, .context = model.context, .batch = batch};
  return std::make_shared<Dataset const>(Dataset::from_text("text", text, options).value());
}

TorchTrainerOptions options_of(ModelConfig const& model, std::uint32_t batch) {
  return {.model = model,
          .settings = {.lr = 3e-3F, .warmup_steps = 5, .schedule_steps = 200, .batch = batch},
          .data = data_of(model, sentences(), batch),
          .run_seed = 1,
          .data_seed = 2,
          .device = "cpu",
          .threads = 1};
}

std::unique_ptr<Trainer> make(TorchTrainerOptions options) {
  auto trainer = make_torch_trainer(std::move(options));
  if (!trainer) FAIL(trainer.error().message());
  return std::move(*trainer);
}

std::vector<float> parameters_of(Trainer& trainer) {
  std::vector<float> parameters(trainer.layout().elements());
  trainer.read(parameters);
  return parameters;
}

InnerReport train(Trainer& trainer, std::uint64_t first_step, std::uint32_t steps) {
  return trainer.run({.first_step = first_step, .steps = steps}, {}, {}).value();
}

}  // namespace

TEST_CASE("a trainer begins with the run's parameters, in the model's layout") {
  auto const trainer = make(options_of(small_model(), 8));
  CHECK(trainer->layout().canonical_text() == model_layout(small_model()).value().canonical_text());
  CHECK(parameters_of(*trainer) == initial_parameters(small_model(), 1).value());
  CHECK(trainer->evaluate({})->loss == doctest::Approx(std::log(256)).epsilon(0.02));
  CHECK(trainer->info().device == "cpu");
  CHECK(trainer->info().dtype == "fp32");
  CHECK(trainer->info().threads == 1);
}

// Against the model's logits, computed by another path: rows of one sequence each.
TEST_CASE("a probe is answered with the likeliest tokens after each token") {
  auto options = options_of(small_model(), 8);
  options.precision = Precision::bf16;
  auto const trainer = make(options);
  train(*trainer, 0, 20);
  auto const parameters = parameters_of(*trainer);
  auto const tokens = probe_batch(1, 256);
  auto const answer = trainer->probe(std::span(tokens).first(80)).value();
  CHECK(trainer->info().vocab == 256);
  REQUIRE(answer.rows() == 80);  // two and a half times the context
  REQUIRE(check(answer).has_value());
  for (std::size_t const from : {0U, 32U, 64U}) {
    auto const count = std::min<std::size_t>(32, 80 - from);
    std::vector<std::int64_t> const part(
        tokens.begin() + static_cast<std::ptrdiff_t>(from),
        tokens.begin() + static_cast<std::ptrdiff_t>(from + count));
    auto const logits = model_logits(small_model(), parameters, part).value();
    for (std::size_t i = 0; i < count; ++i) {
      double total = 0, listed = 0;
      for (std::size_t t = 0; t < 256; ++t) total += std::exp(double{logits[i * 256 + t]});
      for (std::size_t k = (from + i) * 64; k < (from + i + 1) * 64; ++k) {
        double const log = double{logits[i * 256 + answer.tokens[k]]} - std::log(total);
        CHECK(answer.log_probabilities[k] == doctest::Approx(log).epsilon(1e-4));
        listed += std::exp(log);
      }
      CHECK(answer.rest[from + i] == doctest::Approx(1 - listed).epsilon(1e-3));
    }
  }
  CHECK(parameters_of(*trainer) == parameters);
}

TEST_CASE("the loss falls, on the held-out part too") {
  auto const trainer = make(options_of(small_model(), 8));
  auto const report = train(*trainer, 0, 120);
  CHECK(report.steps == 120);
  CHECK(report.tokens == 120 * 8 * 32);
  CHECK(report.loss_last < 2.0);
  auto const held_out = trainer->evaluate({}).value();
  CHECK(held_out.loss < 2.0);
  CHECK(held_out.tokens > 0);

  // The free function sees the same model and the same windows.
  auto const data = data_of(small_model(), sentences(), 8);
  Dataset const* const sets[] = {data.get(), data.get()};
  auto const parameters = parameters_of(*trainer);
  CHECK(evaluate_model(small_model(), parameters, sets)->loss ==
        doctest::Approx(held_out.loss).epsilon(1e-4));
}

TEST_CASE("one batch can be learned by heart") {
  auto const model = small_model();
  auto options = options_of(model, 1);
  // A text with a single training window: every batch is the same one.
  options.data = data_of(model, sentences().substr(0, 16 * 33), 1);
  options.settings.lr = 1e-2F;
  options.settings.schedule_steps = 400;
  options.settings.weight_decay = 0;
  auto const trainer = make(std::move(options));
  CHECK(train(*trainer, 0, 250).loss_last < 0.4);
}

TEST_CASE("text that people wrote is learned from" *
          doctest::skip(!std::filesystem::exists("/usr/share/games/fortunes"))) {
  auto const model = small_model();
  auto options = options_of(model, 8);
  options.data = std::make_shared<Dataset const>(
      Dataset::open({.path = "/usr/share/games/fortunes", .context = model.context, .batch = 8})
          .value());
  auto const trainer = make(std::move(options));
  float const before = trainer->evaluate({})->loss;
  train(*trainer, 0, 100);
  CHECK(trainer->evaluate({})->loss < before - 1.5F);
}

TEST_CASE("with one thread every bit repeats, and other data gives others") {
  auto const bits = [](std::uint64_t data_seed) {
    auto options = options_of(small_model(), 8);
    options.data_seed = data_seed;
    auto const trainer = make(std::move(options));
    train(*trainer, 0, 5);
    return parameters_of(*trainer);
  };
  CHECK(bits(2) == bits(2));
  CHECK(bits(2) != bits(3));
}

TEST_CASE("a trainer resumed from a checkpoint's files continues exactly") {
  auto const straight = make(options_of(small_model(), 8));
  train(*straight, 0, 8);
  auto const before = make(options_of(small_model(), 8));
  train(*before, 0, 5);
  Checkpoint checkpoint;
  checkpoint.parameters = parameters_of(*before);
  checkpoint.trainer = before->save();
  std::map<std::string, Bytes> files;
  for (auto& file : checkpoint_files(checkpoint, before->layout(), to_config_json(small_model())))
    files.emplace(file.name, std::move(file.content));
  auto const config = from_config_json(as_text(files.at("config.json"))).value();
  auto const read = parse_checkpoint(files, model_layout(config).value()).value();

  auto const after = make(options_of(config, 8));
  REQUIRE(after->write(read.parameters).has_value());
  REQUIRE(after->restore(read.trainer).has_value());
  train(*after, 5, 3);
  CHECK(parameters_of(*after) == parameters_of(*straight));
}

TEST_CASE("a step split into micro-batches is the same step") {
  auto const parameters = [](std::uint32_t accumulation) {
    auto options = options_of(small_model(), 8);
    options.settings.accumulation = accumulation;
    auto const trainer = make(std::move(options));
    train(*trainer, 0, 1);
    return parameters_of(*trainer);
  };
  auto const whole = parameters(1);
  auto const split = parameters(4);
  double largest = 0;
  for (std::size_t i = 0; i < whole.size(); ++i)
    largest = std::max(largest, std::abs(double{whole[i]} - split[i]));
  // The first AdamW step moves each weight by about lr / warmup_steps.
  CHECK(largest < 0.05 * 3e-3 / 5);
}

TEST_CASE("what is not a number never enters, and a failed step changes nothing") {
  auto const trainer = make(options_of(small_model(), 8));
  auto parameters = parameters_of(*trainer);
  auto const good = parameters;
  parameters[10] = std::numeric_limits<float>::quiet_NaN();
  CHECK(trainer->write(parameters).error().errc() == Errc::not_finite);
  CHECK(parameters_of(*trainer) == good);

  parameters.assign(parameters.size(), 1e30F);  // finite, but its products are not
  REQUIRE(trainer->write(parameters).has_value());
  auto const result = trainer->run({.first_step = 7, .steps = 3}, {}, {});
  CHECK(result.error().errc() == Errc::not_finite);
  CHECK(result.error().detail().starts_with("step 7:"));
  CHECK(parameters_of(*trainer) == parameters);
  CHECK(trainer->save().position == 0);

  REQUIRE(trainer->write(good).has_value());
  CHECK(train(*trainer, 7, 3).steps == 3);
}

TEST_CASE("a stop is obeyed between steps") {
  auto const trainer = make(options_of(small_model(), 8));
  std::stop_source stop;
  stop.request_stop();
  auto const before = parameters_of(*trainer);
  CHECK(trainer->run({.first_step = 0, .steps = 100}, stop.get_token(), {})->steps == 0);
  CHECK(parameters_of(*trainer) == before);
  CHECK(trainer->evaluate(stop.get_token()).error().errc() == Errc::cancelled);
}

TEST_CASE("bf16 products learn as well") {
  auto options = options_of(small_model(), 8);
  options.precision = Precision::bf16;
  auto const trainer = make(std::move(options));
  CHECK(trainer->info().dtype == "bf16");
  CHECK(train(*trainer, 0, 40).loss_last < 3.2);
}

TEST_CASE("what cannot be made is an error with its reason") {
  auto const error = [](auto change) {
    auto options = options_of(small_model(), 8);
    change(options);
    return make_torch_trainer(std::move(options)).error();
  };
  using O = TorchTrainerOptions;
  CHECK(error([](O& o) { o.device = "tpu"; }).errc() == Errc::usage);
  CHECK(error([](O& o) { o.device = "cuda:x"; }).errc() == Errc::usage);
  CHECK(error([](O& o) { o.settings.batch = 0; }).errc() == Errc::config_invalid);
  CHECK(error([](O& o) { o.model.heads = 3; }).errc() == Errc::config_invalid);
  CHECK(error([](O& o) { o.data = nullptr; }).errc() == Errc::data_missing);
  auto const large = error([](O& o) {
    o.model.hidden_size = 65536;
    o.model.intermediate_size = 65536;
    o.model.layers = 30;
  });
  CHECK(large.errc() == Errc::model_too_large);
  CHECK(large.detail().starts_with("training needs about "));
}

TEST_CASE("a GPU that is not there is an error that says so" *
          doctest::skip(load_cuda_backend().has_value())) {
  auto options = options_of(small_model(), 8);
  options.device = "cuda:0";
  CHECK(make_torch_trainer(std::move(options)).error().errc() == Errc::device_unavailable);
}
