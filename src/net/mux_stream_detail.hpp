// MuxStream: one yamux stream of a connection as a ByteStream. Its owner may keep it longer than
// the connection lives: then what had arrived can still be read, and after it comes the reason why
// no more will. Loop thread only.
#pragma once

#include "grapevine/p2p/yamux.hpp"
#include "grapevine/runtime/gate.hpp"
#include "grapevine/runtime/network.hpp"

namespace grapevine {

class Connection;

class MuxStream final : public ByteStream {
 public:
  MuxStream(Connection& connection, yamux::StreamId id, bool inbound);
  ~MuxStream() override;

  Awaitable<Result<std::size_t>> read_some(MutableByteView into) override;
  Awaitable<Result<>> write(ByteView bytes) override;
  Awaitable<Result<>> close_write() override;
  void reset() override;

  // Its protocol is agreed on: it no longer counts among those that only take up room.
  void negotiated();

 private:
  friend class Connection;
  class Lending;
  void wake();
  void detach();  // the connection ends
  [[nodiscard]] tl::unexpected<Error> gone() const;

  Connection* connection_;  // none once it ended
  yamux::StreamId id_;
  bool unnegotiated_;
  Gate readable_;
  Gate writable_;
  Bytes rest_;  // what was left unread when the connection ended
  std::size_t rest_read_ = 0;
  bool rest_finished_ = false;
};

}  // namespace grapevine
