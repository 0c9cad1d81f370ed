#include "weir/load/echo_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <optional>
#include <string_view>
#include <thread>

namespace weir::load {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using SteadyClock = std::chrono::steady_clock;
using Tcp = asio::ip::tcp;

constexpr std::size_t kMaxRequestBytes = std::size_t{64} << 20;
constexpr std::uint32_t kMaxTokens = 1U << 20;

/// The number after `name`, or `otherwise`.
std::uint64_t number_after(std::string_view text, std::string_view name, std::uint64_t otherwise) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return otherwise;
  std::uint64_t value = otherwise;
  std::from_chars(text.data() + at + name.size(), text.data() + text.size(), value);
  return value;
}

std::string chunk(std::string_view event) {
  return fmt::format("{:x}\r\n{}\r\n", event.size(), event);
}

struct Shared {
  EchoOptions options;
  SteadyClock::time_point started;
  std::vector<EchoRecord> log;

  /// `at`, unless the server stands still then.
  [[nodiscard]] SteadyClock::time_point when(SteadyClock::time_point at) const {
    if (options.stall_at == Duration::max()) return at;
    const auto begin = started + options.stall_at;
    return at >= begin && at < begin + options.stall_for ? begin + options.stall_for : at;
  }
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Tcp::socket socket, Shared& shared)
      : socket_(std::move(socket)), timer_(socket_.get_executor()), shared_(shared) {
    ErrorCode ignored;
    socket_.set_option(Tcp::no_delay(true), ignored);
  }

  void read() {
    socket_.async_read_some(asio::buffer(buffer_),
                            [self = shared_from_this()](const ErrorCode& error, std::size_t n) {
                              if (error) return self->gone();
                              self->input_.append(self->buffer_.data(), n);
                              if (self->input_.size() > kMaxRequestBytes) return;
                              if (!self->answering_) self->take_request();
                              self->read();
                            });
  }

 private:
  void gone() {
    if (answering_ && index_) record().hung_up = true;
    timer_.cancel();
    answering_ = false;
    left_ = true;
  }

  EchoRecord& record() { return shared_.log[*index_]; }

  void take_request() {
    const std::size_t head = input_.find("\r\n\r\n");
    if (head == std::string::npos) return;
    const std::size_t size = head + 4 + number_after({input_.data(), head}, "Content-Length: ", 0);
    if (input_.size() < size) return;
    const std::string_view request(input_.data(), size);
    const std::string_view body = request.substr(head + 4);
    answering_ = true;
    if (request.starts_with("GET ")) {
      index_.reset();
      whole_answer("200 OK", R"({"object":"list","data":[{"id":"echo","object":"model"}]})");
      input_.erase(0, size);
      return;
    }
    index_ = shared_.log.size();
    shared_.log.push_back({});
    record().received = SteadyClock::now();
    prompt_tokens_ = static_cast<std::uint32_t>(std::ranges::count(body, ' ')) + 1 +
                     shared_.options.overhead_tokens;
    const bool fails =
        shared_.options.fail_every > 0 && shared_.log.size() % shared_.options.fail_every == 0;
    if (fails) {
      whole_answer("500 Internal Server Error", R"({"error":{"message":"it was asked to fail"}})");
    } else if (request.starts_with("POST /v1/embeddings")) {
      at_next(shared_.options.first, [this] {
        whole_answer("200 OK",
                     fmt::format(R"({{"object":"list","data":[{{"index":0,"embedding":[0.5]}}],)"
                                 R"("usage":{{"prompt_tokens":{}}}}})",
                                 prompt_tokens_));
      });
    } else {
      tokens_ = static_cast<std::uint32_t>(
          std::clamp<std::uint64_t>(number_after(body, "\"max_tokens\":", 1), 1, kMaxTokens));
      chat_ = request.starts_with("POST /v1/chat/");
      at_next(shared_.options.first, [this] { begin_stream(); });
    }
    input_.erase(0, size);
  }

  /// Runs `then` at `after` from the request's receipt.
  template <class Then>
  void at_next(Duration after, Then then) {
    timer_.expires_at(shared_.when(record().received + after));
    timer_.async_wait([self = shared_from_this(), then](const ErrorCode& error) {
      if (!error && !self->left_) then();
    });
  }

  void whole_answer(std::string_view status, std::string_view body) {
    output_ =
        fmt::format("HTTP/1.1 {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                    status, body.size(), body);
    if (index_) record().first = record().last = SteadyClock::now();
    write([this] { finish(); });
  }

  /// A server-sent event whose object has `members` after those that every chunk has.
  [[nodiscard]] std::string event(std::string_view members) const {
    return chunk(fmt::format(
        "data: {{\"id\":\"echo\",\"object\":\"{}\",\"created\":0,\"model\":\"echo\",{}}}\n\n",
        chat_ ? "chat.completion.chunk" : "text_completion", members));
  }

  [[nodiscard]] std::string piece() const {
    return event(chat_
                     ? R"("choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}])"
                     : R"("choices":[{"index":0,"text":" word","finish_reason":null}])");
  }

  [[nodiscard]] std::string ending() const {
    return event(chat_ ? R"("choices":[{"index":0,"delta":{},"finish_reason":"length"}])"
                       : R"("choices":[{"index":0,"text":"","finish_reason":"length"}])") +
           event(fmt::format(R"("choices":[],"usage":{{"prompt_tokens":{},"completion_tokens":{},)"
                             R"("total_tokens":{}}})",
                             prompt_tokens_, tokens_, prompt_tokens_ + tokens_)) +
           chunk("data: [DONE]\n\n") + chunk("");
  }

  void begin_stream() {
    output_ =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    if (chat_) {
      output_ += event(
          R"("choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}])");
    }
    piece_ = piece();
    record().first = SteadyClock::now();
    add_pieces();
  }

  void add_pieces() {
    const bool at_once = shared_.options.gap == Duration(0);
    do {
      output_ += piece_;
      ++record().pieces;
    } while (at_once && record().pieces < tokens_);
    record().last = SteadyClock::now();
    const bool ends = record().pieces == tokens_;
    if (ends) output_ += ending();
    write([this, ends] {
      if (ends) return finish();
      output_.clear();
      at_next(shared_.options.first + shared_.options.gap * record().pieces,
              [this] { add_pieces(); });
    });
  }

  template <class Then>
  void write(Then then) {
    asio::async_write(socket_, asio::buffer(output_),
                      [self = shared_from_this(), then](const ErrorCode& error, std::size_t) {
                        if (error || self->left_) return self->gone();
                        then();
                      });
  }

  void finish() {
    output_.clear();
    answering_ = false;
    take_request();
  }

  Tcp::socket socket_;
  asio::steady_timer timer_;
  Shared& shared_;
  std::array<char, std::size_t{16} * 1024> buffer_;
  std::string input_;
  std::string output_;
  std::string piece_;                 ///< The event of one token.
  std::optional<std::size_t> index_;  ///< In the log; none for what is not an inference.
  std::uint32_t prompt_tokens_ = 0;
  std::uint32_t tokens_ = 0;
  bool chat_ = true;
  bool answering_ = false;
  bool left_ = false;
};

}  // namespace

