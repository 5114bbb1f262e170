// PubSub: the gossipsub router (p2p/gossip.hpp) on a Host's streams. One outbound stream a peer,
// bounded queues that drop the oldest, a heartbeat every second. Loop thread only.
#pragma once

#include "grapevine/net/host.hpp"
#include "grapevine/p2p/gossip_message.hpp"

#include <map>
#include <set>

namespace grapevine {

class PubSub {
 public:
  struct Options {
    // `seqno_first` must be above every seqno of earlier processes with this identity.
    std::uint64_t seqno_first = 0;
    bool authors_count_up = false;  // see GossipParameters: then no message is taken twice, ever
  };
  PubSub(Doors doors, Host& host, Options options);
  ~PubSub();
  PubSub(PubSub const&) = delete;
  void start();
  Awaitable<> stop();  // leaves every topic, then ends its tasks

  // `validate` runs on the loop, at once; it must be cheap (schema, policy, signature).
  using Validator = std::function<Verdict(GossipMessage const&)>;
  using Receiver = std::function<void(GossipMessage const&)>;
  void subscribe(std::string topic, Validator validate, Receiver receive);
  void unsubscribe(std::string const& topic);

  struct Published {
    std::uint64_t seqno = 0;
    std::size_t peers = 0;  // it was sent to
  };
  // Errc::oversize above limits::gossip_rpc_sent_max. Not delivered to ourselves.
  Result<Published> publish(std::string const& topic, ByteView data);

  [[nodiscard]] std::vector<PeerId> topic_peers(std::string const& topic) const;
  // Topics that connected peers have announced, ours or not (bounded): how a newcomer learns what
  // runs here.
  [[nodiscard]] std::map<std::string, std::set<PeerId>> topics_seen() const;
  [[nodiscard]] std::uint64_t seqno_next() const;  // to be kept on disk

  struct Counters {
    std::uint64_t messages_in = 0, duplicates = 0, delivered = 0, published = 0;
    std::map<std::string, std::uint64_t> rejected;  // by reason
    std::map<std::string, std::size_t> mesh;        // topic -> peers
    std::uint64_t queue_dropped = 0;
  };
  [[nodiscard]] Counters counters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace grapevine
