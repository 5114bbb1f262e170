#include "app/home.hpp"

#include "grapevine/base/limits.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace grapevine {

namespace fs = std::filesystem;

namespace {

// A manifest, two small databases and their logs; the first checkpoint needs the model's size.
constexpr std::uint64_t room_min = 4 * 1024 * 1024;

}  // namespace

std::string default_home() {
  if (auto const* data = std::getenv("XDG_DATA_HOME"); data != nullptr && *data == '/')
    return std::string(data) + "/grapevine";
  auto const* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : ".") + "/.local/share/grapevine";
}

Result<std::unique_ptr<FileStorage>> open_home(std::string const& home) {
  std::error_code error;
  auto const parent = fs::absolute(home, error).lexically_normal().parent_path();
  fs::create_directories(parent, error);
  if (error) return fail(Errc::not_writable, parent.string() + ": " + error.message());
  TRY_ASSIGN(auto storage, FileStorage::open(home));
  TRY_ASSIGN(auto const room, storage->free_bytes());
  if (room < room_min) return fail(Errc::disk_full, fmt::format("{}: {} bytes left", home, room));
  return storage;
}

Result<std::string> read_text_file(std::string const& path, std::size_t bytes_max) {
  std::error_code error;
  auto const size = fs::file_size(path, error);
  if (error == std::errc::no_such_file_or_directory) return fail(Errc::not_found, path);
  if (error) return fail(Errc::io_failed, path + ": " + error.message());
  if (size > bytes_max) return fail(Errc::oversize, path);
  std::string text(size, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(size));
  if (!file) return fail(Errc::io_failed, path);
  return text;
}

Result<> check_home(std::string const& home) {
  std::error_code error;
  auto const about = fs::status(home, error);
  if (!fs::exists(about)) return fail(Errc::not_a_home, home + ": no such folder");
  if (!fs::is_directory(about)) return fail(Errc::not_a_home, home + ": is a file, not a folder");
  return {};
}

Result<Identity> read_identity(std::string const& home) {
  TRY(check_home(home));
  auto const path = home + "/identity.key";
  auto const bytes = read_text_file(path, limits::key_file_bytes_max);
  if (!bytes && bytes.error().errc() == Errc::not_found)
    return fail(Errc::not_a_home, home + ": has no identity.key");
  if (!bytes && bytes.error().errc() == Errc::oversize)
    return fail(Errc::key_file_corrupt, path + ": too large");
  TRY(bytes);
  auto identity = Identity::from_protobuf(as_bytes(*bytes));
  if (!identity) return fail(Errc::key_file_corrupt, path + ": " + identity.error().detail());
  return identity;
}

}  // namespace grapevine
