// A session that answers like a node, fed by a peer that sends anything: memory stays in bounds and
// the session's own rules hold.
#include "grapevine/base/assert.hpp"
#include "grapevine/p2p/yamux.hpp"

#include <map>

using namespace grapevine;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  yamux::Session session(yamux::Role::server, Instant{});
  std::map<yamux::StreamId, Bytes> lent;
  Bytes buffer(4096);
  Instant now{};
  ByteView rest{data, size};
  while (!rest.empty()) {
    now += 1ms;
    auto const piece = rest.first(std::min<std::size_t>(rest.size(), 40));
    rest = rest.subspan(piece.size());
    if (!session.receive(piece, now)) break;
    for (auto const& event : session.take_events()) {
      if (event.id == 0) continue;
      if (event.kind == yamux::Event::opened) {
        lent[event.id] = Bytes(20'000, 1);
        (void)session.write(event.id, lent[event.id]);
      } else if (lent.contains(event.id)) {
        (void)session.read(event.id, buffer, now);
        if (event.kind == yamux::Event::reset) {
          session.release(event.id, now);
          lent.erase(event.id);
        }
      }
    }
    if (piece.front() % 2 == 0) (void)session.collect(buffer);
    session.tick(now);
    ASSERT(session.streams() <= limits::yamux_streams_inbound_max);
    ASSERT(session.buffered_in() <= size);
  }
  for (auto const& [id, bytes] : lent) session.release(id, now);
  return 0;
}
