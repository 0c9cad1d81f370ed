#include "weir/http/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <future>
#include <mutex>
#include <thread>

namespace weir::http {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

// The tiny language: a House is a server whose paths do known things; a Wire is a raw socket to it.
class Wire {
 public:
  explicit Wire(std::uint16_t port, int receive_buffer = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    timeval limit{20, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire() { close(); }

  bool connected() const { return connected_; }
  Wire& send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) break;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return *this;
  }
  /// Until `mark` has come (and what came with it), or the end.
  std::string until(std::string_view mark) {
    std::string got;
    char buffer[4096];
    while (got.find(mark) == std::string::npos) {
      const auto n = ::recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) break;
      got.append(buffer, static_cast<std::size_t>(n));
    }
    return got;
  }
  std::string all() { return until("\x01never"); }
  void half_close() { ::shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
  bool connected_ = false;
};

std::string get(std::string_view path, std::string_view more = {}) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" + std::string(more) + "\r\n";
}

class House {
 public:
  explicit House(ServerOptions options = {}) {
    options.error_body = [](int status, std::string_view message) {
      return "{" + std::to_string(status) + ":" + std::string(message) + "}";
    };
    options.log = [this](const AccessRecord& record) {
      const std::lock_guard lock(mutex_);
      log_.push_back(record);
    };
    auto started = Server::start(std::move(options),
                                 [this](std::shared_ptr<Exchange> e) { handle(std::move(e)); });
    EXPECT_TRUE(started.has_value());
    server_ = std::move(*started);
  }
  ~House() {
    release_held();
    server_.reset();
  }

  Server& server() { return *server_; }
  std::uint16_t port() const { return server_->port(); }
  std::string ask(std::string_view bytes) { return Wire(port()).send(bytes).all(); }

  std::shared_ptr<Exchange> held() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 20s, [&] { return !held_.empty(); });
    if (held_.empty()) return nullptr;
    auto first = std::move(held_.front());
    held_.pop_front();
    return first;
  }
  bool wait_gone(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&] { return gone_ >= count; });
  }
  std::deque<AccessRecord> log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  void release_held() {
    std::deque<std::shared_ptr<Exchange>> held;
    const std::lock_guard lock(mutex_);
    held.swap(held_);
  }

 private:
  void handle(std::shared_ptr<Exchange> exchange) {
    const std::string path = exchange->request().path;
    if (path == "/echo") {
      Response response;
      response.content_type = "text/plain";
      response.body = exchange->request().method + ":" + exchange->request().body;
      exchange->respond(std::move(response));
    } else if (path == "/throw") {
      throw std::runtime_error("a handler's fault");
    } else if (path == "/stream") {
      exchange->start_stream({200, "text/event-stream", {}, "one"});
      exchange->write("two");
      exchange->end();
    } else if (path == "/hold" || path == "/hold-stream") {
      if (path == "/hold-stream") exchange->start_stream({200, "text/event-stream", {}, "begun"});
      exchange->on_gone([this] {
        const std::lock_guard lock(mutex_);
        ++gone_;
        changed_.notify_all();
      });
      const std::lock_guard lock(mutex_);
      held_.push_back(std::move(exchange));
      changed_.notify_all();
    }  // Anything else: dropped.
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Exchange>> held_;
  int gone_ = 0;
  std::deque<AccessRecord> log_;
  std::unique_ptr<Server> server_;
};

void expect_books(const Server& server) {
  const auto s = server.stats();
  EXPECT_EQ(s.requests, s.answered + s.gone + s.active);
}

TEST(Server, AnswersAndKeepsTheConnection) {
  House house;
  Wire wire(house.port());
  wire.send(get("/echo"));
  const auto first = wire.until("GET:");
  EXPECT_TRUE(first.starts_with("HTTP/1.1 200 OK\r\n")) << first;
  EXPECT_NE(first.find("content-length: 4\r\n"), std::string::npos);
  EXPECT_NE(first.find("x-request-id: req-"), std::string::npos);
  wire.send(get("/echo", "Connection: close\r\nX-Request-Id: mine-1\r\n"));
  const auto second = wire.all();
  EXPECT_NE(second.find("connection: close"), std::string::npos);
  EXPECT_NE(second.find("x-request-id: mine-1\r\n"), std::string::npos);
}

TEST(Server, AnInsaneRequestIdIsReplaced) {
  House house;
  const auto answer =
      house.ask(get("/echo", "Connection: close\r\nX-Request-Id: a b;<script>\r\n"));
  EXPECT_NE(answer.find("x-request-id: req-"), std::string::npos);
}

TEST(Server, PipelinedRequestsAreAnsweredInOrder) {
  House house;
  const auto answers = house.ask(
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n1" + get("/stream") +
      "POST /echo HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1\r\n\r\n3");
  const auto a = answers.find("POST:1");
  const auto b = answers.find("3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n");
  const auto c = answers.find("POST:3");
  ASSERT_NE(a, std::string::npos) << answers;
  ASSERT_NE(b, std::string::npos) << answers;
  ASSERT_NE(c, std::string::npos) << answers;
  EXPECT_TRUE(a < b && b < c);
}

