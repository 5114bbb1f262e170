#include "grapevine/train/dataset.hpp"

#include "grapevine/base/limits.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

using namespace grapevine;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("grapevine_dataset_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  void put(std::string const& name, std::string const& content) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
  }
  [[nodiscard]] std::string path(std::string const& name = {}) const {
    return name.empty() ? path_.string() : (path_ / name).string();
  }

 private:
  fs::path path_;
};

std::string shard(std::uint32_t magic, std::uint32_t version, std::vector<std::uint32_t> tokens,
                  std::uint32_t token_bytes) {
  std::string bytes;
  auto const add = [&](std::uint32_t value, std::uint32_t size) {
    for (std::uint32_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
  };
  for (auto const value : {magic, version, static_cast<std::uint32_t>(tokens.size())})
    add(value, 4);
  bytes.resize(token_shard_header_bytes);
  for (auto const token : tokens) add(token, token_bytes);
  return bytes;
}

std::string letters(std::size_t count, char first) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += static_cast<char>(first + i % 10);
  return text;
}

DatasetOptions small(std::string path) {
  return {.path = std::move(path), .context = 4, .batch = 2};
}

std::string text_of(std::span<std::int64_t const> tokens) {
  std::string text;
  for (auto const token : tokens) text += static_cast<char>(token);
  return text;
}

}  // namespace

TEST_CASE("the tail of each file is held out, and windows run on from file to file") {
  Folder const folder;
  folder.put("b.txt", letters(160, 'A'));
  folder.put("a/1.txt", letters(32, '0'));
  auto const data = Dataset::open(small(folder.path())).value();
  CHECK(data.files() == 2);
  CHECK(data.training_tokens() == 30 + 150);
  CHECK(data.held_out_tokens() == 2 + 10);
  CHECK(data.held_out_windows(100) == 2);
  std::vector<std::int64_t> row(5);
  REQUIRE(data.held_out(0, 2, row).has_value());
  CHECK(text_of(row) == "01ABC");  // the last two of a/1.txt, then the held-out part of b.txt
  REQUIRE(data.held_out(1, 2, row).has_value());
  CHECK(text_of(row) == "EFGHI");
}

TEST_CASE("samples depend on seed and position alone, and never touch the held-out part") {
  auto const text = letters(1500, 'a') + std::string(100, '!');
  auto const data = Dataset::from_text("text", text, small({})).value();
  CHECK(data.held_out_tokens() == 100);
  std::vector<std::int64_t> first(20), second(20);
  REQUIRE(data.sample(1, 7, first).has_value());
  REQUIRE(data.sample(1, 7, second).has_value());
  CHECK(first == second);
  REQUIRE(data.sample(1, 8, second).has_value());
  CHECK(first != second);
  REQUIRE(data.sample(2, 7, second).has_value());
  CHECK(first != second);
  for (std::uint64_t position = 0; position < 500; ++position) {
    REQUIRE(data.sample(3, position, first).has_value());
    CHECK(text_of(first).find('!') == std::string::npos);
  }
}

TEST_CASE("every window of the training part is drawn") {
  auto const data = Dataset::from_text("text", letters(16, 'a') + letters(64, 'a'),
                                       {.path = {}, .context = 3, .batch = 1})
                        .value();
  std::map<std::string, int> seen;
  std::vector<std::int64_t> row(4);
  for (std::uint64_t position = 0; position < 2000; ++position) {
    REQUIRE(data.sample(1, position, row).has_value());
    ++seen[text_of(row)];
  }
  CHECK(seen.size() >= 10);
  CHECK(std::ranges::all_of(seen, [](auto const& entry) { return entry.second > 5; }));
}

TEST_CASE("peers and runs have their own streams") {
  CHECK(sampling_seed(1, as_bytes("a")) == sampling_seed(1, as_bytes("a")));
  CHECK(sampling_seed(1, as_bytes("a")) != sampling_seed(1, as_bytes("b")));
  CHECK(sampling_seed(1, as_bytes("a")) != sampling_seed(2, as_bytes("a")));
}

