#include "grapevine/p2p/multistream.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"
#include "grapevine/base/log.hpp"

namespace grapevine::multistream {

void append_line(Bytes& out, std::string_view text) {
  std::size_t const length = text.size() + 1;
  ASSERT(length <= limits::multistream_message_max);
  if (length < 0x80) {
    out.push_back(static_cast<std::uint8_t>(length));
  } else {
    out.push_back(static_cast<std::uint8_t>(0x80 | (length & 0x7f)));
    out.push_back(static_cast<std::uint8_t>(length >> 7));
  }
  append(out, as_bytes(text));
  out.push_back('\n');
}

Negotiation Negotiation::propose(std::vector<std::string> protocols) {
  ASSERT(!protocols.empty());
  Negotiation negotiation(Side::proposer);
  negotiation.proposals_ = std::move(protocols);
  append_line(negotiation.output_, header);
  append_line(negotiation.output_, negotiation.proposals_.front());
  negotiation.proposals_seen_ = 1;
  return negotiation;
}

Negotiation Negotiation::answer(Knows knows) {
  Negotiation negotiation(Side::answerer);
  negotiation.knows_ = std::move(knows);
  return negotiation;
}

Bytes Negotiation::take_output() { return std::exchange(output_, {}); }

std::size_t Negotiation::wanted() const {
  if (chosen_) return 0;
  return length_ == 0 ? 1 : length_ - line_.size();
}

Result<> Negotiation::receive(ByteView bytes) {
  ASSERT(bytes.size() <= wanted());
  if (bytes.empty()) return {};
  if (length_ == 0) return read_length(bytes.front());
  append(line_, bytes);
  if (line_.size() < length_) return {};
  auto const done = line_complete();
  line_.clear();
  length_ = 0;
  return done;
}

Result<> Negotiation::read_length(std::uint8_t byte) {
  std::size_t length = byte;
  if (length_low_) {
    if (byte >= 0x80) return fail(Errc::oversize, "multistream length of more than two bytes");
    if (byte == 0) return fail(Errc::malformed, "multistream length not in its shortest form");
    length = (std::size_t{byte} << 7) | *length_low_;
    length_low_.reset();
  } else if (byte >= 0x80) {
    length_low_ = static_cast<std::uint8_t>(byte & 0x7f);
    return {};
  }
  if (length == 0) return fail(Errc::malformed, "multistream message without its line feed");
  if (length > limits::multistream_message_max)
    return fail(Errc::oversize, fmt::format("multistream message of {} bytes", length));
  length_ = length;
  return {};
}

Result<> Negotiation::line_complete() {
  if (line_.back() != '\n')
    return fail(Errc::malformed, "multistream message without its line feed");
  auto const text = as_text(ByteView(line_).first(line_.size() - 1));
  if (!header_seen_) {
    if (text != header)
      return fail(Errc::protocol_violation, "not multistream: " + printable(text, 64));
    header_seen_ = true;
    if (side_ == Side::answerer) append_line(output_, header);
    return {};
  }
  return side_ == Side::proposer ? on_answer(text) : on_proposal(text);
}

Result<> Negotiation::on_answer(std::string_view line) {
  auto const& proposed = proposals_[proposals_seen_ - 1];
  if (line == proposed) {
    chosen_ = proposed;
    return {};
  }
  if (line != "na")
    return fail(Errc::protocol_violation,
                fmt::format("proposed {}, answered {}", proposed, printable(line, 64)));
  if (proposals_seen_ == proposals_.size()) return fail(Errc::no_protocol, proposals_.front());
  append_line(output_, proposals_[proposals_seen_++]);
  return {};
}

Result<> Negotiation::on_proposal(std::string_view line) {
  if (knows_(line)) {
    chosen_ = std::string(line);
    append_line(output_, line);
    return {};
  }
  append_line(output_, "na");
  if (++proposals_seen_ >= limits::multistream_proposals_max)
    return fail(Errc::limit_exceeded, "too many protocol proposals, last " + printable(line, 64));
  return {};
}

}  // namespace grapevine::multistream
