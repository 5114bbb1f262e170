#include "grapevine/status/status_server.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/base/log.hpp"
#include "grapevine/runtime/gate.hpp"
#include "grapevine/status/routes.hpp"

namespace grapevine {

namespace {

constexpr Duration measure_every = 5s;
constexpr Duration accept_retry_after = 100ms;
constexpr std::size_t read_bytes = 4096;

}  // namespace

struct StatusServer::State {
  State(Doors given, StatusSource& status, StatusServerOptions with)
      : doors(given), source(status), options(std::move(with)), tasks(given.executor) {}

  Doors doors;
  StatusSource& source;
  StatusServerOptions options;
  std::unique_ptr<Listener> listener;
  Resources resources;
  std::size_t open = 0;
  Gate freed;
  TaskGroup tasks;

  struct Place {  // of one connection
    explicit Place(State& state) : state_(state) { ++state_.open; }
    ~Place() {
      --state_.open;
      state_.freed.notify_all();
    }
    Place(Place const&) = delete;

   private:
    State& state_;
  };

  Awaitable<> accept_all();
  Awaitable<> measure_often();
  Awaitable<> serve(std::unique_ptr<Socket> socket);
  Awaitable<Result<HttpRequest>> read_request(Socket& socket, HttpReader& reader);
  Awaitable<HttpResponse> answer(HttpRequest const& request);
};

Awaitable<> StatusServer::State::accept_all() {
  for (;;) {
    while (open >= limits::http_connections_max) co_await freed.wait();
    auto socket = co_await listener->accept();
    if (socket) {
      tasks.spawn(serve(std::move(*socket)));
      continue;
    }
    if (socket.error().errc() == Errc::closed) co_return;
    log_warn("status page: {}", socket.error().message());
    co_await doors.clock.sleep_for(accept_retry_after);  // no descriptor left: one may come free
  }
}

Awaitable<> StatusServer::State::measure_often() {
  for (;;) {
    auto job = [this](std::stop_token) { return options.measure(); };
    resources = co_await run_on<Resources>(doors.heavy, job);
    co_await doors.clock.sleep_for(measure_every);
  }
}

// Patient before the first byte, strict once a request has begun: a slow sender holds its place no
// longer than the deadline.
Awaitable<Result<HttpRequest>> StatusServer::State::read_request(Socket& socket,
                                                                 HttpReader& reader) {
  Bytes buffer(read_bytes);
  ByteView more;
  auto deadline = doors.clock.now() + limits::http_idle_max;
  bool begun = false;
  for (;;) {
    CO_TRY_ASSIGN(auto request, reader.feed(more));
    if (request) co_return std::move(*request);
    if (!begun && !reader.idle()) {
      begun = true;
      deadline = doors.clock.now() + limits::http_request_deadline;
    }
    CO_TRY_ASSIGN(auto const got,
                  co_await with_deadline(doors.clock, deadline, socket.read_some(buffer)));
    more = ByteView(buffer).first(got);
  }
}

Awaitable<HttpResponse> StatusServer::State::answer(HttpRequest const& request) {
  bool const commands = options.control != nullptr;
  Access const access{listener->local().ip.is_loopback(),
                      commands ? options.control_token : std::string()};
  auto const routed = route(request, access);
  if (auto const* refused = std::get_if<HttpResponse>(&routed)) co_return *refused;
  if (auto const* command = std::get_if<Command>(&routed)) {
    auto const done = co_await options.control->carry_out(*command);
    co_return render(*command, done, source.snapshot());
  }
  auto const& asked = std::get<Route>(routed);
  Facts facts{source.snapshot(), resources, source.ready(), {}};
  if (asked.page == Page::history) {
    auto rounds = co_await source.history(asked.since);
    if (!rounds) co_return refuse(503, rounds.error().message());
    facts.rounds = std::move(*rounds);
  }
  co_return render(asked, facts);
}

Awaitable<> StatusServer::State::serve(std::unique_ptr<Socket> socket) {
  Place const place(*this);
  HttpReader reader;
  for (std::size_t left = limits::http_requests_per_connection_max; left > 0; --left) {
    auto const request = co_await read_request(*socket, reader);
    HttpReply reply;
    HttpResponse response;
    if (request) {
      reply = {request->keep_alive && left > 1, request->method == "HEAD"};
      response = co_await answer(*request);
    } else if (request.error().errc() == Errc::malformed) {
      response = refuse(400, "this is not HTTP/1.1");
    } else if (request.error().errc() == Errc::oversize) {
      response = refuse(413, "this request is too long");
    } else {
      co_return;  // gone, or too slow
    }
    auto const bytes = to_bytes(response, reply);
    auto const deadline = doors.clock.now() + limits::http_response_deadline;
    auto const sent = co_await with_deadline(doors.clock, deadline, socket->write(bytes));
    if (!sent || !reply.keep_alive) co_return;
  }
}

StatusServer::StatusServer(Doors doors, StatusSource& source, StatusServerOptions options)
    : state_(std::make_unique<State>(doors, source, std::move(options))) {}
StatusServer::~StatusServer() = default;

Result<> StatusServer::start() {
  auto& state = *state_;
  auto listener = state.doors.network.listen(state.options.at);
  if (!listener && listener.error().errc() == Errc::address_in_use)
    return fail(Errc::port_in_use, "status page " + state.options.at.text());
  TRY_ASSIGN(state.listener, std::move(listener));
  state.tasks.spawn(state.accept_all());
  if (state.options.measure) state.tasks.spawn(state.measure_often());
  return {};
}

Awaitable<> StatusServer::stop() {
  auto& state = *state_;
  if (state.listener) state.listener->close();
  state.tasks.cancel();
  co_await state.tasks.join();
}

Endpoint StatusServer::local() const { return state_->listener->local(); }

}  // namespace grapevine
