#include "grapevine/world/witness.hpp"
#include "world/bare_peer_detail.hpp"

#include "grapevine/runtime/task_group.hpp"

namespace grapevine::world {
namespace {

constexpr Duration pause = 2s;
constexpr Duration patience = 20s;

class Witness final : public sim::Program {
 public:
  Witness(Doors doors, std::vector<Multiaddr> bootstrap, Testimony& testimony)
      : peer_(doors, std::move(bootstrap)), testimony_(testimony), pulls_(doors.executor) {}

  Awaitable<> run() override {
    if (!peer_.start()) co_return;
    co_await peer_.join();
    auto listen = [this](GossipMessage const& message) {
      auto const told = verify_announcement(message.data, peer_.manifest.run);
      if (!told) return Verdict::reject;
      if (auto const* const contribution = std::get_if<Contribution>(&**told))
        pulls_.spawn(keep(told->signer(), *contribution, sha256(message.data)));
      return Verdict::accept;
    };
    auto pass_on = [](GossipMessage const&) { return Verdict::accept; };
    auto nothing_left = [](GossipMessage const&) {};
    peer_.pubsub.subscribe(peer_.topic("announce"), listen, nothing_left);
    peer_.pubsub.subscribe(peer_.topic("beacon"), pass_on, nothing_left);
    for (;;) {
      co_await peer_.keep_connected();
      co_await peer_.doors.clock.sleep_for(pause);
    }
  }

 private:
  // Announced again while its round lasts: what could not be pulled before is tried again then.
  Awaitable<> keep(PeerId author, Contribution contribution, Hash name) {
    auto const [known, fresh] = testimony_.contributions.try_emplace(name);
    if (!fresh && !known->second.shards.empty()) co_return;
    known->second.contribution = contribution;
    std::vector<PeerId> const holders{author};
    std::vector<Blob> shards;
    for (auto const& ref : contribution.shards) {
      auto const deadline = peer_.doors.clock.now() + patience;
      auto const fetched = co_await peer_.blobs.fetch(ref, holders, deadline);
      if (!fetched) co_return;
      shards.push_back(fetched->blob);
    }
    testimony_.contributions[name].shards = std::move(shards);
  }

  BarePeer peer_;
  Testimony& testimony_;
  TaskGroup pulls_;
};

}  // namespace

std::unique_ptr<sim::Program> make_witness(Doors doors, std::vector<Multiaddr> bootstrap,
                                           Testimony& testimony) {
  return std::make_unique<Witness>(doors, std::move(bootstrap), testimony);
}

}  // namespace grapevine::world
