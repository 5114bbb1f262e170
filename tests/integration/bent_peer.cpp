// A peer with one thing bent, for the tests of real processes. On the wire it is as real as any:
// the production host, gossip and blobs behind the real doors.
//
//   bent_peer from-the-future HOME            shows a run that needs a newer protocol than ours
//   bent_peer never-serves HOME MULTIADDR     joins the run there, announces a gradient in each
//                                             round, and answers nobody who asks for it
//
// Prints one line once others can see it, and ends when it is killed or its parent is gone.

#include "grapevine/base/limits.hpp"
#include "grapevine/net/blob_exchange.hpp"
#include "grapevine/net/pubsub.hpp"
#include "grapevine/node/identity_file.hpp"
#include "grapevine/runtime/file_storage.hpp"
#include "grapevine/runtime/os_random.hpp"
#include "grapevine/runtime/runtime.hpp"
#include "grapevine/tensor/layout.hpp"
#include "grapevine/wire/manifest.hpp"
#include "grapevine/wire/messages.hpp"
#include "wire/codec_detail.hpp"

#include <fmt/core.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <string_view>

namespace grapevine {
namespace {

constexpr Duration beat_time = 2s;
constexpr Duration patience = 60s;

void say(std::string const& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

HostOptions on_loopback() {
  HostOptions options;
  options.listen = {Multiaddr::tcp_address({IpAddress::v4(127, 0, 0, 1), 0})};
  return options;
}

// What is straight in both of them.
class Peer {
 public:
  Peer(Doors the_doors, Identity const& identity)
      : doors(the_doors),
        host(doors, identity, on_loopback()),
        pubsub(doors, host, {.seqno_first = doors.clock.unix_ns()}),
        blobs(doors, host, {}) {}

  Result<> start() {
    TRY(host.start());
    pubsub.start();
    blobs.start();
    return {};
  }

  Doors doors;
  Host host;
  PubSub pubsub;
  BlobExchange blobs;
};

std::string topic(Hash const& run, std::string_view name) {
  return fmt::format("grapevine/{}/{}", run.hex(), name);
}

Verdict take_nothing(GossipMessage const&) { return Verdict::ignore; }
void deliver_nothing(GossipMessage const&) {}

Awaitable<> for_ever(Clock& clock) {
  for (;;) co_await clock.sleep_for(beat_time);
}

Awaitable<Result<>> from_the_future(Peer& peer) {
  CO_TRY(peer.start());
  RunManifest manifest;
  manifest.name = "tomorrow";
  manifest.protocol = manifest.protocol_oldest = protocol_version + 1;
  auto const bytes = std::make_shared<Bytes const>(
      sign_envelope("manifest", codec::encode_payload(manifest), peer.host.identity()));
  CO_TRY_ASSIGN(auto const ref, co_await peer.blobs.keep(bytes));
  peer.pubsub.subscribe(topic(ref.root, "beacon"), take_nothing, deliver_nothing);
  say("at " + peer.host.addresses().front().with_peer(peer.host.id()).text());
  co_await for_ever(peer.doors.clock);
  co_return Result<>{};
}

class NeverServes {
 public:
  NeverServes(Peer& peer, Multiaddr bootstrap) : peer_(peer), bootstrap_(std::move(bootstrap)) {}

  Awaitable<Result<>> run() {
    CO_TRY(peer_.start());
    peer_.host.handle("/grapevine/1/blob", never_answer);
    CO_TRY_ASSIGN(auto const from, co_await peer_.host.dial(bootstrap_));
    CO_TRY(co_await find_run(from));
    follow();
    say("takes part as " + peer_.host.id().text());
    for (;;) {
      if (round_) send_beacon();
      co_await peer_.doors.clock.sleep_for(beat_time);
    }
  }

 private:
  static Awaitable<> never_answer(PeerStream stream) {
    Bytes asked(limits::chunk_request_bytes_max);
    while (co_await stream.stream->read_some(asked)) continue;
  }

  Awaitable<Result<>> find_run(PeerId from) {
    auto const until = peer_.doors.clock.now() + patience;
    while (peer_.pubsub.topics_seen().empty()) {
      if (peer_.doors.clock.now() > until) co_return fail(Errc::no_run_found);
      co_await peer_.doors.clock.sleep_for(100ms);
    }
    auto const seen = peer_.pubsub.topics_seen().begin()->first;  // grapevine/RUN/…
    auto const begin = seen.find('/') + 1;
    CO_TRY_ASSIGN(auto const id, Hash::parse(seen.substr(begin, seen.rfind('/') - begin)));
    std::vector<PeerId> const holders{from};
    CO_TRY_ASSIGN(auto const fetched, co_await peer_.blobs.fetch({id, 0}, holders, until));
    CO_TRY_ASSIGN(manifest_, verify_manifest(*fetched.blob));
    co_return Result<>{};
  }

  void follow() {
    auto take = [this](GossipMessage const& message) {
      auto const beacon = verify_beacon(message.data, manifest_.run);
      if (!beacon) return Verdict::reject;
      bool const at_work =
          (*beacon)->state == PeerState::training || (*beacon)->state == PeerState::mixing;
      if (at_work && (!round_ || (*beacon)->round > *round_)) announce(**beacon);
      return Verdict::accept;
    };
    auto pass_on = [](GossipMessage const&) { return Verdict::accept; };
    peer_.pubsub.subscribe(topic(manifest_.run, "announce"), pass_on, deliver_nothing);
    peer_.pubsub.subscribe(topic(manifest_.run, "beacon"), take, deliver_nothing);
  }

  // In the round that the other one began: here I am, and here is a gradient that nobody will get.
  void announce(Beacon const& other) {
    round_ = other.round;
    state_ = other.state_hash;
    send_beacon();
    auto const& agreed = manifest_.manifest;
    Contribution contribution;
    contribution.run = manifest_.run;
    contribution.round = other.round;
    contribution.base = other.state_hash;
    contribution.steps = agreed.inner_steps;
    contribution.tokens =
        std::uint64_t{agreed.inner_steps} * agreed.inner.batch * agreed.model.context;
    contribution.loss = contribution.norm = 1;
    for (std::uint32_t i = 0; i < agreed.shards; ++i) {
      auto const what = fmt::format("{} of round {}", i, other.round);
      auto const elements = shard_range(agreed.parameters, agreed.shards, i).count;
      contribution.shards.push_back({sha256(as_bytes(what)), elements * sizeof(float)});
    }
    publish("announce", sign_announcement(contribution, peer_.host.identity()));
  }

  void send_beacon() {
    Beacon beacon;
    beacon.run = manifest_.run;
    beacon.sequence = ++sequence_;
    beacon.name = "never-serves";
    beacon.agent = "bent_peer";
    beacon.state = PeerState::mixing;
    beacon.round = *round_;
    beacon.state_hash = state_;
    beacon.inner_step = beacon.inner_steps = manifest_.manifest.inner_steps;
    beacon.addresses = peer_.host.addresses();
    publish("beacon", sign_beacon(beacon, peer_.host.identity()));
  }

  void publish(std::string_view name, Bytes const& message) {
    if (auto const sent = peer_.pubsub.publish(topic(manifest_.run, name), message); !sent)
      say(sent.error().message());
  }

  Peer& peer_;
  Multiaddr bootstrap_;
  SignedManifest manifest_;
  std::uint64_t sequence_ = 0;
  std::optional<std::uint64_t> round_;
  Hash state_;
};

Awaitable<> reported(Awaitable<Result<>> peer) {
  if (auto const result = co_await std::move(peer); !result) say(result.error().message());
}

Result<> run(std::string_view how, std::string home, std::string const& bootstrap) {
  TRY_ASSIGN(auto const storage, FileStorage::open(std::move(home)));
  OsRandom random;
  TRY_ASSIGN(auto const identity, load_or_create_identity(*storage, random));
  Runtime runtime(*storage);
  Peer peer(runtime.doors(), identity);
  if (how == "from-the-future") {
    runtime.run(reported(from_the_future(peer)));
    return {};
  }
  TRY_ASSIGN(auto const address, Multiaddr::parse(bootstrap));
  NeverServes bent(peer, address);
  runtime.run(reported(bent.run()));
  return {};
}

}  // namespace
}  // namespace grapevine

int main(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc < 3) return 2;
  auto const result = grapevine::run(argv[1], argv[2], argc > 3 ? argv[3] : "");
  if (!result) grapevine::say(result.error().message());
  return 1;  // it was to run until it is killed
}
