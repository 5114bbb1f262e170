// Pair exchanges: performing what the PairExchange machine asks for. Messages travel one a stream
// on /grapevine/1/mix and one after another to each peer; the end of the stream from the other side
// says that the message was taken in.

#include "grapevine/base/limits.hpp"
#include "grapevine/base/log.hpp"
#include "grapevine/round/norm_bound.hpp"
#include "grapevine/wire/framing.hpp"
#include "node/claimed_tokens_detail.hpp"
#include "node/node_state_detail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace grapevine {
namespace {

constexpr std::string_view mix_protocol = "/grapevine/1/mix";

Awaitable<Result<Bytes>> read_message(ByteStream& stream) {
  FrameSplitter splitter(limits::signed_message_max);
  Bytes chunk(4096);
  while (true) {
    CO_TRY_ASSIGN(std::size_t const count, co_await stream.read_some(chunk));
    splitter.feed(ByteView(chunk).first(count));
    CO_TRY_ASSIGN(auto const message, splitter.next());
    if (message) co_return Bytes(message->begin(), message->end());
  }
}

Awaitable<Result<>> write_message(Host& host, PeerId to, Bytes frame) {
  std::vector<std::string> const protocols{std::string(mix_protocol)};
  CO_TRY_ASSIGN(auto const opened, co_await host.open_stream(to, protocols));
  CO_TRY(co_await opened.stream->write(frame));
  CO_TRY(co_await opened.stream->close_write());
  std::array<std::uint8_t, 1> nothing{};
  auto const end = co_await opened.stream->read_some(nothing);
  if (end) co_return fail(Errc::protocol_violation, "bytes where a mix stream should end");
  if (end.error().errc() != Errc::closed) co_return tl::unexpected(end.error());
  co_return Result<>{};
}

// A partner that has trained from the same data as we in the same time has no gradient ten times
// as large.
Result<> check_beside(GradientClaim const& theirs, GradientClaim const& ours) {
  GradientClaim const both[] = {ours, {std::max<std::uint64_t>(theirs.tokens, 1), theirs.norm}};
  if (within_norm_bound(both)[1]) return {};
  return fail(Errc::limit_exceeded,
              fmt::format("a gradient of norm {:g} beside ours of {:g}", theirs.norm, ours.norm));
}

}  // namespace

Awaitable<Result<>> Node::State::start_pairing() {
  struct Opened {
    PairMemory memory;
    std::map<PairKey, PairDoubt> doubts;
  };
  auto const now = state == nullptr ? Version{} : Version{state->round, state->hash()};
  auto open = [this, now](std::stop_token) -> Result<Opened> {
    TRY_ASSIGN(pairing.store, PairStore::open(doors.storage));
    Opened opened;
    TRY_ASSIGN(opened.memory.committed, pairing.store->decisions());
    TRY_ASSIGN(auto const kept, pairing.store->doubts());
    for (auto const& [exchange, doubt] : kept) {
      // In the checkpoint already, or of a round that this peer has gone back behind.
      if (doubt.is_in(now) || exchange.round >= now.round) {
        TRY(pairing.store->forget_doubt(exchange));
        continue;
      }
      opened.doubts[exchange].sat_out = doubt.sat_out;
      opened.memory.doubts.insert(exchange);
    }
    return opened;
  };
  CO_TRY_ASSIGN(auto opened, co_await run_on<Result<Opened>>(doors.heavy, open));
  pairing.doubts = std::move(opened.doubts);
  if (!pairing.store->set_aside().empty())
    problem(Error(Errc::database_corrupt, "set aside as " + pairing.store->set_aside()));
  auto const& agreed = manifest->manifest;
  auto make = [&](MixLane lane) {
    PairSettings settings;
    settings.run = manifest->run;
    settings.self = self;
    settings.lane = lane;
    settings.overlapped = lane == MixLane::parameters;
    for (auto const& shape : shapes(lane)) settings.payload_bytes += shape.bytes();
    settings.wait_min = from_seconds(agreed.deadline_s_min);
    settings.wait_max = from_seconds(agreed.deadline_s_max);
    PairMemory memory = opened.memory;
    auto const of_another = [lane](PairKey const& exchange) { return exchange.lane != lane; };
    std::erase_if(memory.committed, of_another);
    std::erase_if(memory.doubts, of_another);
    pairing.machines[lane] =
        std::make_unique<PairExchange>(settings, round->view(), std::move(memory));
  };
  for (auto const lane : {MixLane::joint, MixLane::parameters, MixLane::gradients})
    if (agreed.mixing.pattern_of(lane) == MixPattern::pair) make(lane);
  host->handle(std::string(mix_protocol),
               [this](PeerStream stream) { return take_mix(std::move(stream)); });
  co_return Result<>{};
}

