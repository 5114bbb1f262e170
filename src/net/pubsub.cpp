#include "grapevine/net/pubsub.hpp"

#include "pubsub_state_detail.hpp"

#include <algorithm>

namespace grapevine {

namespace {

Awaitable<> nothing() { co_return; }

}  // namespace

PubSub::State::State(Doors to, Host& on, Options options)
    : doors(to),
      host(on),
      router(host.identity(), options.seqno_first, doors.random,
             {.authors_count_up = options.authors_count_up}),
      alive(std::make_shared<State*>(this)),
      tasks(doors.executor) {}

PubSub::PubSub(Doors doors, Host& host, Options options)
    : state_(std::make_unique<State>(doors, host, options)) {}
PubSub::~PubSub() = default;
void PubSub::start() { state_->start(); }
Awaitable<> PubSub::stop() { return state_->stop(); }

void PubSub::State::start() {
  host.on_event([weak = std::weak_ptr(alive)](Host::Event const& event) {
    if (auto const self = weak.lock()) (*self)->on_event(event);
  });
  for (auto const& protocol : gossip_protocols())
    host.handle(protocol, [this](PeerStream stream) {
      tasks.spawn(listen(std::move(stream)));
      return nothing();
    });
  for (auto const& peer : host.peers()) (void)meet(peer);
  tasks.spawn(beat());
}

// The goodbye is a courtesy: what is not sent in time is not sent.
Awaitable<> PubSub::State::stop() {
  while (!subscriptions.empty()) {
    router.unsubscribe(subscriptions.begin()->first, now());
    subscriptions.erase(subscriptions.begin());
  }
  act();
  constexpr auto look = std::chrono::milliseconds(10);
  for (auto const end = now() + limits::gossip_goodbye; !flushed() && now() < end;)
    co_await doors.clock.sleep_for(look);
  for (auto const& protocol : gossip_protocols()) host.unhandle(protocol);
  alive.reset();
  tasks.cancel();
  co_await tasks.join();
}

bool PubSub::State::flushed() const {
  return std::ranges::all_of(
      peers, [](auto const& entry) { return !entry.second->out || entry.second->queue.empty(); });
}

Awaitable<> PubSub::State::beat() {
  constexpr auto first = std::chrono::milliseconds(100);
  for (auto due = now() + first;; due = std::max(due, now()) + GossipParameters{}.heartbeat) {
    co_await doors.clock.sleep_until(due);
    router.heartbeat(now());
    act();
  }
}

// Actions may lead to more, also through a receiver that publishes: one loop takes them all.
void PubSub::State::act() {
  if (acting) return;
  acting = true;
  for (auto actions = router.take_actions(); !actions.empty(); actions = router.take_actions()) {
    for (auto& action : actions) {
      if (auto* send = std::get_if<GossipSend>(&action))
        enqueue(std::move(*send));
      else
        judge(std::get<GossipCheck>(action));
    }
  }
  acting = false;
}

void PubSub::State::judge(GossipCheck const& check) {
  auto const found = subscriptions.find(check.message.topic);
  if (found == subscriptions.end()) return router.judged(check.id, Verdict::ignore);
  auto const subscription = found->second;  // it may end while it is being called
  auto const verdict =
      subscription->validate ? subscription->validate(check.message) : Verdict::accept;
  router.judged(check.id, verdict);
  if (verdict == Verdict::accept && subscription->receive) subscription->receive(check.message);
}

// A peer that does not even take what must not be lost loses its stream: the next one begins with
// all our subscriptions, so nothing is wrong afterwards.
void PubSub::State::enqueue(GossipSend send) {
  auto const found = peers.find(send.to);
  if (found == peers.end()) return;
  auto& peer = *found->second;
  if (peer.queue.size() >= limits::gossip_queue_per_peer_max) {
    ++queue_dropped;
    auto const droppable =
        std::ranges::find_if(peer.queue, [](GossipSend const& queued) { return !queued.keep; });
    if (droppable != peer.queue.end()) {
      peer.queue.erase(droppable);
    } else {
      peer.queue.clear();
      if (peer.out) peer.out->reset();
      return;
    }
  }
  peer.queue.push_back(std::move(send));
  peer.queued.notify_all();
}

void PubSub::subscribe(std::string topic, Validator validate, Receiver receive) {
  auto& s = *state_;
  s.subscriptions[topic] = std::make_shared<State::Subscription const>(
      State::Subscription{std::move(validate), std::move(receive)});
  s.router.subscribe(topic, s.now());
  s.act();
}

void PubSub::unsubscribe(std::string const& topic) {
  auto& s = *state_;
  s.router.unsubscribe(topic, s.now());
  s.subscriptions.erase(topic);
  s.act();
}

Result<PubSub::Published> PubSub::publish(std::string const& topic, ByteView data) {
  auto& s = *state_;
  TRY_ASSIGN(auto const published, s.router.publish(topic, data, s.now()));
  s.act();
  return Published{published.seqno, published.peers};
}

std::vector<PeerId> PubSub::topic_peers(std::string const& topic) const {
  return state_->router.topic_peers(topic);
}
std::map<std::string, std::set<PeerId>> PubSub::topics_seen() const {
  return state_->router.topics_seen();
}
std::uint64_t PubSub::seqno_next() const { return state_->router.seqno_next(); }

PubSub::Counters PubSub::counters() const {
  auto const& from = state_->router.counters();
  Counters out{from.messages_in,     from.duplicates, from.delivered,
               from.published,       from.rejected,   {},
               state_->queue_dropped};
  for (auto const& [topic, subscription] : state_->subscriptions)
    out.mesh[topic] = state_->router.mesh(topic).size();
  return out;
}

}  // namespace grapevine
