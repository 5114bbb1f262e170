// The streams of PubSub: one that we open to each connected peer, one that it opens to us.
#include "pubsub_state_detail.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/wire/framing.hpp"

#include <algorithm>

namespace grapevine {

namespace {

// Our stream to a peer is one-way, but its reading side tells of a reset. A peer that closes its
// side has only said what we knew: that it does not write here.
Awaitable<> wait_for_reset(ByteStream& stream) {
  Bytes ignored(256);
  for (;;) {
    auto const got = co_await stream.read_some(ignored);
    if (got) continue;
    if (got.error().errc() != Errc::closed) co_return;
    Gate never;
    co_await never.wait();
  }
}

Awaitable<> wait_for(Gate& gate) { co_await gate.wait(); }

}  // namespace

void PubSub::State::on_event(Host::Event const& event) {
  switch (event.kind) {
    case Host::Event::connected:
      (void)meet(event.peer);
      return;
    case Host::Event::disconnected:
      part(event.peer);
      return;
    case Host::Event::identified:
      return;
  }
}

PubSub::State::PeerHandle PubSub::State::meet(PeerId const& id) {
  auto const found = peers.find(id);
  if (found != peers.end()) return found->second;
  auto const peer = std::make_shared<Peer>();
  peer->id = id;
  peers[id] = peer;
  auto const connections = host.connections();
  auto const dialled = std::ranges::any_of(connections, [&](PeerConnection const& connection) {
    return connection.peer == id && connection.direction == Direction::outbound;
  });
  router.add_peer(id, dialled ? GossipRouter::Link::outbound : GossipRouter::Link::inbound);
  tasks.spawn(talk(peer));
  return peer;
}

void PubSub::State::part(PeerId const& id) {
  auto const found = peers.find(id);
  if (found == peers.end()) return;
  auto const peer = std::move(found->second);
  peers.erase(found);
  router.remove_peer(id);
  peer->gone = true;
  peer->queue.clear();
  peer->left.notify_all();
  if (peer->out) peer->out->reset();
  if (peer->in) peer->in->reset();
}

// Keeps a stream to the peer while it is connected; one that dies young is opened again later and
// later.
Awaitable<> PubSub::State::talk(PeerHandle peer) {
  auto pause = limits::gossip_reopen_min;
  while (!peer->gone) {
    auto opened = co_await with_deadline(doors.clock, now() + limits::negotiation_deadline,
                                         host.open_stream(peer->id, gossip_protocols()));
    if (peer->gone) co_return;
    if (opened) {
      auto const since = now();
      co_await talk_on(std::move(*opened), peer);
      if (peer->gone) co_return;
      router.close(peer->id);
      peer->queue.clear();
      if (now() - since >= limits::gossip_reopen_max) pause = limits::gossip_reopen_min;
    }
    std::vector<Awaitable<>> either;
    either.push_back(doors.clock.sleep_for(pause));
    either.push_back(wait_for(peer->left));
    co_await first_of(std::move(either));
    pause = std::min(2 * pause, limits::gossip_reopen_max);
  }
}

Awaitable<> PubSub::State::talk_on(PeerStream stream, PeerHandle peer) {
  struct Open {
    explicit Open(Peer& of, ByteStream& on) : who(of) { who.out = &on; }
    ~Open() { who.out = nullptr; }
    Open(Open const&) = delete;
    Peer& who;
  } const open(*peer, *stream.stream);

  auto const version = gossip_version(stream.protocol);
  ASSERT(version.has_value());
  auto const hello = router.open(peer->id, *version);
  for (auto frame = hello.rbegin(); frame != hello.rend(); ++frame)
    peer->queue.push_front({peer->id, *frame, true});
  std::vector<Awaitable<>> both;
  both.push_back(write_queue(*stream.stream, peer));
  both.push_back(wait_for_reset(*stream.stream));
  co_await first_of(std::move(both));
}

Awaitable<> PubSub::State::write_queue(ByteStream& stream, PeerHandle peer) {
  for (;;) {
    while (peer->queue.empty()) co_await peer->queued.wait();
    auto const frame = std::move(peer->queue.front().frame);
    peer->queue.pop_front();
    auto const written = co_await with_deadline(doors.clock, now() + limits::connection_stall_max,
                                                stream.write(*frame));
    if (!written) co_return;
  }
}

Awaitable<> PubSub::State::listen(PeerStream stream) {
  if (!host.connected(stream.peer)) co_return;
  auto const peer = meet(stream.peer);
  if (peer->in) peer->in->reset();  // the newest counts
  peer->in = stream.stream.get();
  struct Open {
    explicit Open(Peer& of, ByteStream* on) : who(of), stream(on) {}
    ~Open() {
      if (who.in == stream) who.in = nullptr;
    }
    Open(Open const&) = delete;
    Peer& who;
    ByteStream* stream;
  } const open(*peer, stream.stream.get());
  co_await listen_on(*stream.stream, peer);
}

Awaitable<> PubSub::State::listen_on(ByteStream& stream, PeerHandle peer) {
  constexpr std::size_t buffer_bytes = 16 * 1024;
  Bytes buffer(buffer_bytes);
  FrameSplitter splitter(limits::gossip_rpc_received_max);
  for (;;) {
    auto const got = co_await stream.read_some(buffer);
    if (!got || peer->gone) co_return;
    splitter.feed(ByteView(buffer).first(*got));
    for (;;) {
      auto const rpc = splitter.next();
      if (!rpc) co_return stream.reset();
      if (!*rpc) break;
      auto const read = router.receive(peer->id, **rpc, now());
      act();
      if (!read) co_return stream.reset();
      if (peer->gone) co_return;
    }
  }
}

}  // namespace grapevine