struct EchoServer::State {
  asio::io_context io{1};
  Tcp::acceptor acceptor{io};
  Shared shared;
  std::uint16_t port = 0;
  std::thread thread;

  void accept() {
    acceptor.async_accept([this](const ErrorCode& error, Tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error) std::make_shared<Session>(std::move(socket), shared)->read();
      accept();
    });
  }
};

EchoServer::EchoServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
EchoServer::~EchoServer() { stop(); }

Result<std::unique_ptr<EchoServer>> EchoServer::start(const EchoOptions& options) {
  auto state = std::make_unique<State>();
  state->shared.options = options;
  ErrorCode error;
  const auto address = asio::ip::make_address(options.host, error);
  const Tcp::endpoint endpoint(address, options.port);
  if (!error) state->acceptor.open(endpoint.protocol(), error);
  if (!error) state->acceptor.set_option(Tcp::acceptor::reuse_address(true), error);
  if (!error) state->acceptor.bind(endpoint, error);
  if (!error) state->acceptor.listen(4096, error);
  if (error) {
    return fail(Code::kIo, fmt::format("cannot listen on {}:{}: {}", options.host, options.port,
                                       error.message()));
  }
  state->port = state->acceptor.local_endpoint().port();
  state->shared.started = SteadyClock::now();
  state->accept();
  state->thread = std::thread([running = state.get()] { running->io.run(); });
  return std::unique_ptr<EchoServer>(new EchoServer(std::move(state)));
}

std::uint16_t EchoServer::port() const { return state_->port; }

void EchoServer::stop() {
  if (!state_->thread.joinable()) return;
  state_->io.stop();
  state_->thread.join();
}

const std::vector<EchoRecord>& EchoServer::log() const { return state_->shared.log; }

}  // namespace weir::load
