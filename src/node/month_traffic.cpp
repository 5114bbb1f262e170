#include "node/month_traffic_detail.hpp"

#include "grapevine/base/limits.hpp"

#include <charconv>
#include <chrono>
#include <string>

namespace grapevine {
namespace {

constexpr std::string_view path = "month.traffic";

std::uint64_t end_of_month(std::uint64_t unix_s) {
  using namespace std::chrono;
  year_month_day const day(floor<days>(sys_seconds(seconds(unix_s))));
  sys_days const next = (day.year() / day.month() + months(1)) / 1;
  return static_cast<std::uint64_t>(seconds(next.time_since_epoch()).count());
}

}  // namespace

MonthTraffic MonthTraffic::load(Storage& storage) {
  auto const bytes = storage.read(path, limits::small_text_file_bytes_max);
  if (!bytes) return {};
  auto const text = as_text(*bytes);
  auto const* at = text.data();
  auto const* const end = at + text.size();
  MonthTraffic kept;
  for (auto* const number : {&kept.ends_unix_s_, &kept.bytes_, &kept.reserved_}) {
    auto const read = std::from_chars(at, end, *number);
    bool const last = number == &kept.reserved_;
    if (read.ec != std::errc{} || (last ? read.ptr != end : read.ptr == end || *read.ptr != ' '))
      return {};
    at = read.ptr + (last ? 0 : 1);
  }
  return kept;
}

Result<> MonthTraffic::save(Storage& storage) const {
  auto const line =
      std::to_string(ends_unix_s_) + " " + std::to_string(bytes_) + " " + std::to_string(reserved_);
  return storage.write_atomic(path, as_bytes(line));
}

void MonthTraffic::add(std::uint64_t bytes, std::uint64_t unix_s) {
  if (unix_s >= ends_unix_s_) bytes_ = reserved_ = 0;  // one large round spoils no other month
  ends_unix_s_ = end_of_month(unix_s);
  bytes_ += bytes;
}

}  // namespace grapevine
