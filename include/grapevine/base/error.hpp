// Error: what went wrong, as a value. A stable code that operators can look up, and one line that
// names the thing. `grapevine explain CODE` prints the cause and the fix kept in `explain()`.
// Owned by whoever holds it; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace grapevine {

// One enumerator per thing an operator or a peer can cause. The text, cause, fix and exit code of
// each live in one table (src/base/error.cpp); a test checks that none is missing.
enum class Errc : std::uint16_t {
  // wire: bytes that do not decode
  truncated,
  malformed,
  oversize,
  unsupported,
  // crypto and identity
  bad_key,
  bad_signature,
  decrypt_failed,
  key_file_corrupt,
  // runtime: sockets and files
  refused,
  unreachable,
  timed_out,
  closed,
  reset,
  address_in_use,
  io_failed,
  not_found,
  disk_full,
  not_writable,
  database_corrupt,
  cancelled,
  // p2p and net
  protocol_violation,
  limit_exceeded,
  wrong_peer,
  no_protocol,
  dial_failed,
  not_connected,
  // runs
  manifest_invalid,
  version_mismatch,
  no_run_found,
  many_runs_found,
  bootstrap_unreachable,
  no_holder,
  hash_mismatch,
  quota_used_up,
  // training
  data_missing,
  data_unreadable,
  data_too_short,
  model_too_large,
  not_finite,
  checkpoint_corrupt,
  schema_mismatch,
  device_unavailable,
  out_of_memory,
  // the program
  usage,
  home_in_use,
  port_in_use,
  config_invalid,
  internal,
  not_a_home,
  no_peer_runs,
  home_of_another_run,
  no_checkpoint,
  cannot_listen,
};

// Exit codes of the program (see README): the error decides which one ends the process.
enum class ExitCode : int { done = 0, failed = 1, usage = 2, refused = 3, environment = 4 };

struct Explanation {
  Errc errc;
  std::string_view code;   // "GV-NET-012", never reused
  std::string_view title;  // a few words
  std::string_view cause;
  std::string_view fix;
  ExitCode exit;
};

[[nodiscard]] Explanation const& explain(Errc errc);
[[nodiscard]] std::optional<Explanation> explain(std::string_view code);
[[nodiscard]] std::span<Explanation const> all_explanations();

class [[nodiscard]] Error {
 public:
  // `detail` names the thing: "peer 12D3…: data frame of 300000 bytes over a window of 262144".
  explicit Error(Errc errc, std::string detail = {}) : errc_(errc), detail_(std::move(detail)) {}

  [[nodiscard]] Errc errc() const { return errc_; }
  [[nodiscard]] std::string const& detail() const { return detail_; }
  [[nodiscard]] std::string_view code() const { return explain(errc_).code; }
  // "GV-NET-012 connection refused: 127.0.0.1:4001"
  [[nodiscard]] std::string message() const;

 private:
  Errc errc_;
  std::string detail_;
};

// What several tries came to, in one line: "A; B". Of what `summary` does not say, with its title:
// "A (connection refused)".
[[nodiscard]] std::string details_of(std::span<Error const> failures, Errc summary);

}  // namespace grapevine
