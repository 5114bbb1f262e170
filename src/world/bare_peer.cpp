#include "world/bare_peer_detail.hpp"

#include <fmt/format.h>

namespace grapevine::world {
namespace {

constexpr Duration pause = 1s;
constexpr Duration patience = 20s;

}  // namespace

BarePeer::BarePeer(Doors its_doors, std::vector<Multiaddr> bootstrap)
    : doors(its_doors),
      identity(Identity::generate(doors.random)),
      host(doors, identity, {}),
      pubsub(doors, host, {.seqno_first = doors.clock.unix_ns()}),
      blobs(doors, host, {}),
      bootstrap_(std::move(bootstrap)) {}

Result<> BarePeer::start() {
  TRY(host.start());
  pubsub.start();
  blobs.start();
  return {};
}

Awaitable<> BarePeer::join() {
  for (std::size_t turn = 0;; ++turn) {
    if (co_await find_run(bootstrap_.at(turn % bootstrap_.size()))) co_return;
    co_await doors.clock.sleep_for(pause);
  }
}

Awaitable<Result<>> BarePeer::find_run(Multiaddr address) {
  CO_TRY_ASSIGN(auto const from, co_await host.dial(address));
  auto const until = doors.clock.now() + patience;
  while (pubsub.topics_seen().empty()) {
    if (doors.clock.now() > until) co_return fail(Errc::no_run_found);
    co_await doors.clock.sleep_for(100ms);
  }
  auto const seen = pubsub.topics_seen().begin()->first;  // grapevine/RUN/…
  auto const begin = seen.find('/') + 1;
  CO_TRY_ASSIGN(auto const id, Hash::parse(seen.substr(begin, seen.rfind('/') - begin)));
  std::vector<PeerId> const holders{from};
  CO_TRY_ASSIGN(auto const fetched, co_await blobs.fetch({id, 0}, holders, until));
  CO_TRY_ASSIGN(manifest, verify_manifest(*fetched.blob));
  co_return Result<>{};
}

Awaitable<> BarePeer::keep_connected() {
  for (auto const& address : bootstrap_) {
    auto const known = met_.find(address);
    if (known != met_.end() && host.connected(known->second)) continue;
    auto const dialled = co_await host.dial(address);
    if (dialled) met_[address] = *dialled;
  }
}

std::string BarePeer::topic(std::string_view name) const {
  return fmt::format("grapevine/{}/{}", manifest.run.hex(), name);
}

void BarePeer::publish(std::string_view name, ByteView message) {
  (void)pubsub.publish(topic(name), message);
}

}  // namespace grapevine::world