void Node::State::feed_pairs(PairEvent const& event) {
  for (auto const& [lane, machine] : pairing.machines) feed_pair(lane, event);
}

void Node::State::feed_pair(MixLane lane, PairEvent event) {
  if (!pairing.machines.contains(lane) || closing) return;
  pairing.events.emplace_back(lane, std::move(event));
  if (pairing.feeding) return;  // an action fed it: the loop below comes to it
  pairing.feeding = true;
  while (!pairing.events.empty()) {
    auto const [to, next] = std::move(pairing.events.front());
    pairing.events.pop_front();
    for (auto const& action : pairing.machines.at(to)->on(next, doors.clock.now()))
      std::visit([this](auto const& a) { perform(a); }, action);
  }
  pairing.feeding = false;
}

void Node::State::perform(round_action::Pair const& action) {
  MixOffer offer;
  offer.run = manifest->run;
  offer.round = action.mine.round;
  offer.lane = action.lane;
  offer.tokens = action.mine.tokens;
  offer.shards = action.mine.shards;
  offer.probe = shown_probe(offer.round, offer.lane);
  auto const rate = blobs->counters().fetch_bytes_per_s;
  feed_pair(action.lane, pair_event::Ready{std::move(offer), action.inner_took, rate});
}

void Node::State::perform(pair_action::Send const& action) {
  Bytes message;
  if (auto const* const offer = std::get_if<MixOffer>(&action.message)) {
    message = sign_mix_offer(*offer, *identity);
    contribution_hashes[{offer->round, offer->lane, self}] = sha256(message);
  } else {
    message = sign_mix_answer(std::get<MixAnswer>(action.message), *identity);
  }
  auto const [queue, idle] = pairing.outbox.try_emplace(action.to);
  if (queue->second.size() >= limits::mix_messages_queued_max) queue->second.pop_front();
  queue->second.push_back(std::move(message));
  if (idle) tasks.spawn(send_mix(action.to));
}

Awaitable<> Node::State::send_mix(PeerId to) {
  while (!pairing.outbox[to].empty()) {
    Bytes frame;
    append_frame(frame, pairing.outbox[to].front());
    pairing.outbox[to].pop_front();
    auto const deadline = doors.clock.now() + limits::mix_message_deadline;
    auto writing = write_message(*host, to, std::move(frame));
    auto const sent = co_await with_deadline(doors.clock, deadline, std::move(writing));
    if (sent) continue;
    log_debug("a mix message to {} was not delivered: {}", to.brief(), sent.error().message());
    pairing.outbox.erase(to);
    feed_pairs(pair_event::PeerLost{to});
    co_return;
  }
  pairing.outbox.erase(to);
}

Awaitable<> Node::State::take_mix(PeerStream opened) {
  auto reading = read_message(*opened.stream);
  auto const deadline = doors.clock.now() + limits::mix_message_deadline;
  auto const message = co_await with_deadline(doors.clock, deadline, std::move(reading));
  auto const taken =
      message ? take_mix_message(opened.peer, *message) : Result<>(tl::unexpected(message.error()));
  if (!taken) {
    log_debug("a mix message of {} was refused: {}", opened.peer.brief(), taken.error().message());
    opened.stream->reset();
    co_return;
  }
  (void)co_await opened.stream->close_write();
}

Result<> Node::State::take_mix_message(PeerId const& from, ByteView message) {
  auto addressed = [&](auto const& told) -> Result<> {
    if (told.signer() != from) return fail(Errc::wrong_peer, "a mix message of somebody else");
    if (told->to != self) return fail(Errc::wrong_peer, "a mix message to somebody else");
    return {};
  };
  if (auto const offer = verify_mix_offer(message, manifest->run)) {
    TRY(addressed(*offer));
    TRY(acceptable(**offer));
    remember_contribution((*offer)->round, (*offer)->lane, from, message);
    feed_pair((*offer)->lane, pair_event::OfferSeen{from, **offer});
    return {};
  }
  TRY_ASSIGN(auto const answer, verify_mix_answer(message, manifest->run));
  TRY(addressed(answer));
  feed_pair(answer->lane, pair_event::AnswerSeen{from, *answer});
  return {};
}

