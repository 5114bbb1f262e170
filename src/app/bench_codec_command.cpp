#include "app/bench_codec_command.hpp"

#include "app/command_line.hpp"
#include "app/table.hpp"
#include "grapevine/base/random.hpp"
#include "grapevine/kernels/codec.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <numeric>

namespace grapevine {
namespace {

using Json = nlohmann::ordered_json;

struct BenchOptions {
  std::size_t elements = std::size_t{16} << 20;
  std::uint32_t repeats = 20;
  bool json = false;
};

// Seconds, the best of all repeats.
struct Figures {
  CodecSettings settings;
  std::size_t bytes = 0;  // encoded
  double copy = std::numeric_limits<double>::max();
  double encode = std::numeric_limits<double>::max();
  double decode = std::numeric_limits<double>::max();
};

struct Buffers {
  std::vector<float> values;
  Bytes encoded;
  std::vector<float> out;
};

// About normal, as updates of a model are: sums of four uniform numbers.
std::vector<float> some_update(std::size_t elements) {
  SeededRandom random(1);
  std::vector<float> values(elements);
  for (float& value : values) {
    std::array<std::uint16_t, 4> parts{};
    std::uint64_t const bits = random.next();
    std::memcpy(parts.data(), &bits, sizeof(bits));
    int const sum = std::accumulate(parts.begin(), parts.end(), -2 * 0xffff);
    value = static_cast<float>(sum) * 1e-7F;
  }
  return values;
}

template <class Work>
Result<> time_best(double& best, Work const& work) {
  auto const start = std::chrono::steady_clock::now();
  TRY(work());
  std::chrono::duration<double> const taken = std::chrono::steady_clock::now() - start;
  best = std::min(best, taken.count());
  return {};
}

Result<Figures> measure(CodecSettings const& settings, Buffers& buffers,
                        BenchOptions const& options) {
  Figures figures{.settings = settings};
  figures.bytes = encoded_bytes(settings, options.elements);
  auto const encoded = std::span(buffers.encoded).first(figures.bytes);
  auto const copy = [&]() -> Result<> {
    std::memcpy(buffers.out.data(), buffers.values.data(), options.elements * sizeof(float));
    return {};
  };
  auto const encode_once = [&] { return encode(settings, buffers.values, encoded); };
  auto const decode_once = [&] { return decode(settings, encoded, buffers.out); };
  for (std::uint32_t i = 0; i < options.repeats; ++i) {
    TRY(time_best(figures.copy, copy));
    TRY(time_best(figures.encode, encode_once));
    TRY(time_best(figures.copy, copy));
    TRY(time_best(figures.decode, decode_once));
  }
  return figures;
}

void print(std::vector<Figures> const& all, BenchOptions const& options) {
  Table table({"codec", "bits/value", "encode GB/s", "of memcpy", "decode GB/s", "of memcpy",
               "memcpy GB/s"});
  Json codecs = Json::array();
  double const total = static_cast<double>(options.elements) * sizeof(float) / 1e9;
  for (auto const& figures : all) {
    double const bits =
        8 * static_cast<double>(figures.bytes) / static_cast<double>(options.elements);
    auto const percent = [&](double seconds) {
      return fmt::format("{:.0f} %", 100 * figures.copy / seconds);
    };
    auto const speed = [&](double seconds) { return fmt::format("{:.2f}", total / seconds); };
    table.add({std::string(codec_name(figures.settings.codec)), fmt::format("{:.3f}", bits),
               speed(figures.encode), percent(figures.encode), speed(figures.decode),
               percent(figures.decode), speed(figures.copy)});
    codecs.push_back({{"codec", codec_name(figures.settings.codec)},
                      {"bits_per_value", bits},
                      {"encode_gb_per_s", total / figures.encode},
                      {"decode_gb_per_s", total / figures.decode},
                      {"memcpy_gb_per_s", total / figures.copy},
                      {"encode_of_memcpy", figures.copy / figures.encode},
                      {"decode_of_memcpy", figures.copy / figures.decode}});
  }
  fmt::print("GB of fp32 values a second, one core, {}, {} values; best of {} beside memcpy\n{}",
             codec_instruction_set(), options.elements, options.repeats, table.text());
  if (!options.json) return;
  Json const result{{"bench", "codec"},
                    {"instruction_set", codec_instruction_set()},
                    {"elements", options.elements},
                    {"repeats", options.repeats},
                    {"codecs", codecs}};
  fmt::print("{}\n", result.dump());
}

}  // namespace

int bench_codec_command(int argc, char** argv) {
  CLI::App app{
      "Measures the codecs of the tensors that travel: GB of fp32 values that one core encodes "
      "and\n"
      "decodes a second, and what part that is of memcpy of the same values, timed in turn.\n\n"
      "  grapevine bench codec --json",
      "grapevine bench codec"};
  BenchOptions options;
  app.add_option("--elements", options.elements, "values of the tensor")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30))
      ->capture_default_str();
  app.add_option("--repeats", options.repeats, "measurements of each; the best counts")
      ->check(CLI::Range(1U, 10'000U))
      ->capture_default_str();
  app.add_flag("--json", options.json, "one JSON object as the last line");
  if (auto const code = parse_arguments(app, argc, argv)) return *code;

  Buffers buffers{.values = some_update(options.elements),
                  .encoded = Bytes(options.elements * sizeof(float) + 64),
                  .out = std::vector<float>(options.elements)};
  std::vector<Figures> all;
  for (auto const codec : {Codec::fp32, Codec::bf16, Codec::int8, Codec::int4, Codec::topk}) {
    auto const figures = measure({.codec = codec}, buffers, options);
    if (!figures) return end_with(figures.error(), options.json);
    all.push_back(*figures);
  }
  print(all, options);
  return 0;
}

}  // namespace grapevine
