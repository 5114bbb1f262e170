#include "grapevine/runtime/gate.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/runtime/cancellation.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <list>
#include <optional>

namespace grapevine {

namespace asio = boost::asio;

namespace {

enum class Wake : std::uint8_t { notified, cancelled };

using Handler = asio::async_result<asio::use_awaitable_t<>, void(Wake)>::handler_type;
struct Waiter;
using Waiters = std::list<std::shared_ptr<Waiter>>;

// Shared with the cancellation slot: a cancellation may come after the wake-up, and then finds
// `handler` gone.
struct Waiter {
  std::optional<Handler> handler;
  Waiters* home = nullptr;
  Waiters::iterator place;

  void finish(Wake wake) {
    if (!handler) return;
    home->erase(place);
    auto const executor = asio::get_associated_executor(*handler);
    auto resume = [taken = *std::move(handler), wake]() mutable { std::move(taken)(wake); };
    handler.reset();
    asio::post(executor, std::move(resume));
  }
};

}  // namespace

struct Gate::State {
  Waiters waiters;

  void park(Handler handler, bool cancellable) {
    auto waiter = std::make_shared<Waiter>();
    auto slot = asio::get_associated_cancellation_slot(handler);
    waiter->handler.emplace(std::move(handler));
    waiter->home = &waiters;
    waiter->place = waiters.insert(waiters.end(), waiter);
    if (!cancellable || !slot.is_connected()) return;
    auto cancel = [waiter](asio::cancellation_type type) {
      if (type != asio::cancellation_type::none) {
        auto const kept = waiter;  // the slot may be emptied meanwhile
        kept->finish(Wake::cancelled);
      }
    };
    slot.assign(std::move(cancel));
  }

  Awaitable<Wake> parked(bool cancellable) {
    auto initiate = [this, cancellable](Handler handler) { park(std::move(handler), cancellable); };
    return asio::async_initiate<asio::use_awaitable_t<> const, void(Wake)>(initiate,
                                                                           asio::use_awaitable);
  }
};

Gate::Gate() : state_(std::make_unique<State>()) {}
Gate::~Gate() { ASSERT(state_->waiters.empty()); }

Awaitable<> Gate::wait() {
  auto const wake = co_await state_->parked(true);
  if (wake == Wake::cancelled) throw_cancelled();
}

Awaitable<> Gate::wait_uncancellable() { co_await state_->parked(false); }

void Gate::notify_all() {
  while (!state_->waiters.empty()) {
    auto const waiter = state_->waiters.front();
    waiter->finish(Wake::notified);
  }
}

std::size_t Gate::waiting() const { return state_->waiters.size(); }

}  // namespace grapevine
