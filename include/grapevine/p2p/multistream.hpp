// multistream-select 1.0.0: how two peers agree on the protocol of a byte stream. A pure machine,
// one per negotiation and side, that says how many bytes it wants next: whoever feeds it exactly
// those never reads past the protocol line, so bytes glued behind it stay for the next layer.
// Never sends or answers `ls`, never waits for the peer's header before proposing.
// Source: libp2p specs, connections/README.md.
#pragma once

#include "grapevine/base/bytes.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace grapevine::multistream {

inline constexpr std::string_view header = "/multistream/1.0.0";

// uvarint length, the text, a line feed.
void append_line(Bytes& out, std::string_view text);

class Negotiation {
 public:
  using Knows = std::function<bool(std::string_view)>;
  // The first of `protocols` (at least one) that the other side speaks.
  [[nodiscard]] static Negotiation propose(std::vector<std::string> protocols);
  [[nodiscard]] static Negotiation answer(Knows knows);

  // What to send now; write it before waiting for more input.
  [[nodiscard]] Bytes take_output();
  // How many bytes it waits for; 0 when it is over.
  [[nodiscard]] std::size_t wanted() const;
  // At most wanted() bytes. Errc::no_protocol when nothing proposed is spoken there.
  Result<> receive(ByteView bytes);
  [[nodiscard]] std::optional<std::string> const& chosen() const { return chosen_; }

 private:
  enum class Side : std::uint8_t { proposer, answerer };
  explicit Negotiation(Side side) : side_(side) {}
  Result<> read_length(std::uint8_t byte);
  Result<> line_complete();
  Result<> on_answer(std::string_view line);
  Result<> on_proposal(std::string_view line);

  Side side_;
  std::vector<std::string> proposals_;
  std::size_t proposals_seen_ = 0;  // sent by us, or read from them
  Knows knows_;
  Bytes output_;
  Bytes line_;
  std::size_t length_ = 0;  // of the line being read; 0: not known yet
  std::optional<std::uint8_t> length_low_;
  bool header_seen_ = false;
  std::optional<std::string> chosen_;
};

}  // namespace grapevine::multistream
