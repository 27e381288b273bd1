// One thread runs a coroutine for each connection. A coroutine reads like a blocking program, and costs some kilobytes
// instead of a thread.
#include "engine/serve/http/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <ctime>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <utility>

#include "engine/serve/http/reply.h"
#include "engine/serve/http/request_parser.h"
#include "sync/error.h"

namespace tandem::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using Problem = boost::system::error_code;
using SteadyClock = std::chrono::steady_clock;

constexpr size_t kPieceBytes = 64 << 10;              // of a write, for which a client has write_time
constexpr std::chrono::milliseconds kLookAgain{500};  // whether a client that has sent more has left

// A client may hold a descriptor for each connection, so the process asks for as many as it may have.
size_t descriptors_allowed() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  if (limit.rlim_cur < limit.rlim_max) {
    rlimit raised = limit;
    raised.rlim_cur = std::min<rlim_t>(limit.rlim_max, 65536);
    if (raised.rlim_cur > limit.rlim_cur && setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return limit.rlim_cur == RLIM_INFINITY ? 65536 : static_cast<size_t>(limit.rlim_cur);
}

std::string date_of_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

// The head of an answer. length: of the body; nothing: it comes in chunks, or until the connection ends. Answers are
// never cached, and browsers must not guess their types.
std::string head_text(const Response& head, std::optional<size_t> length, bool is_chunked, bool is_last) {
  std::string text = "HTTP/1.1 " + std::to_string(head.status) + " " + reason_phrase(head.status) +
                     "\r\nDate: " + date_of_now() +
                     "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n";
  if (!head.content_type.empty()) text += "Content-Type: " + head.content_type + "\r\n";
  for (const auto& [name, value] : head.headers) text += name + ": " + value + "\r\n";
  if (length) text += "Content-Length: " + std::to_string(*length) + "\r\n";
  if (is_chunked) text += "Transfer-Encoding: chunked\r\n";
  return text + (is_last ? "Connection: close\r\n\r\n" : "Connection: keep-alive\r\n\r\n");
}

// Whether a client broke the rules of HTTP. A client that has left, or was too slow, has broken none.
bool is_no_http(const Problem& problem) {
  using beast::http::error;
  return problem && problem.category() == beast::http::make_error_code(error::end_of_stream).category() &&
         problem != error::end_of_stream && problem != error::partial_message;
}

Response no_http() { return error_response(400, "This is no HTTP request.", "invalid_request_error"); }

// The length stands in front of the bytes. An empty chunk would end the stream, so no bytes make no chunk.
std::string chunk(const std::string& bytes) {
  if (bytes.empty()) return "";
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  return size + bytes + "\r\n";
}

}  // namespace

class Connection;

// The way from any thread to the server's. An exchange may outlive the server; its words then go nowhere.
class Gate {
 public:
  explicit Gate(asio::io_context& context) : context_(&context) {}
  void close() {
    const std::lock_guard lock(mutex_);
    context_ = nullptr;
  }
  void post(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    if (context_) asio::post(*context_, std::move(work));
  }

 private:
  std::mutex mutex_;
  asio::io_context* context_;  // null: the server has ended
};

// What the server's thread works with. Other threads touch only the atomic members and the gate.
class Server::State {
 public:
  State(const ServerOptions& options, Handler handler);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  uint16_t port() const { return port_; }
  void stop_listening();
  bool is_stopping() const { return is_stopping_; }

  const ServerOptions options_;
  const Handler handler_;
  asio::io_context context_{1};
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>(context_);
  std::atomic<size_t> open_ = 0;
  std::unordered_set<Connection*> connections_;  // of the server's thread

 private:
  void listen();
  asio::awaitable<void> accept();
  bool make_room();
  tcp::acceptor acceptor_{context_};
  uint16_t port_ = 0;
  size_t most_connections_ = 0;
  std::atomic<bool> is_stopping_ = false;
  std::thread thread_;
};

