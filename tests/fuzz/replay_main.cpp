// Runs a fuzz target without libFuzzer: every file of a corpus folder, then a fixed number of
// mutations of them from a fixed seed, so that every compiler and sanitizer exercises the target
// and two runs do the same. It measures no coverage and finds nothing new by itself: libFuzzer
// does. On a crash the input that caused it is written to `<program>.crash`.
#include "grapevine/base/bytes.hpp"
#include "grapevine/base/random.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

namespace {

using grapevine::Bytes;

constexpr std::size_t mutations = 4000;
constexpr std::size_t input_bytes_max = 256 * 1024;

// What the signal handler reads: set before each run.
std::string crash_path;
Bytes current;

extern "C" void save_input(int number) {
  int const file = ::open(crash_path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0 && ::write(file, current.data(), current.size()) >= 0) {
    static constexpr char said[] = "the input that crashed is in the .crash file of this program\n";
    [[maybe_unused]] auto const written = ::write(STDERR_FILENO, said, sizeof(said) - 1);
  }
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void run(Bytes input) {
  current = std::move(input);
  // A copy of exactly this size, so that a sanitizer sees the first byte past its end.
  std::vector<std::uint8_t> exact(current.begin(), current.end());
  exact.shrink_to_fit();
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

std::vector<Bytes> read_corpus(std::filesystem::path const& folder) {
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(folder))
    for (auto const& entry : std::filesystem::directory_iterator(folder))
      if (entry.is_regular_file()) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());  // the order of a folder is not fixed
  std::vector<Bytes> corpus;
  for (auto const& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

// One small change. Lengths and tags sit in single bytes: edges such as 0x7f, 0x80 and 0xff pay.
void mutate(Bytes& input, std::vector<Bytes> const& corpus, grapevine::Random& random) {
  static constexpr std::uint8_t edges[] = {0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff};
  auto const at = [&] { return static_cast<std::ptrdiff_t>(random.below(input.size())); };
  if (input.empty()) {
    input.push_back(static_cast<std::uint8_t>(random.below(256)));
    return;
  }
  switch (random.below(7)) {
    case 0:
      input[at()] ^= static_cast<std::uint8_t>(1u << random.below(8));
      break;
    case 1:
      input[at()] = edges[random.below(std::size(edges))];
      break;
    case 2:
      input[at()] = static_cast<std::uint8_t>(random.below(256));
      break;
    case 3:
      input.resize(random.below(input.size() + 1));
      break;
    case 4:
      input.erase(input.begin() + at());
      break;
    case 5:
      input.insert(input.begin() + at(), static_cast<std::uint8_t>(random.below(256)));
      break;
    default: {
      Bytes const& other = corpus[random.below(corpus.size())];
      input.resize(random.below(input.size() + 1));
      auto const from = static_cast<std::ptrdiff_t>(random.below(other.size() + 1));
      input.insert(input.end(), other.begin() + from, other.end());
    }
  }
  if (input.size() > input_bytes_max) input.resize(input_bytes_max);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER_OR_FILE\n", argv[0]);
    return 2;
  }
  crash_path = std::string(argv[0]) + ".crash";
  for (int const number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    std::signal(number, save_input);

  if (std::filesystem::is_regular_file(argv[1])) {
    std::ifstream file(argv[1], std::ios::binary);
    run(Bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
    return 0;
  }
  auto corpus = read_corpus(argv[1]);
  std::size_t const files = corpus.size();
  corpus.push_back({});  // the empty input is always tried
  for (auto const& input : corpus) run(input);

  grapevine::SeededRandom random(1);
  for (std::size_t i = 0; i < mutations; ++i) {
    Bytes input = corpus[random.below(corpus.size())];
    for (auto changes = 1 + random.below(8); changes > 0; --changes) mutate(input, corpus, random);
    run(std::move(input));
  }
  std::printf("%zu corpus files and %zu mutations\n", files, mutations);
  return 0;
}
