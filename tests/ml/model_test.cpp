#include "grapevine/torch/torch_trainer.hpp"
#include "grapevine/train/initial_parameters.hpp"
#include "ml/plain_llama.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace grapevine;

namespace {

ModelConfig tiny(bool tied_head, bool qkv_bias) {
  return {.vocab_size = 11,
          .hidden_size = 8,
          .intermediate_size = 12,
          .layers = 2,
          .heads = 4,
          .kv_heads = 2,
          .context = 6,
          .tied_head = tied_head,
          .qkv_bias = qkv_bias};
}

// Initial weights are so small that attention is uniform; these exercise every part.
std::vector<float> lively_parameters(ModelConfig const& config) {
  auto parameters = initial_parameters(config, 3).value();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    parameters[i] =
        parameters[i] * (parameters[i] == 1.0F ? 1.0F : 20.0F) + 0.01F * static_cast<float>(i % 7);
  return parameters;
}

plain::Llama plain_model(ModelConfig const& config, std::vector<float> const& parameters) {
  return {config, model_layout(config).value(),
          plain::Vector(parameters.begin(), parameters.end())};
}

std::vector<std::int64_t> tokens(ModelConfig const& config, std::size_t count) {
  std::vector<std::int64_t> some;
  for (std::size_t i = 0; i < count; ++i)
    some.push_back(static_cast<std::int64_t>((i * i * 7 + i) % config.vocab_size));
  return some;
}

}  // namespace

TEST_CASE("logits agree with the plain implementation") {
  for (bool const tied : {true, false}) {
    auto const config = tiny(tied, !tied);
    auto const parameters = lively_parameters(config);
    auto const input = tokens(config, config.context);
    auto const expected = plain_model(config, parameters).logits(input);
    auto const got = model_logits(config, parameters, input).value();
    REQUIRE(got.size() == input.size() * config.vocab_size);
    for (std::size_t i = 0; i < got.size(); ++i) {
      CAPTURE(i);
      CHECK(got[i] == doctest::Approx(expected[i / config.vocab_size][i % config.vocab_size])
                          .epsilon(1e-4)
                          .scale(1));
    }
  }
}

TEST_CASE("gradients agree with finite differences of the plain implementation") {
  for (bool const tied : {true, false}) {
    auto const config = tiny(tied, !tied);
    auto const parameters = lively_parameters(config);
    auto const rows = tokens(config, 2 * (config.context + 1));
    auto model = plain_model(config, parameters);
    auto const got = model_gradient(config, parameters, rows, 2).value();
    CHECK(got.loss == doctest::Approx(model.loss(rows, 2)).epsilon(1e-5));
    constexpr double nudge = 1e-5;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      double const kept = model.parameters()[i];
      model.parameters()[i] = kept + nudge;
      double const above = model.loss(rows, 2);
      model.parameters()[i] = kept - nudge;
      double const below = model.loss(rows, 2);
      model.parameters()[i] = kept;
      CAPTURE(i);
      CHECK(got.gradient[i] ==
            doctest::Approx((above - below) / (2 * nudge)).epsilon(1e-3).scale(0.05));
    }
  }
}

TEST_CASE("a width that is no multiple of a vector register is computed alike") {
  ModelConfig const config{.vocab_size = 13,
                           .hidden_size = 36,
                           .intermediate_size = 23,
                           .layers = 1,
                           .heads = 2,
                           .kv_heads = 1,
                           .context = 5};
  auto const parameters = lively_parameters(config);
  auto const rows = tokens(config, 3 * 6);
  CHECK(model_gradient(config, parameters, rows, 3)->loss ==
        doctest::Approx(plain_model(config, parameters).loss(rows, 3)).epsilon(1e-4));
}

TEST_CASE("what is not of the model is refused") {
  auto const config = tiny(true, false);
  auto parameters = lively_parameters(config);
  auto const bad = std::vector<std::int64_t>{1, 11};
  CHECK(model_logits(config, parameters, bad).error().detail() == "token 11 in a vocabulary of 11");
  CHECK(model_logits(config, std::span(parameters).first(3), tokens(config, 3)).error().errc() ==
        Errc::schema_mismatch);
  parameters[4] = std::numeric_limits<float>::quiet_NaN();
  CHECK(model_logits(config, parameters, tokens(config, 3)).error().errc() == Errc::not_finite);
}

TEST_CASE("text goes on from its prompt, by the seed") {
  ModelConfig const config{.hidden_size = 16, .intermediate_size = 16, .layers = 1, .context = 8};
  auto const parameters = initial_parameters(config, 1).value();
  auto const sample = [&](std::uint64_t seed, float temperature) {
    return sample_text(config, parameters,
                       {.prompt = "a longer prompt than the context",
                        .tokens = 20,
                        .seed = seed,
                        .temperature = temperature})
        .value();
  };
  CHECK(sample(1, 1).size() == 32 + 20);
  CHECK(sample(1, 1).starts_with("a longer prompt than the context"));
  CHECK(sample(1, 1) == sample(1, 1));
  CHECK(sample(1, 1) != sample(2, 1));
  CHECK(sample(1, 0) == sample(2, 0));
  CHECK(sample_text(config, parameters, {.prompt = {}, .tokens = 5})->size() == 5);
  auto const words = tiny(true, false);
  CHECK(sample_text(words, lively_parameters(words), {}).error().errc() == Errc::unsupported);
}
