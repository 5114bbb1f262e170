#include "app/demo_data.hpp"

#include "app/home.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

namespace grapevine {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t file_bytes_max = 1024 * 1024 * 1024;

struct Source {
  fs::path path;
  std::uint64_t bytes = 0;
};

// Indexes for `fortune` and links to other files of the same folder hold no text of their own.
bool is_text(fs::directory_entry const& entry) {
  std::error_code error;
  return entry.is_regular_file(error) && !entry.is_symlink(error) &&
         entry.path().extension() != ".dat" && entry.file_size(error) > 0 && !error;
}

std::vector<Source> sources_in(std::string const& from) {
  std::vector<Source> sources;
  std::error_code error;
  if (fs::is_regular_file(from, error)) return {{from, fs::file_size(from, error)}};
  for (fs::recursive_directory_iterator it(from, error), end; !error && it != end;
       it.increment(error))
    if (is_text(*it)) sources.push_back({it->path(), it->file_size(error)});
  std::ranges::sort(sources, [](Source const& a, Source const& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.path < b.path;
  });
  return sources;
}

Result<> write_file(fs::path const& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.flush();
  if (!file) return fail(Errc::io_failed, path.string());
  return {};
}

// The largest files first, each to the share that has least: near enough to equal.
Result<> deal_files(std::vector<Source> const& sources, std::vector<std::string> const& shares) {
  std::vector<std::uint64_t> dealt(shares.size());
  std::size_t number = 0;
  for (auto const& source : sources) {
    auto const least = std::ranges::min_element(dealt);
    *least += source.bytes;
    auto const& share = shares[static_cast<std::size_t>(least - dealt.begin())];
    // Files of several folders may have the same name.
    auto const name = std::to_string(number++) + "-" + source.path.filename().string();
    std::error_code error;
    fs::copy_file(source.path, fs::path(share) / name, error);
    if (error) return fail(Errc::io_failed, source.path.string() + ": " + error.message());
  }
  return {};
}

// Every file in as many pieces as there are shares, cut at ends of lines.
Result<> cut_files(std::vector<Source> const& sources, std::vector<std::string> const& shares) {
  for (auto const& source : sources) {
    TRY_ASSIGN(auto const text, read_text_file(source.path.string(), file_bytes_max));
    std::size_t at = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      auto end = text.size() * (i + 1) / shares.size();
      if (i + 1 < shares.size()) {
        auto const line_end = text.find('\n', end);
        end = line_end == std::string::npos ? end : line_end + 1;
      }
      end = std::max(end, at);
      TRY(write_file(fs::path(shares[i]) / source.path.filename(),
                     std::string_view(text).substr(at, end - at)));
      at = end;
    }
  }
  return {};
}

std::uint64_t bytes_of(std::vector<Source> const& sources) {
  std::uint64_t bytes = 0;
  for (auto const& source : sources) bytes += source.bytes;
  return bytes;
}

// Each peer trains on its share alone; what is wrong with one is said of what it was made from.
Result<> check_shares(DatasetOptions const& from, std::vector<std::string> const& shares) {
  auto smallest = std::numeric_limits<std::uint64_t>::max();
  bool enough = true;
  for (auto const& share : shares) {
    smallest = std::min(smallest, bytes_of(sources_in(share)));
    auto own = from;
    own.path = share;
    enough &= Dataset::open(own).has_value();
  }
  if (enough) return {};
  auto const whole = Dataset::open(from);
  if (!whole && whole.error().errc() != Errc::data_too_short) return tl::unexpected(whole.error());
  return fail(
      Errc::data_too_short,
      fmt::format("{}: {} bytes, in {} parts of {} or more; each peer needs about {}", from.path,
                  bytes_of(sources_in(from.path)), shares.size(), smallest, tokens_needed(from)));
}

}  // namespace

Result<std::vector<std::string>> share_data(DatasetOptions const& from, std::string const& into,
                                            std::uint32_t shares) {
  auto const sources = sources_in(from.path);
  if (sources.empty()) return fail(Errc::data_missing, from.path);
  std::vector<std::string> paths;
  for (std::uint32_t i = 1; i <= shares; ++i) {
    paths.push_back(into + "/share-" + std::to_string(i));
    std::error_code error;
    fs::create_directories(paths.back(), error);
    if (error) return fail(Errc::not_writable, paths.back() + ": " + error.message());
  }
  TRY(sources.size() >= shares ? deal_files(sources, paths) : cut_files(sources, paths));
  TRY(check_shares(from, paths));
  return paths;
}

}  // namespace grapevine
