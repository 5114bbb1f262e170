// Hosts over real loopback sockets, for what the simulated network cannot show.
#pragma once

#include "grapevine/net/host.hpp"
#include "grapevine/runtime/file_storage.hpp"
#include "grapevine/runtime/gate.hpp"
#include "grapevine/runtime/runtime.hpp"

#include "unit/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <deque>

namespace grapevine {

struct LoopbackWorld {
  test::ScratchFolder scratch;
  std::string const& parent = scratch.path;
  std::unique_ptr<Storage> storage = FileStorage::open(parent + "/home").value();
  Runtime runtime{*storage};
  std::deque<std::unique_ptr<Host>> hosts;

  ~LoopbackWorld() { hosts.clear(); }

  static Multiaddr loopback() { return Multiaddr::parse("/ip4/127.0.0.1/tcp/0").value(); }

  Host& add(HostOptions options = {}) {
    if (options.listen.empty()) options.listen.push_back(loopback());
    auto const doors = runtime.doors();
    hosts.push_back(
        std::make_unique<Host>(doors, Identity::generate(doors.random), std::move(options)));
    REQUIRE(hosts.back()->start().has_value());
    return *hosts.back();
  }

  // Runs `main`, then stops every host; returns when nothing runs any more.
  void run(Awaitable<> main) { runtime.run(main_then_stop(std::move(main))); }

 private:
  Awaitable<> main_then_stop(Awaitable<> main) {
    co_await std::move(main);
    for (auto const& host : hosts) co_await host->stop();
  }
};

inline Multiaddr address_of(Host const& host) {
  return host.addresses().front().with_peer(host.id());
}

// Collects the events of one host and waits for them.
class Events {
 public:
  explicit Events(Host& host) {
    host.on_event([this](Host::Event const& event) {
      seen_.push_back(event);
      changed_.notify_all();
    });
  }
  Awaitable<Host::Event> next(Host::Event::Kind kind) {
    while (true) {
      for (auto at = seen_.begin(); at != seen_.end(); ++at) {
        if (at->kind != kind) continue;
        auto const event = *at;
        seen_.erase(at);
        co_return event;
      }
      co_await changed_.wait();
    }
  }
  [[nodiscard]] std::size_t count(Host::Event::Kind kind) const {
    return static_cast<std::size_t>(std::count_if(
        seen_.begin(), seen_.end(), [kind](auto const& event) { return event.kind == kind; }));
  }

 private:
  std::deque<Host::Event> seen_;
  Gate changed_;
};

}  // namespace grapevine