// One client's connection: requests one after another. Only the server's thread uses it.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Server::State& server, tcp::socket socket)
      : server_(server), stream_(std::move(socket)), news_(server.context_), look_again_(server.context_) {
    Problem problem;
    stream_.socket().set_option(tcp::no_delay(true), problem);
    const tcp::endpoint peer = stream_.socket().remote_endpoint(problem);
    client_ = problem ? "" : peer.address().to_string();
    server_.connections_.insert(this);
    ++server_.open_;
  }
  ~Connection() {
    server_.connections_.erase(this);
    --server_.open_;
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  static asio::awaitable<void> serve(std::shared_ptr<Connection> self);
  void close() {
    Problem ignored;
    stream_.socket().close(ignored);
    news_.cancel();
    look_again_.cancel();
  }
  bool is_idle() const { return is_idle_; }
  SteadyClock::time_point idle_since() const { return idle_since_; }

 private:
  void drop_line_ends();
  asio::awaitable<bool> wait_for_request();
  asio::awaitable<bool> read_and_answer();
  asio::awaitable<bool> send(std::string bytes);
  asio::awaitable<bool> refuse(Response response);
  asio::awaitable<bool> answer(Request request, bool may_stay);
  asio::awaitable<bool> pass_on(std::shared_ptr<Reply> reply, bool may_stay, bool has_body);
  asio::awaitable<bool> wait_for_news(Reply& reply, bool is_stream, bool is_chunked);
  void news_came();
  bool send_piece();
  asio::awaitable<void> linger();
  void watch_for_leaving(const std::shared_ptr<Reply>& reply);
  bool has_left();

  Server::State& server_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  asio::steady_timer news_;  // cancelled when a reply has something new
  asio::steady_timer look_again_;
  Reply* stream_of_ = nullptr;  // while its next piece is waited for
  bool is_chunked_ = false;     // that stream
  std::string unsent_;          // of a piece that the client did not take at once
  std::string client_;
  bool is_idle_ = true, is_watched_ = false;
  std::weak_ptr<Reply> watched_;  // by the wait, if there is one
  bool has_more_ = false;         // bytes came behind the request that is being answered
  SteadyClock::time_point idle_since_ = SteadyClock::now();
};

// Requests of one connection come one after another. The coroutine holds the connection, so it lives until its
// loop ends.
asio::awaitable<void> Connection::serve(std::shared_ptr<Connection> self) {
  for (bool goes_on = true; goes_on;) {
    goes_on = co_await self->wait_for_request();
    if (goes_on) goes_on = co_await self->read_and_answer();
    goes_on = goes_on && !self->server_.is_stopping();
  }
  self->close();
}

// Some clients send a line end behind a body, and RFC 9112 (2.2) asks servers to pass over it.
void Connection::drop_line_ends() {
  const auto bytes = buffer_.data();
  const std::string_view text(static_cast<const char*>(bytes.data()), bytes.size());
  buffer_.consume(std::min(text.find_first_not_of("\r\n"), text.size()));
}

// Between two requests a connection may rest for long. The head's time begins with its first byte.
asio::awaitable<bool> Connection::wait_for_request() {
  drop_line_ends();
  if (buffer_.size() > 0) co_return true;
  is_idle_ = true;
  idle_since_ = SteadyClock::now();
  stream_.expires_after(server_.options_.idle_time);
  while (buffer_.size() == 0) {
    Problem problem;
    auto place = buffer_.prepare(4096);
    const size_t got = co_await stream_.async_read_some(place, asio::redirect_error(asio::use_awaitable, problem));
    if (problem || got == 0) co_return false;
    buffer_.commit(got);
    drop_line_ends();
  }
  is_idle_ = false;
  co_return true;
}

// Sends an answer to a request that was not read to its end, so the connection ends with it.
asio::awaitable<bool> Connection::refuse(Response response) {
  std::string bytes = head_text(response, response.body.size(), false, true) + response.body;
  if (co_await send(std::move(bytes))) co_await linger();
  co_return false;
}

// Closing a socket with unread bytes resets the connection, and the client may lose the answer. So what still comes is
// read for a moment.
asio::awaitable<void> Connection::linger() {
  Problem problem;
  stream_.socket().shutdown(tcp::socket::shutdown_send, problem);
  std::string waste(kPieceBytes, 0);
  stream_.expires_after(std::chrono::seconds(2));
  for (size_t total = 0; !problem && total < 2 * server_.options_.most_body_bytes;) {
    auto place = asio::buffer(waste);
    total += co_await stream_.async_read_some(place, asio::redirect_error(asio::use_awaitable, problem));
  }
}