TEST(Server, HeadHasTheHeadersAndNoBody) {
  House house;
  const auto answer = house.ask("HEAD /echo HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_NE(answer.find("content-length: 5\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST(Server, OldClientsGetAStreamThatEndsWithTheConnection) {
  House house;
  const auto answer = house.ask("GET /stream HTTP/1.0\r\n\r\n");
  EXPECT_EQ(answer.find("transfer-encoding"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\nonetwo")) << answer;
}

TEST(Server, AClientThatAsksMayContinue) {
  House house;
  Wire wire(house.port());
  wire.send(
      "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: "
      "close\r\n\r\n");
  EXPECT_EQ(wire.until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_TRUE(wire.send("ok").all().ends_with("POST:ok"));
}

TEST(Server, TooLargeABodyIsToldBeforeItIsSent) {
  ServerOptions options;
  options.limits.body_bytes = 1000;
  House house(options);
  const auto answer = house.ask("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 413 ")) << answer;
}

TEST(Server, AnAnswerReachesAClientThatIsStillSending) {
  ServerOptions options;
  options.limits.body_bytes = 1000;
  House house(options);
  const auto answer = house.ask("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 500000\r\n\r\n" +
                                std::string(500000, 'x'));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 413 ")) << answer.substr(0, 100);
}

TEST(Server, MalformedRequestsAreAnsweredAndClosed) {
  House house;
  for (const std::string bytes :
       {"\r\n\r\nnonsense\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x00\xff"}) {
    const auto answer = house.ask(bytes);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
    EXPECT_NE(answer.find("connection: close"), std::string::npos);
    EXPECT_NE(answer.find("{400:"), std::string::npos);
  }
  EXPECT_TRUE(house.ask(get("/echo", "Connection: close\r\n")).ends_with("GET:"));
}

TEST(Server, ASlowClientHasUntilTheDeadlineAndNotLonger) {
  ServerOptions options;
  options.header_timeout = 200ms;
  House house(options);
  Wire slow(house.port());
  std::jthread drip([&slow](const std::stop_token& stop) {
    slow.send("GET / HTTP/1.1\r\n");
    for (int i = 0; i < 1000 && !stop.stop_requested(); ++i) {
      slow.send("x: y\r\n");  // Each byte would renew a naive time-out.
      std::this_thread::sleep_for(10ms);
    }
  });
  EXPECT_TRUE(slow.until("\r\n\r\n").starts_with("HTTP/1.1 408 "));
  Wire silent(house.port());
  EXPECT_EQ(silent.all(), "");
}

TEST(Server, ARequestCutShortIsToldSo) {
  House house;
  Wire wire(house.port());
  wire.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc").half_close();
  EXPECT_TRUE(wire.all().starts_with("HTTP/1.1 400 "));
}

TEST(Server, AClientThatClosesItsSideAfterItsRequestGetsAnAnswerThatIsReady) {
  House house;
  Wire wire(house.port());
  wire.send(get("/echo")).half_close();
  EXPECT_TRUE(wire.all().ends_with("GET:"));
}

TEST(Server, TheClientLeavingIsNoticedWhileNothingIsWritten) {
  House house;
  for (const char* path : {"/hold", "/hold-stream"}) {
    Wire wire(house.port());
    wire.send(get(path));
    const auto exchange = house.held();
    ASSERT_TRUE(exchange);
    EXPECT_FALSE(exchange->gone());
    wire.close();
    ASSERT_TRUE(house.wait_gone(path == std::string("/hold") ? 1 : 2));
    EXPECT_TRUE(exchange->gone());
    exchange->post([exchange] { exchange->write("to nobody"); });
  }
  EXPECT_TRUE(house.server().wait_idle(20s));
  EXPECT_EQ(house.server().stats().gone, 2U);
  expect_books(house.server());
}

TEST(Server, ADroppedOrThrownHandlerAnswers500) {
  House house;
  for (const char* path : {"/nothing", "/throw"}) {
    const auto answer = house.ask(get(path, "Connection: close\r\n"));
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 ")) << answer;
  }
  expect_books(house.server());
}

TEST(Server, ABrokenStreamIsSeenToBeBroken) {
  House house;
  Wire wire(house.port());
  wire.send(get("/hold-stream"));
  auto exchange = house.held();
  ASSERT_TRUE(exchange);
  exchange->post([exchange] { exchange->fail(); });
  const auto answer = wire.all();
  EXPECT_NE(answer.find("begun"), std::string::npos);
  EXPECT_FALSE(answer.ends_with("0\r\n\r\n"));
}

TEST(Server, AStalledReaderHoldsBackOnlyItselfAndIsDropped) {
  ServerOptions options;
  options.write_timeout = 300ms;
  options.send_buffer_bytes = 4096;
  House house(options);
  Wire stalled(house.port(), 4096);
  stalled.send(get("/hold-stream"));
  auto exchange = house.held();
  ASSERT_TRUE(exchange);
  std::promise<std::size_t> unsent;
  exchange->post([&, exchange] {
    exchange->write(std::string(1 << 20, 'x'));
    unsent.set_value(exchange->unsent_bytes());
  });
  EXPECT_GT(unsent.get_future().get(), Exchange::kHighWater);
  EXPECT_TRUE(house.ask(get("/echo", "Connection: close\r\n")).ends_with("GET:"));
  EXPECT_TRUE(house.wait_gone(1)) << "the stalled client is dropped";
  expect_books(house.server());
}

TEST(Server, AWriterIsToldWhenItsClientHasCaughtUp) {
  ServerOptions options;
  options.send_buffer_bytes = 4096;
  House house(options);
  Wire slow(house.port(), 4096);
  slow.send(get("/hold-stream"));
  auto exchange = house.held();
  ASSERT_TRUE(exchange);
  std::promise<std::size_t> caught_up;
  exchange->post([&, exchange] {
    exchange->write(std::string(1 << 20, 'x'));
    exchange->on_writable([&, exchange] {
      caught_up.set_value(exchange->unsent_bytes());
      exchange->end();
    });
  });
  const auto answer = slow.until("\r\n0\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("\r\n0\r\n\r\n"));
  EXPECT_LE(caught_up.get_future().get(), Exchange::kLowWater);
}

TEST(Server, OneConnectionTooManyIsToldToComeBack) {
  ServerOptions options;
  options.max_connections = 2;
  House house(options);
  Wire a(house.port());
  Wire b(house.port());
  a.send(get("/echo")).until("GET:");
  b.send(get("/echo")).until("GET:");
  Wire c(house.port());
  const auto answer = c.all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
  EXPECT_NE(answer.find("retry-after: "), std::string::npos);
  a.send(get("/echo"));
  EXPECT_TRUE(a.until("GET:").ends_with("GET:"));
}

TEST(Server, DrainingStopsAcceptingAndFinishesWhatRuns) {
  House house;
  Wire running(house.port());
  running.send(get("/hold-stream"));
  auto exchange = house.held();
  ASSERT_TRUE(exchange);
  Wire idle(house.port());
  idle.send(get("/echo")).until("GET:");
  house.server().drain();
  idle.send(get("/echo"));
  EXPECT_NE(idle.all().find("connection: close"), std::string::npos);
  EXPECT_FALSE(house.server().wait_idle(10ms));
  exchange->post([exchange] {
    exchange->write("last words");
    exchange->end();
  });
  exchange.reset();
  EXPECT_NE(running.until("0\r\n\r\n").find("last words"), std::string::npos);
  EXPECT_TRUE(house.server().wait_idle(20s));
  Wire late(house.port());
  EXPECT_FALSE(late.connected());
}

TEST(Server, APortInUseSaysHowToFindTheHolder) {
  House house;
  ServerOptions options;
  options.port = house.port();
  const auto second = Server::start(options, [](const std::shared_ptr<Exchange>&) {});
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().message.find(std::to_string(house.port())), std::string::npos);
  EXPECT_NE(second.error().message.find("ss -ltnp"), std::string::npos);
}

TEST(Server, AWrongHostIsRefused) {
  ServerOptions options;
  options.host = "256.1.1.1";
  EXPECT_FALSE(Server::start(options, [](const std::shared_ptr<Exchange>&) {}).has_value());
}

TEST(Server, StoppingTellsEveryHandler) {
  auto house = std::make_unique<House>();
  Wire wire(house->port());
  wire.send(get("/hold"));
  auto exchange = house->held();
  ASSERT_TRUE(exchange);
  house->release_held();
  house.reset();
  EXPECT_TRUE(exchange->gone());
  exchange->post([] { FAIL() << "nothing runs after the server"; });
  exchange.reset();
  EXPECT_EQ(wire.all(), "");
}

TEST(Server, AThousandConnectionsThatComeAndGoLeaveNothing) {
  House house;
  for (int i = 0; i < 1000; ++i) {
    Wire wire(house.port());
    if (i % 3 == 0) wire.send("GET /ho");
    if (i % 3 == 1) wire.send(get("/hold"));
  }
  EXPECT_TRUE(house.ask(get("/echo", "Connection: close\r\n")).ends_with("GET:"));
  for (int i = 0; i < 2000 && house.server().stats().open > 0; ++i)
    std::this_thread::sleep_for(5ms);
  EXPECT_EQ(house.server().stats().open, 0U);
  expect_books(house.server());
}

TEST(Server, EachAnswerIsLoggedOnce) {
  House house;
  house.ask(get("/echo", "Connection: close\r\n"));
  house.ask("garbage\r\n\r\n");
  for (int i = 0; i < 2000 && house.log().size() < 2; ++i) std::this_thread::sleep_for(5ms);
  const auto log = house.log();
  ASSERT_EQ(log.size(), 2U);
  EXPECT_EQ(log[0].path, "/echo");
  EXPECT_EQ(log[0].status, 200);
  EXPECT_GT(log[0].bytes, 50U);
  EXPECT_EQ(log[1].status, 400);
}

}  // namespace
}  // namespace weir::http
