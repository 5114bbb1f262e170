#include "grapevine/base/error.hpp"

#include "grapevine/base/assert.hpp"

#include <array>

namespace grapevine {
namespace {

using enum ExitCode;

// One row an Errc, in the order of the enumeration; codes are never reused.
constexpr auto table = std::to_array<Explanation>({
    {Errc::truncated, "GV-WIRE-001", "message cut short",
     "The sender's message ended before its announced length.",
     "Nothing to do here; if it repeats, the other peer runs a broken version.", failed},
    {Errc::malformed, "GV-WIRE-002", "malformed data",
     "Bytes or text do not have the form they must have.",
     "Check the value that is named; from a peer, it was dropped.", failed},
    {Errc::oversize, "GV-WIRE-003", "over a size limit",
     "A length is above the limit for its kind.",
     "Send less; the limits are in include/grapevine/base/limits.hpp.", failed},
    {Errc::unsupported, "GV-WIRE-004", "not supported",
     "A code, key type or option that this version does not know.",
     "Use one that is listed in the README, or a newer version.", failed},
    {Errc::bad_key, "GV-KEY-001", "bad key",
     "A public or private key is malformed, of small order, or of another type.",
     "Peers must use Ed25519 keys; `grapevine key export` prints one in the form that is read.",
     environment},
    {Errc::bad_signature, "GV-KEY-002", "bad signature",
     "A signature does not match its message and key.",
     "The message was dropped. If one peer repeats it, stop talking to that peer.", failed},
    {Errc::decrypt_failed, "GV-KEY-003", "decryption failed",
     "An encrypted frame was altered or out of order.",
     "The connection was closed; it is dialled again by itself.", failed},
    {Errc::key_file_corrupt, "GV-KEY-004", "identity file corrupt",
     "HOME/identity.key is not a key, so this peer's name in the swarm is lost with it.",
     "Restore the file from a backup, or move it away to start as a new peer.", environment},
    {Errc::refused, "GV-NET-001", "connection refused",
     "The host answered, but nothing listens on that port.",
     "Check the port, and that the peer there is running.", environment},
    {Errc::unreachable, "GV-NET-002", "host unreachable",
     "No route to the host, or its name does not resolve.",
     "Check the address, this machine's connection and its firewall.", environment},
    {Errc::timed_out, "GV-NET-003", "timed out", "Nobody answered before the deadline.",
     "A firewall that drops packets looks like this: check both ends.", environment},
    {Errc::closed, "GV-NET-004", "connection closed", "The other side ended the stream.",
     "Usually nothing: it is opened again when needed.", failed},
    {Errc::reset, "GV-NET-005", "connection reset",
     "The other side, or something on the way, tore the connection down.",
     "Usually nothing: it is dialled again when needed.", failed},
    {Errc::address_in_use, "GV-NET-006", "address in use",
     "Another program listens on that address.", "Stop it, or choose another port.", environment},
    {Errc::io_failed, "GV-IO-001", "input or output failed",
     "The operating system reported an error on a file or socket.",
     "The message names the file and the reason.", environment},
    {Errc::not_found, "GV-IO-002", "not found", "The named thing does not exist.",
     "Check the name that the message gives.", failed},
    {Errc::disk_full, "GV-IO-003", "disk full",
     "There is no room left for a file; the old one is untouched.",
     "Free some space on the disk of the home directory, or choose another with --home.",
     environment},
    {Errc::not_writable, "GV-IO-004", "not writable", "The home directory cannot be written.",
     "Choose another with --home, or change its owner or mode.", environment},
    {Errc::database_corrupt, "GV-IO-005", "database damaged",
     "A SQLite file fails its integrity check.",
     "It was set aside under another name and a new one begun; nothing was deleted.", environment},
    {Errc::cancelled, "GV-RUN-001", "cancelled", "The operation was stopped on request.",
     "Nothing.", failed},
    {Errc::protocol_violation, "GV-NET-007", "protocol violation",
     "The other side broke a rule of the protocol.",
     "The connection was closed. A peer that repeats it runs a broken version.", failed},
    {Errc::limit_exceeded, "GV-NET-008", "limit exceeded",
     "More connections, streams or messages than are allowed.",
     "Wait and try again; limits protect this machine.", failed},
    {Errc::wrong_peer, "GV-NET-009", "another peer answered",
     "The peer at that address has another id than expected.",
     "Ask for the peer's current address; it may have a new identity.", failed},
    {Errc::no_protocol, "GV-NET-010", "protocol not spoken",
     "The peer speaks none of the protocols that were offered.",
     "It may run another program or version.", failed},
    {Errc::dial_failed, "GV-NET-011", "could not connect",
     "No address of the peer could be reached.",
     "Check that it is running and that its port is open.", environment},
    {Errc::not_connected, "GV-NET-012", "not connected",
     "There is no connection to that peer and no address to dial.",
     "Dial it by its full multiaddress first.", failed},
    {Errc::manifest_invalid, "GV-RUN-002", "manifest invalid",
     "The description of the run breaks a rule.", "Correct the field that is named.", refused},
    {Errc::version_mismatch, "GV-RUN-003", "version mismatch",
     "This program and the run speak different protocol versions.",
     "Install the version the run asks for.", refused},
    {Errc::no_run_found, "GV-RUN-004", "no run found",
     "The bootstrap peer answered but takes part in no run.",
     "Check the address, or start a run with `grapevine up --new`.", refused},
    {Errc::many_runs_found, "GV-RUN-005", "several runs found",
     "The bootstrap peer takes part in more than one run.", "Name the one to join with --run ID.",
     refused},
    {Errc::bootstrap_unreachable, "GV-RUN-006", "no bootstrap peer reachable",
     "None of the bootstrap addresses answered.",
     "Check address, port and firewall (`grapevine host`, then `dial ADDRESS`), or keep trying "
     "--retry.",
     environment},
    {Errc::no_holder, "GV-RUN-008", "nobody has it",
     "No connected peer can serve a piece of data that is needed.",
     "It is asked for again; if it persists, the swarm has lost it.", failed},
    {Errc::hash_mismatch, "GV-RUN-009", "hash mismatch",
     "Data does not have the hash it was announced with.",
     "It was dropped, and asked of somebody else.", failed},
    {Errc::quota_used_up, "GV-RUN-010", "monthly quota used up",
     "This peer has sent and received what --monthly-quota allows it in a month, but for what one "
     "more round would take.",
     "Nothing to do: it goes on by itself next month. Or start it with a higher --monthly-quota.",
     environment},
    {Errc::data_missing, "GV-DATA-001", "data missing",
     "The training data is not there, or holds no text.",
     "Name a text file or a folder of text files with --data.", environment},
    {Errc::data_unreadable, "GV-DATA-002", "data unreadable",
     "A data file cannot be opened or has a damaged header.",
     "Check its permissions and its format.", environment},
    {Errc::data_too_short, "GV-DATA-003", "data too short",
     "There is less data than one batch and a held-out part need.",
     "Add text: a few hundred kilobytes at least.", environment},
    {Errc::model_too_large, "GV-TRAIN-001", "model too large",
     "The model does not fit into this machine's memory.",
     "Choose a smaller preset, or a machine with more memory.", environment},
    {Errc::not_finite, "GV-TRAIN-002", "not a number",
     "A loss, gradient or parameter became NaN or infinite.",
     "The step was undone and never left this machine. Lower the learning rate if it repeats.",
     failed},
    {Errc::checkpoint_corrupt, "GV-TRAIN-003", "checkpoint corrupt",
     "A checkpoint fails its checks.", "The one before it is used.", environment},
    {Errc::schema_mismatch, "GV-TRAIN-004", "tensors do not match",
     "Names or shapes of tensors differ from the model's.", "Use files made by the same run.",
     refused},
    {Errc::device_unavailable, "GV-TRAIN-005", "device unavailable",
     "The requested device is not there or cannot be used.",
     "Use --device auto or cpu, or run tools/setup --cuda.", environment},
    {Errc::out_of_memory, "GV-TRAIN-006", "out of memory",
     "The device or the machine ran out of memory.", "Choose a smaller batch or model.",
     environment},
    {Errc::usage, "GV-CLI-001", "wrong usage",
     "A word of the command line is unknown, malformed, missing or at odds with another.",
     "Correct what is named; --help lists every option with examples.", usage},
    {Errc::home_in_use, "GV-CLI-002", "home in use", "Another peer runs on this home directory.",
     "Stop it, or give this one its own with --home.", environment},
    {Errc::port_in_use, "GV-CLI-003", "port in use",
     "Another program listens on a port this peer was told to use.",
     "Choose another, or port 0 for any free one.", environment},
    {Errc::config_invalid, "GV-CLI-004", "configuration invalid",
     "A configuration or description file has a wrong key or value.",
     "Correct the key that is named.", usage},
    {Errc::internal, "GV-CLI-005", "internal error",
     "Something happened that should not; it is our bug.", "Please report it with the log.",
     failed},
    {Errc::not_a_home, "GV-CLI-006", "not the home of a peer",
     "The folder that --home names lacks what a peer keeps there.",
     "Name the home of a peer that has run with --home; `grapevine up` makes one.", environment},
    {Errc::no_peer_runs, "GV-CLI-007", "no peer runs there",
     "The peer of that home was never started, or has ended.",
     "Start it with `grapevine up`, or name another with --home or --url.", environment},
    {Errc::home_of_another_run, "GV-CLI-008", "home of another run",
     "A home takes part in one run, and this one's is another than the one to join.",
     "Name another home with --home to join that run; leave out --bootstrap and --run to go on "
     "with the run of this home.",
     environment},
    {Errc::no_checkpoint, "GV-TRAIN-007", "no checkpoint yet",
     "The peer of that home has finished no round yet.",
     "Wait for its first round: `grapevine status` shows how far it is. Stopping the peer writes "
     "one, too.",
     environment},
    {Errc::cannot_listen, "GV-NET-013", "cannot listen there",
     "The address is of no interface of this machine, or its port is not for this user.",
     "Listen on 127.0.0.1 (for this machine alone), on 0.0.0.0 (on all interfaces) or on what "
     "`ip address` shows, with a port above 1023. Others are told another with --announce.",
     environment},
});

constexpr bool in_order() {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (static_cast<std::size_t>(table[i].errc) != i) return false;
  return table.size() == static_cast<std::size_t>(Errc::cannot_listen) + 1;
}
static_assert(in_order(), "one row an Errc, in the order of the enumeration");

}  // namespace

Explanation const& explain(Errc errc) {
  auto const index = static_cast<std::size_t>(errc);
  ASSERT(index < table.size());
  return table[index];
}

std::optional<Explanation> explain(std::string_view code) {
  for (auto const& row : table)
    if (row.code == code) return row;
  return std::nullopt;
}

std::span<Explanation const> all_explanations() { return table; }

std::string Error::message() const {
  auto const& row = explain(errc_);
  std::string text(row.code);
  text += ' ';
  text += row.title;
  if (!detail_.empty()) text += ": " + detail_;
  return text;
}

std::string details_of(std::span<Error const> failures, Errc summary) {
  std::string text;
  for (auto const& one : failures) {
    if (!text.empty()) text += "; ";
    text += one.detail();
    if (one.errc() != summary) text += " (" + std::string(explain(one.errc()).title) + ")";
  }
  return text;
}

}  // namespace grapevine