TEST_CASE("a folder's bad files are left out with a note; named alone they are errors") {
  Folder const folder;
  folder.put("good.txt", letters(400, 'a'));
  folder.put("picture", std::string(100, '\0'));
  folder.put(".git/config", letters(100, 'a'));
  fs::create_symlink("good.txt", folder.path("twice.txt"));
  fs::create_symlink("nowhere", folder.path("dangling"));
  fs::create_directory_symlink(".", folder.path("loop"));
  auto const data = Dataset::open(small(folder.path())).value();
  CHECK(data.files() == 1);
  REQUIRE(data.notes().size() == 2);
  CHECK(data.notes()[0] == folder.path("dangling") + ": No such file or directory");
  CHECK(data.notes()[1] == folder.path("picture") + ": not text, it holds zero bytes");
  CHECK(Dataset::open(small(folder.path("picture"))).error().errc() == Errc::data_unreadable);
  CHECK(Dataset::open(small(folder.path("nowhere"))).error().errc() == Errc::data_missing);
  CHECK(Dataset::open(small("/dev/null")).error().detail() == "/dev/null: not a regular file");
}

TEST_CASE("too little data says how much is needed") {
  Folder const folder;
  CHECK(Dataset::open(small(folder.path())).error().errc() == Errc::data_missing);
  folder.put("empty.txt", "");
  CHECK(Dataset::open(small(folder.path())).error().errc() == Errc::data_missing);
  auto const error = [](std::size_t size) {
    return Dataset::from_text("text", letters(size, 'a'), small({}));
  };
  CHECK(error(79).error().errc() == Errc::data_too_short);
  CHECK(error(79).error().detail() ==
        "text: 79 tokens, where a batch of 2 sequences of 5 and a held-out part need about 80");
  CHECK(error(80).has_value());
}

TEST_CASE("large files are mapped and read alike") {
  Folder const folder;
  folder.put("large.txt", letters(2'000'000, 'a'));
  auto data = Dataset::open(small(folder.path("large.txt"))).value();
  auto const moved = std::move(data);
  std::vector<std::int64_t> row(5);
  REQUIRE(moved.held_out(0, 1, row).has_value());
  CHECK(text_of(row) == "abcde");
}

TEST_CASE("token shards of both widths are read") {
  Folder const folder;
  std::vector<std::uint32_t> tokens;
  for (std::uint32_t i = 0; i < 160; ++i) tokens.push_back(i * 300);
  folder.put("two.bin", shard(20240520, 1, tokens, 2));
  folder.put("four.bin", shard(20240801, 7, tokens, 4));
  auto options = small(folder.path());
  options.vocab_size = 50'000;
  auto const data = Dataset::open(options).value();
  CHECK(data.training_tokens() == 300);
  std::vector<std::int64_t> row(5);
  REQUIRE(data.held_out(1, 2, row).has_value());
  CHECK(row == std::vector<std::int64_t>{45'000, 45'300, 45'600, 45'900, 46'200});
}

TEST_CASE("a token outside the vocabulary names its file") {
  Folder const folder;
  folder.put("a.bin", shard(20240520, 1, std::vector<std::uint32_t>(160, 300), 2));
  auto options = small(folder.path("a.bin"));
  options.vocab_size = 301;
  std::vector<std::int64_t> row(5);
  CHECK(Dataset::open(options)->sample(1, 1, row).has_value());
  options.vocab_size = 300;
  CHECK(Dataset::open(options)->sample(1, 1, row).error().detail() ==
        folder.path("a.bin") + ": token 300 in a vocabulary of 300");
  folder.put("text.txt", letters(400, 'a'));
  options.path = folder.path();
  CHECK(Dataset::open(options).error().errc() == Errc::data_unreadable);
  options.path = folder.path("text.txt");
  options.vocab_size = 255;
  CHECK(Dataset::open(options).error().errc() == Errc::data_unreadable);
}

TEST_CASE("shard headers that do not fit their file are refused") {
  auto const header_of = [](std::string const& bytes, std::uint64_t size) {
    return read_token_shard_header(as_bytes(bytes), size);
  };
  auto const good = shard(20240520, 1, {1, 2, 3}, 2);
  CHECK(header_of(good, good.size())->tokens == 3);
  CHECK_FALSE(header_of(good, good.size() - 1).has_value());
  CHECK_FALSE(header_of(good, good.size() + 1).has_value());
  CHECK_FALSE(header_of(good.substr(0, token_shard_header_bytes - 1), good.size()).has_value());
  CHECK_FALSE(header_of(shard(20240520, 2, {1}, 2), 1026).has_value());
  CHECK_FALSE(header_of(shard(1, 1, {1}, 2), 1026).has_value());
  CHECK(header_of(shard(20240520, 1, {}, 2), 1024)->tokens == 0);
}