Result<> Node::State::acceptable(MixOffer const& offer) const {
  if (!pairing.machines.contains(offer.lane))
    return fail(Errc::schema_mismatch, "an offer of what this run does not exchange");
  auto const expected = shapes(offer.lane);
  if (offer.shards.size() != expected.size())
    return fail(Errc::schema_mismatch, "an offer of another number of shards");
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (offer.shards[i].bytes != expected[i].bytes())
      return fail(Errc::schema_mismatch, "an offer with a shard of another size");
  return check_claimed_tokens(manifest->manifest, offer.lane, offer.tokens);
}

void Node::State::perform(pair_action::Pull const& action) {
  auto const& exchange = action.exchange;
  probe_seen(exchange.round, exchange.lane, exchange.partner, action.theirs.probe);
  tasks.spawn(pull_side(action));
}

Awaitable<> Node::State::pull_side(pair_action::Pull action) {
  auto const stop = std::make_shared<Gate>();
  pairing.pulls[action.exchange] = stop;
  auto const pulled = co_await unless_told(stop, fetch_side(action));
  auto const newest = pairing.pulls.find(action.exchange);
  bool const stopped = newest == pairing.pulls.end() || newest->second != stop;
  if (stopped || !pulled) co_return;
  pairing.pulls.erase(newest);
  std::string failure;
  if (*pulled)
    pairing.sides[action.exchange] = **pulled;
  else
    failure = pulled->error().message();
  feed_pair(action.exchange.lane, pair_event::Pulled{action.exchange, std::move(failure)});
}

void Node::State::perform(pair_action::StopPull const& action) {
  auto const found = pairing.pulls.extract(action.exchange);
  if (!found.empty()) found.mapped()->notify_all();
}

Awaitable<Result<PulledSide>> Node::State::fetch_side(pair_action::Pull action) {
  auto const mine = joint_side(action.exchange.lane);
  std::vector<PeerId> const holders{action.exchange.partner};
  auto const& refs = action.theirs.shards;
  std::map<BlobRef, Blob> here;
  std::function<Result<>(BlobRef const&, Blob const&)> const arrived =
      [&here](BlobRef const& ref, Blob const& blob) -> Result<> {
    here[ref] = blob;
    return {};
  };
  CO_TRY(co_await fetch_all(refs, holders, action.deadline, arrived));
  auto const expected = shapes(action.exchange.lane);
  GradientClaim const ours{std::max<std::uint64_t>(contribution_tokens(), 1), own_norm};
  auto decode = [this, ours, &action, &mine, &expected, &refs,
                 &here](std::stop_token) -> Result<PulledSide> {
    auto const shards = manifest->manifest.shards;
    PulledSide pulled;
    pulled.tokens = action.theirs.tokens;
    for (std::size_t i = 0; i < refs.size(); ++i) {
      auto const& [elements, codec] = expected[i];
      TRY_ASSIGN(auto values, decode_shard(codec, here.at(refs[i]), elements));
      pulled.blobs.push_back(std::move(values));
    }
    TRY_ASSIGN(pulled.norm, norm_of_side(action.exchange.lane, pulled.blobs, shards));
    if (action.exchange.lane != MixLane::parameters) {
      TRY(check_beside({pulled.tokens, pulled.norm}, ours));
    }
    if (!mine.empty()) pulled.squared_distance = squared_distance(mine, pulled.blobs, shards);
    return pulled;
  };
  co_return co_await run_on<Result<PulledSide>>(doors.heavy, decode);
}

void Node::State::perform(pair_action::Decide const& action) { tasks.spawn(decide(action)); }

Awaitable<> Node::State::decide(pair_action::Decide action) {
  auto write = [this, &action](std::stop_token) { return pairing.store->decide(action.exchange); };
  auto const decided = co_await run_on<Result<>>(doors.heavy, write);
  feed_pair(action.exchange.lane,
            pair_event::Decided{action.exchange, decided ? "" : decided.error().message()});
}

void Node::State::perform(pair_action::Closed const& action) {
  round_event::PairClosed closed{action};
  closed.tokens = action.lane == MixLane::parameters ? 1 : contribution_tokens();
  if (action.partner) {
    auto const& pulled = pairing.sides.at({action.round, action.lane, *action.partner});
    closed.partner_tokens = pulled.tokens;
    closed.partner_norm = static_cast<float>(pulled.norm);
    if (pulled.squared_distance) probing.l2 = std::sqrt(*pulled.squared_distance);
  }
  feed(std::move(closed));
}

void Node::State::perform(pair_action::Settled const& action) {
  log_info("the exchange of round {} with {} was {}", action.exchange.round,
           action.exchange.partner.brief(), action.committed ? "committed" : "given up");
  pairing.settled[action.exchange] = action.committed;
  if (finished) tasks.spawn(settle_at_the_end());
}

}  // namespace grapevine
