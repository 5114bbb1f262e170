#include "mux_stream_detail.hpp"

#include "connection_detail.hpp"
#include "grapevine/base/assert.hpp"

#include <algorithm>

namespace grapevine {

// Takes lent bytes back however the write ends: their owner frees them next.
class MuxStream::Lending {
 public:
  explicit Lending(MuxStream& stream) : stream_(stream) {}
  ~Lending() {
    if (stream_.connection_ != nullptr) stream_.connection_->session_.unlend(stream_.id_);
  }
  Lending(Lending const&) = delete;

 private:
  MuxStream& stream_;
};

MuxStream::MuxStream(Connection& connection, yamux::StreamId id, bool inbound)
    : connection_(&connection), id_(id), unnegotiated_(inbound) {
  connection.streams_.emplace(id, this);
  if (unnegotiated_) ++connection.unnegotiated_;
}

MuxStream::~MuxStream() {
  if (connection_ == nullptr) return;
  negotiated();
  connection_->streams_.erase(id_);
  connection_->session_.release(id_, connection_->clock_.now());
  connection_->output_changed();
}

void MuxStream::negotiated() {
  if (unnegotiated_ && connection_ != nullptr) --connection_->unnegotiated_;
  unnegotiated_ = false;
}

Awaitable<Result<std::size_t>> MuxStream::read_some(MutableByteView into) {
  ASSERT(!into.empty());
  while (connection_ != nullptr) {
    auto const got = connection_->session_.read(id_, into, connection_->clock_.now());
    if (!got || *got > 0) {
      connection_->output_changed();  // credit may have to go back
      co_return got;
    }
    co_await readable_.wait();
  }
  auto const count = std::min(into.size(), rest_.size() - rest_read_);
  if (count == 0) co_return gone();
  std::copy_n(rest_.begin() + static_cast<std::ptrdiff_t>(rest_read_), count, into.begin());
  rest_read_ += count;
  co_return count;
}

Awaitable<Result<>> MuxStream::write(ByteView bytes) {
  if (connection_ == nullptr) co_return fail(Errc::reset, "the connection has ended");
  CO_TRY_ASSIGN(bool done, connection_->session_.write(id_, bytes));
  connection_->output_changed();
  Lending const lending(*this);
  while (!done) {
    co_await writable_.wait();
    if (connection_ == nullptr) co_return fail(Errc::reset, "the connection has ended");
    CO_TRY_ASSIGN(done, connection_->session_.sent(id_));
  }
  co_return Result<>();
}

Awaitable<Result<>> MuxStream::close_write() {
  if (connection_ == nullptr) co_return fail(Errc::reset, "the connection has ended");
  CO_TRY(connection_->session_.close_write(id_));
  connection_->output_changed();
  co_return Result<>();
}

void MuxStream::reset() {
  if (connection_ == nullptr) return;
  connection_->session_.reset(id_);
  connection_->output_changed();
  wake();
}

void MuxStream::wake() {
  readable_.notify_all();
  writable_.notify_all();
}

void MuxStream::detach() {
  auto& session = connection_->session_;
  Bytes piece(4096);
  while (true) {
    auto const got = session.read(id_, piece, connection_->clock_.now());
    rest_finished_ = !got && got.error().errc() == Errc::closed;
    if (!got || *got == 0) break;
    append(rest_, ByteView(piece).first(*got));
  }
  connection_ = nullptr;
  wake();
}

tl::unexpected<Error> MuxStream::gone() const {
  if (rest_finished_) return fail(Errc::closed, "end of stream");
  return fail(Errc::reset, "the connection has ended");
}

}  // namespace grapevine