// Reads the head first, under its own limits of size and time. So a request that is refused by its head never sends its
// body. `Expect: 100-continue` is answered between the two. Returns whether the connection may serve another request.
asio::awaitable<bool> Connection::read_and_answer() {
  Problem problem;
  RequestParser parser;
  parser.header_limit(static_cast<uint32_t>(server_.options_.most_head_bytes));
  parser.body_limit(server_.options_.most_body_bytes);
  stream_.expires_after(server_.options_.head_time);
  co_await beast::http::async_read_header(stream_, buffer_, parser, asio::redirect_error(asio::use_awaitable, problem));
  if (problem == beast::http::error::header_limit || problem == beast::http::error::buffer_overflow) {
    Response large = error_response(
        431, "The head of a request has at most " + std::to_string(server_.options_.most_head_bytes) + " bytes.",
        "invalid_request_error");
    co_return co_await refuse(std::move(large));
  }
  const std::function<Response()> too_large = [this] {
    return error_response(
        413, "The body of a request has at most " + std::to_string(server_.options_.most_body_bytes) + " bytes.",
        "invalid_request_error");
  };
  if (problem == beast::http::error::body_limit) co_return co_await refuse(too_large());
  if (is_no_http(problem)) co_return co_await refuse(no_http());
  if (problem) co_return false;  // the client has left, or took too long

  Request request = request_of(parser, client_);
  if (std::optional<Response> refusal = refusal_of(request, server_.options_.access)) {
    for (auto& header : cors_headers(request, server_.options_.access)) refusal->headers.push_back(header);
    spdlog::info("{} {} {}: {}", printable(client_), printable(request.method), printable(request.path),
                 refusal->status);
    co_return co_await refuse(std::move(*refusal));
  }
  if (!parser.is_done() && field(parser, beast::http::field::expect) == "100-continue") {
    if (!co_await send("HTTP/1.1 100 Continue\r\n\r\n")) co_return false;
  }
  stream_.expires_after(server_.options_.body_time);
  co_await beast::http::async_read(stream_, buffer_, parser, asio::redirect_error(asio::use_awaitable, problem));
  if (problem == beast::http::error::body_limit) co_return co_await refuse(too_large());
  if (is_no_http(problem)) co_return co_await refuse(no_http());
  if (problem) co_return false;
  const bool may_stay = parser.get().keep_alive();
  request.body = std::move(parser.get().body());
  co_return co_await answer(std::move(request), may_stay);
}

// Gives the request to the handler and sends what it answers. A page asks with OPTIONS whether it may send what it
// wants to send, and that is answered here. `wake` holds the connection weakly, since a handler may keep its exchange
// for longer than the client stays.
asio::awaitable<bool> Connection::answer(Request request, bool may_stay) {
  const bool has_body = request.method != "HEAD";
  if (!has_body) request.method = "GET";
  const auto started = SteadyClock::now();
  const std::string what = printable(client_) + " " + printable(request.method) + " " + printable(request.path);
  const bool is_preflight = request.method == "OPTIONS";
  auto cors = cors_headers(request, server_.options_.access);
  std::weak_ptr<Connection> self = weak_from_this();
  const std::function<void()> wake = [gate = server_.gate_, self] {
    gate->post([self] {
      if (const auto connection = self.lock()) connection->news_came();
    });
  };
  auto reply = std::make_shared<Reply>(std::move(request), server_.options_.most_kept_bytes, wake);
  reply->set_headers(std::move(cors));
  if (is_preflight && reply->has_headers()) {
    reply->answer({204, "", "", {}});
  } else {
    server_.handler_(hand_out(reply));
  }
  has_more_ = false;
  watch_for_leaving(reply);
  const bool stays = co_await pass_on(reply, may_stay, has_body);
  reply->leave();
  spdlog::info("{}: {} in {:.1f} ms", what, reply->status(),
               std::chrono::duration<double, std::milli>(SteadyClock::now() - started).count());
  co_return stays;
}

