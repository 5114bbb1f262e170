// Host::State: what a host owns, and the coroutines that run in its task group. One .cpp a concern:
// host.cpp (public face, life cycle), host_inbound.cpp (listen, accept, admit), host_dial.cpp,
// host_connections.cpp (the pool), host_streams.cpp (serve and open), host_identify.cpp,
// host_services.cpp (ping, perf). Loop thread only.
#pragma once

#include "address_book_detail.hpp"
#include "admission_detail.hpp"
#include "connection_detail.hpp"
#include "grapevine/net/host.hpp"
#include "grapevine/p2p/identify.hpp"

#include <deque>
#include <list>
#include <map>

namespace grapevine {

struct Host::State {
  State(Doors doors_, Identity identity_, HostOptions options_);

  Doors doors;
  Identity identity;
  HostOptions options;
  Credentials credentials;
  bool started = false;
  bool stopping = false;

  std::map<std::string, StreamHandler, std::less<>> handlers;

  // host_inbound.cpp
  struct Listening {
    std::unique_ptr<Listener> listener;
    Multiaddr address;
  };
  std::list<Listening> listeners;
  class Slot;  // of a handshake in progress
  std::map<std::uint64_t, Slot*> handshakes;
  std::uint64_t handshakes_begun = 0;
  Admission admission;
  Result<Multiaddr> listen(Multiaddr const& at);
  [[nodiscard]] std::vector<Multiaddr> addresses() const;
  Awaitable<> accept_loop(Listener& listener);
  void admit(std::unique_ptr<Socket> socket);
  Awaitable<> welcome(std::unique_ptr<Socket> socket, std::uint64_t serial);
  Awaitable<> upgrade_in_time(std::unique_ptr<Socket> socket,
                              std::optional<Result<Upgraded>>& into);
  void evict(std::uint64_t serial);

  // host_connections.cpp
  struct Peer {
    std::vector<Connection*> connections;  // oldest first
    std::optional<IdentifyInfo> identified;
  };
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections;
  std::map<PeerId, Peer> peers;
  std::uint64_t connections_made = 0;
  Gate pool_changed;
  // Takes the connection into the pool and runs it; Errc::limit_exceeded when the pool is full.
  Result<> adopt(Upgraded upgraded, Multiaddr address, Direction direction);
  Awaitable<> run_connection(Connection& connection, IpAddress remote);
  void remove(std::uint64_t id, std::string reason);
  [[nodiscard]] Connection* usable_connection(PeerId const& peer) const;
  [[nodiscard]] bool connected(PeerId const& peer) const {
    return usable_connection(peer) != nullptr;
  }

  // events
  std::deque<Event> events;
  std::vector<std::function<void(Event const&)>> event_listeners;
  Gate events_ready;
  void emit(Event event);
  Awaitable<> event_loop();

  // host_dial.cpp
  struct Dial;
  struct Race;
  std::map<std::string, std::shared_ptr<Dial>> dials;
  std::size_t dials_running = 0;
  Gate dial_ended;
  AddressBook book;
  Awaitable<Result<PeerId>> dial(std::string key, std::vector<Multiaddr> addresses,
                                 std::optional<PeerId> expected);
  Awaitable<> run_dial(std::string key, std::shared_ptr<Dial> dial);
  Awaitable<Result<PeerId>> race_addresses(std::shared_ptr<Dial> dial);
  Awaitable<> run_race(TaskGroup& group, Race& race);
  Awaitable<> attempt(Race& race, std::size_t index);
  Awaitable<Result<PeerId>> dial_endpoint(Endpoint endpoint, Multiaddr address,
                                          std::optional<PeerId> expected);
  Awaitable<Result<PeerId>> connect(PeerId peer);

  // host_streams.cpp
  void serve(PeerId const& peer, std::unique_ptr<MuxStream> stream);
  Awaitable<> serve_stream(PeerId peer, std::unique_ptr<MuxStream> stream);
  Awaitable<Result<std::unique_ptr<MuxStream>>> new_stream(PeerId peer);
  Awaitable<Result<PeerStream>> open_stream(PeerId peer, std::vector<std::string> protocols);

  // host_identify.cpp
  bool push_wanted = false;
  Gate push_changed;
  void serve_identify();
  Awaitable<> answer_identify(PeerStream stream);
  Awaitable<> take_push(PeerStream stream);
  Awaitable<> identify_new(PeerId peer);
  Awaitable<Result<IdentifyInfo>> identify(PeerId peer);
  Awaitable<Result<IdentifyInfo>> ask_identify(PeerId peer);
  Awaitable<> push_loop();
  Awaitable<> push_to(PeerId peer);
  void want_push();
  [[nodiscard]] Bytes identify_message(PeerId const& to) const;
  Result<IdentifyInfo> learn(PeerId const& peer, identify::Message message);

  // host_services.cpp
  std::map<PeerId, std::size_t> ping_streams;  // that we serve
  void serve_ping();
  void serve_perf();
  Awaitable<> answer_pings(PeerStream stream);
  Awaitable<Result<>> echo_pings(ByteStream& stream);
  Awaitable<> answer_perf(PeerStream stream);
  Awaitable<Result<std::vector<double>>> ping(PeerId peer, std::uint32_t count);
  Awaitable<Result<PerfResult>> perf(PeerId peer, std::uint64_t upload, std::uint64_t download);

  Counters counters;
  // Last: its tasks use what is above.
  TaskGroup tasks;
};

}  // namespace grapevine
