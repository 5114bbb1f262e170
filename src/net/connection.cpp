#include "connection_detail.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/runtime/task_group.hpp"

#include <algorithm>

namespace grapevine {
namespace {

constexpr std::size_t length_bytes = 2;
constexpr std::size_t frame_bytes_max = length_bytes + limits::noise_message_max;
// The read buffer starts at one frame and doubles while reads fill it.
constexpr std::size_t input_bytes_max = 4 * frame_bytes_max;
// So many Noise frames go out in one write.
constexpr std::size_t output_frames_max = 4;
constexpr Duration watch_interval = 5s;
// More than kernel buffers swallow at once: so much written means that the peer takes it.
constexpr std::uint64_t progress_bytes = 8 * 1024 * 1024;

yamux::Role role_of(Direction direction) {
  return direction == Direction::outbound ? yamux::Role::client : yamux::Role::server;
}

}  // namespace

Connection::Connection(Clock& clock, Upgraded upgraded, Info info, OnStream on_stream)
    : clock_(clock),
      socket_(std::move(upgraded.socket)),
      ciphers_(std::move(upgraded.ciphers)),
      info_(std::move(info)),
      on_stream_(std::move(on_stream)),
      session_(role_of(info_.direction), clock.now()) {
  if (auto const heard = session_.receive(upgraded.leftover, clock_.now()); !heard)
    close(heard.error());
}

Connection::~Connection() {
  for (auto const& [id, stream] : streams_) stream->detach();
}

Awaitable<Error> Connection::run() {
  probe();
  std::vector<Awaitable<>> tasks;
  tasks.push_back(read_loop());
  tasks.push_back(write_loop());
  tasks.push_back(watch_loop());
  tasks.push_back(close_loop());
  co_await first_of(std::move(tasks));
  ASSERT(reason_.has_value());
  co_return *reason_;
}

void Connection::close(Error reason) {
  fail_with(std::move(reason));
  session_.go_away(yamux::GoAway::normal);
  closing_ = true;
  closing_gate_.notify_all();
  output_changed();
}

void Connection::probe() {
  if (session_.ping_sent()) return;
  session_.ping(clock_.now());
  ping_last_ = clock_.now();
  ping_bytes_in_ = bytes_in_;
  ping_bytes_out_ = bytes_out_;
  output_changed();
}

void Connection::fail_with(Error reason) {
  if (!reason_) reason_ = std::move(reason);
}

Result<std::unique_ptr<MuxStream>> Connection::open() {
  if (!usable()) return fail(Errc::closed, "the connection is closing");
  TRY_ASSIGN(auto const id, session_.open());
  output_changed();
  return std::make_unique<MuxStream>(*this, id, false);
}

PeerConnection Connection::snapshot() const {
  PeerConnection shown;
  shown.peer = info_.peer;
  shown.address = info_.address;
  shown.direction = info_.direction;
  shown.since = info_.since;
  if (auto const rtt = session_.rtt()) shown.rtt_ms = to_seconds(*rtt) * 1000;
  shown.bytes_in = bytes_in_;
  shown.bytes_out = bytes_out_;
  shown.streams = session_.streams();
  return shown;
}

Awaitable<> Connection::read_loop() {
  input_.resize(frame_bytes_max);
  deliver_events();  // of what came behind the upgrade
  while (!closing_) {
    while (session_.congested()) co_await drained_.wait();
    make_room();
    auto const room = MutableByteView(input_).subspan(input_end_);
    auto const got = co_await socket_->read_some(room);
    if (!got) {
      fail_with(got.error());
      co_return;
    }
    bytes_in_ += *got;
    input_end_ += *got;
    if (auto const taken = take_frames(); !taken) close(taken.error());
    deliver_events();
    output_changed();
  }
  // The goodbye has to get out first: close_loop and write_loop decide.
  while (true) co_await closing_gate_.wait();
}

// Moves a started frame to the front where it could not be completed, and grows while reads fill
// the whole buffer.
void Connection::make_room() {
  auto const filled = input_end_ == input_.size();
  auto const held = input_end_ - input_begin_;
  if (input_begin_ > 0 && (held == 0 || input_.size() - input_begin_ < frame_bytes_max)) {
    std::memmove(input_.data(), input_.data() + input_begin_, held);
    input_begin_ = 0;
    input_end_ = held;
  }
  if (filled && input_.size() < input_bytes_max) input_.resize(2 * input_.size());
  ASSERT(input_end_ < input_.size());
}

Result<> Connection::take_frames() {
  while (input_end_ - input_begin_ >= length_bytes) {
    auto const held = MutableByteView(input_).subspan(input_begin_, input_end_ - input_begin_);
    std::size_t const size = read_be<std::uint16_t>(held);
    if (held.size() < length_bytes + size) break;
    TRY_ASSIGN(auto const plain, ciphers_.receive.open(held.subspan(length_bytes, size)));
    input_begin_ += length_bytes + size;
    TRY(session_.receive(plain, clock_.now()));
  }
  return {};
}

Awaitable<> Connection::write_loop() {
  output_.resize(frame_bytes_max);
  while (true) {
    auto const size = fill_output();
    deliver_events();  // lent bytes that went out
    if (!session_.congested()) drained_.notify_all();
    if (size == 0) {
      if (closing_) co_return;
      co_await output_ready_.wait();
      continue;
    }
    writing_since_ = clock_.now();
    auto const written = co_await socket_->write(ByteView(output_).first(size));
    writing_since_.reset();
    if (!written) {
      fail_with(written.error());
      co_return;
    }
    bytes_out_ += size;
  }
}

std::size_t Connection::fill_output() {
  std::size_t used = 0;
  for (std::size_t i = 0; i < output_frames_max && session_.has_output(); ++i) {
    if (output_.size() < used + frame_bytes_max) output_.resize(used + frame_bytes_max);
    auto const frame = MutableByteView(output_).subspan(used, frame_bytes_max);
    auto const plain = session_.collect(frame.subspan(length_bytes, limits::noise_plaintext_max));
    if (plain == 0) break;
    auto const message = plain + aead_tag_bytes;
    frame[0] = static_cast<std::uint8_t>(message >> 8);
    frame[1] = static_cast<std::uint8_t>(message);
    ciphers_.send.seal(frame.subspan(length_bytes, message));
    used += length_bytes + message;
  }
  return used;
}

void Connection::output_changed() {
  if (closing_ || session_.has_output()) output_ready_.notify_all();
}

void Connection::deliver_events() {
  for (auto const& event : session_.take_events()) {
    if (event.kind == yamux::Event::opened) {
      auto stream = std::make_unique<MuxStream>(*this, event.id, true);
      if (unnegotiated_ <= limits::yamux_streams_unnegotiated_max) on_stream_(std::move(stream));
      continue;
    }
    auto const at = streams_.find(event.id);
    if (at == streams_.end()) continue;
    auto& stream = *at->second;
    if (event.kind == yamux::Event::readable)
      stream.readable_.notify_all();
    else
      stream.wake();
  }
}

// The liveness of the peer and of our own writes, without a timer for each of them.
Awaitable<> Connection::watch_loop() {
  while (true) {
    co_await clock_.sleep_for(watch_interval);
    auto const now = clock_.now();
    session_.tick(now);
    if (writing_since_ && now - *writing_since_ >= limits::connection_stall_max) {
      fail_with(Error(Errc::timed_out, "the peer takes no data"));
      co_return;
    }
    if (silent_since_ping(now)) {
      fail_with(Error(Errc::timed_out, "no answer to a ping"));
      co_return;
    }
    if (now - ping_last_ >= limits::yamux_ping_interval) probe();
    if (session_.gone_away() && session_.streams() == 0)
      close(Error(Errc::closed, "the peer said goodbye"));
    output_changed();
  }
}

// A pong may be queued behind much data: whatever else comes, or goes, is a sign of life too.
bool Connection::silent_since_ping(Instant now) {
  auto const sent = session_.ping_sent();
  if (!sent) return false;
  if (bytes_in_ != ping_bytes_in_ || bytes_out_ - ping_bytes_out_ > progress_bytes) {
    ping_bytes_in_ = bytes_in_;
    ping_bytes_out_ = bytes_out_;
    ping_last_ = now;
    return false;
  }
  return now - std::max(*sent, ping_last_) >= limits::yamux_ping_timeout;
}

Awaitable<> Connection::close_loop() {
  while (!closing_) co_await closing_gate_.wait();
  co_await clock_.sleep_for(limits::goodbye_grace);
}

}  // namespace grapevine