// The client's end of the connection may stand behind bytes that are not read yet, so the system is asked for the state
// of the connection. If the system does not know, the next byte is looked at.
bool Connection::has_left() {
  const int handle = stream_.socket().native_handle();
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(handle, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) return info.tcpi_state != TCP_ESTABLISHED;
  char byte = 0;
  const ssize_t seen = recv(handle, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return seen == 0 || (seen < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

// A connection that can be read has either more requests or its end. With more requests it stays readable, so it is
// looked at from time to time. A wait may outlast its reply, and then it is that of the next one.
void Connection::watch_for_leaving(const std::shared_ptr<Reply>& reply) {
  watched_ = reply;
  if (is_watched_) return;
  is_watched_ = true;
  const auto look = [self = weak_from_this()](const Problem&) {
    const auto connection = self.lock();
    if (!connection) return;
    connection->is_watched_ = false;
    const auto waiting = connection->watched_.lock();
    if (!waiting || !connection->stream_.socket().is_open()) return;
    if (!connection->has_left()) {
      connection->has_more_ = true;
      return connection->watch_for_leaving(waiting);
    }
    waiting->leave();
    connection->news_.cancel();
  };
  if (!has_more_ && buffer_.size() == 0) return stream_.socket().async_wait(tcp::socket::wait_read, look);
  look_again_.expires_after(kLookAgain);
  look_again_.async_wait(look);
}

// A piece of a stream goes to the client at once, so that it costs one call and no timer. All else wakes pass_on().
void Connection::news_came() {
  if (!stream_of_ || !send_piece()) news_.cancel();
}

// False: there was no piece, or the client did not take all of it.
bool Connection::send_piece() {
  const std::string piece = stream_of_->take_piece();
  if (piece.empty()) return false;
  std::string bytes = is_chunked_ ? chunk(piece) : piece;
  const ssize_t sent =
      ::send(stream_.socket().native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  bytes.erase(0, static_cast<size_t>(std::max<ssize_t>(sent, 0)));
  unsent_ = std::move(bytes);
  return unsent_.empty();
}

// False: the client does not take what it gets, or the connection was closed. It may have been closed while a piece was
// written, and then nothing would end the wait.
asio::awaitable<bool> Connection::wait_for_news(Reply& reply, bool is_stream, bool is_chunked) {
  if (!stream_.socket().is_open()) co_return false;
  Problem woken;
  stream_of_ = is_stream ? &reply : nullptr;
  is_chunked_ = is_chunked;
  news_.expires_at(SteadyClock::time_point::max());
  co_await news_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  stream_of_ = nullptr;
  if (!stream_.socket().is_open()) co_return false;
  co_return unsent_.empty() || co_await send(std::exchange(unsent_, ""));
}

// Sends what the handlers give, as it comes. Without chunks a stream has no end but that of the connection, so an old
// client's connection ends with it. Returns whether the connection may serve another request.
asio::awaitable<bool> Connection::pass_on(std::shared_ptr<Reply> reply, bool may_stay, bool has_body) {
  bool is_chunked = false;
  for (;;) {
    Reply::Output output = reply->take();
    if (output.is_nothing()) {
      if (!co_await wait_for_news(*reply, has_body, is_chunked)) co_return false;
      continue;
    }
    if (output.is_broken) co_return false;
    std::string bytes;
    if (output.head) {
      is_chunked = output.is_stream && !reply->request().is_old;
      may_stay = may_stay && !server_.is_stopping() && (is_chunked || !output.is_stream);
      const auto length = output.is_stream ? std::nullopt : std::optional(output.bytes.size());
      bytes = head_text(*output.head, length, is_chunked, !may_stay);
    }
    if (has_body) bytes += is_chunked ? chunk(output.bytes) : output.bytes;
    if (output.is_end && is_chunked && has_body) bytes += "0\r\n\r\n";
    const bool is_sent = co_await send(std::move(bytes));
    if (!is_sent) co_return false;
    if (output.is_end || !has_body) co_return may_stay;  // to HEAD there is no more, also of a stream
  }
}

// Sends in pieces with a time limit for each. So a slow client that still reads is kept, and one that has stopped
// is not.
asio::awaitable<bool> Connection::send(std::string bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    Problem problem;
    stream_.expires_after(server_.options_.write_time);
    auto piece = asio::buffer(bytes.data() + sent, std::min(kPieceBytes, bytes.size() - sent));
    sent += co_await stream_.async_write_some(piece, asio::redirect_error(asio::use_awaitable, problem));
    if (problem) co_return false;
  }
  stream_.expires_never();
  co_return true;
}

Server::State::State(const ServerOptions& options, Handler handler) : options_(options), handler_(std::move(handler)) {
  most_connections_ =
      std::min(options.most_connections, descriptors_allowed() - std::min<size_t>(100, descriptors_allowed() / 2));
  listen();
  asio::co_spawn(context_, accept(), asio::detached);
  thread_ = std::thread([this] {
    for (;;) {
      try {
        context_.run();
        return;
      } catch (const std::exception& error) {  // of one connection; the others go on
        spdlog::error("a connection failed: {}", printable(error.what()));
      }
    }
  });
}

// Connections end before what they refer to: destroying the context destroys their coroutines.
Server::State::~State() {
  asio::post(context_, [this] {
    is_stopping_ = true;
    Problem ignored;
    acceptor_.close(ignored);
    for (Connection* each : connections_) each->close();
  });
  for (int i = 0; i < 100 && open_ > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  context_.stop();
  thread_.join();
  gate_->close();
}

// Common failures get a sentence with what to do. Others keep the system's message.
void Server::State::listen() {
  const std::string place = options_.host + ":" + std::to_string(options_.port);
  Problem problem;
  tcp::resolver resolver(context_);
  const auto found = resolver.resolve(options_.host, std::to_string(options_.port),
                                      tcp::resolver::passive | tcp::resolver::numeric_service, problem);
  if (problem || found.empty())
    throw Error("the server's address is not known", options_.host,
                "Give --host an address of this machine, such as 127.0.0.1");
  const tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor_.open(endpoint.protocol(), problem);
  if (!problem) acceptor_.set_option(tcp::acceptor::reuse_address(true), problem);
  if (!problem) acceptor_.bind(endpoint, problem);
  if (!problem) acceptor_.listen(asio::socket_base::max_listen_connections, problem);
  if (problem == asio::error::address_in_use)
    throw Error("the port is taken", place, "Another program listens there; end it, or choose another --port");
  if (problem == asio::error::access_denied)
    throw Error("the port may not be used", place, "Ports below 1024 need root; choose another --port");
  if (problem) throw Error("the server cannot listen: " + problem.message(), place, "Choose another --host or --port");
  port_ = acceptor_.local_endpoint().port();
}

// A full house gives the place of the connection that has rested longest. Without such a one the new client waits in
// the system's queue.
bool Server::State::make_room() {
  if (connections_.size() < most_connections_) return true;
  Connection* oldest = nullptr;
  for (Connection* each : connections_)
    if (each->is_idle() && (oldest == nullptr || each->idle_since() < oldest->idle_since())) oldest = each;
  if (oldest) oldest->close();
  return oldest != nullptr;
}

// A failure to accept is no reason to end: descriptors come back when connections end. So it waits a moment and
// tries again.
asio::awaitable<void> Server::State::accept() {
  asio::steady_timer pause(context_);
  while (acceptor_.is_open()) {
    Problem problem;
    if (make_room()) {
      tcp::socket socket(context_);
      co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, problem));
      if (!problem) {
        asio::co_spawn(context_, Connection::serve(std::make_shared<Connection>(*this, std::move(socket))),
                       asio::detached);
        continue;
      }
      if (problem == asio::error::operation_aborted) co_return;
    }
    pause.expires_after(std::chrono::milliseconds(50));  // too few descriptors, or too many connections
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, problem));
  }
}

// Idle connections end now. Others end behind the answer that they are sending.
void Server::State::stop_listening() {
  is_stopping_ = true;
  asio::post(context_, [this] {
    Problem ignored;
    acceptor_.close(ignored);
    for (Connection* each : connections_)
      if (each->is_idle()) each->close();
  });
}

Server::Server(const ServerOptions& options, Handler handler)
    : state_(std::make_unique<State>(options, std::move(handler))) {}
Server::~Server() = default;
uint16_t Server::port() const { return state_->port(); }
std::string Server::address() const {
  const std::string& host = state_->options_.host;
  return "http://" + (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" +
         std::to_string(state_->port());
}
void Server::stop_listening() { state_->stop_listening(); }
size_t Server::connections() const { return state_->open_; }

}  // namespace tandem::http
