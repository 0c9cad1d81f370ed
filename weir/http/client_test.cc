#include "weir/http/client.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace weir::http {
namespace {

/// A server on a free port of 127.0.0.1 that answers the n-th connection with the n-th script: raw
/// bytes, so that the malformed can be sent too. It remembers what it was asked.
class Server {
 public:
  using Script = std::function<void(int fd, const std::string& request)>;

  explicit Server(std::vector<Script> scripts) : scripts_(std::move(scripts)) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd_, 16), 0);
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  ~Server() {
    thread_.request_stop();
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    ::close(fd_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::string url(const std::string& target = "/") const {
    return "http://127.0.0.1:" + std::to_string(port_) + target;
  }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::vector<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  static Script says(std::string bytes) {
    return [bytes = std::move(bytes)](int fd, const std::string&) { write(fd, bytes); };
  }
  /// Says it, and then nothing until the client leaves.
  static Script says_and_stalls(std::string bytes) {
    return [bytes = std::move(bytes)](int fd, const std::string&) {
      write(fd, bytes);
      char byte = 0;
      while (::read(fd, &byte, 1) > 0) {
      }
    };
  }
  static void write(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }

 private:
  void serve(const std::stop_token& stop) {
    for (const auto& script : scripts_) {
      const int fd = ::accept(fd_, nullptr, nullptr);
      if (fd < 0 || stop.stop_requested()) return;
      std::string request;
      std::array<char, 4096> chunk{};
      while (!request.contains("\r\n\r\n")) {
        const ssize_t n = ::read(fd, chunk.data(), chunk.size());
        if (n <= 0) break;
        request.append(chunk.data(), static_cast<std::size_t>(n));
      }
      {
        const std::lock_guard lock(mutex_);
        asked_.push_back(request);
      }
      script(fd, request);
      ::close(fd);
    }
  }

  std::vector<Script> scripts_;
  int fd_ = -1;
  int port_ = 0;
  std::mutex mutex_;
  std::vector<std::string> asked_;
  std::jthread thread_;
};

ClientRequest get(std::string url) {
  ClientRequest request;
  request.url = std::move(url);
  return request;
}
Result<ClientResponse> fetch(const std::string& url, ClientOptions options = {}) {
  return Client(std::move(options)).send(get(url));
}
Code code_of(const Result<ClientResponse>& result) {
  return result ? Code::kInternal : result.error().code;
}

TEST(Client, AnAnswerWithALengthIsReadWhole) {
  Server server({Server::says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello")});
  const auto response = fetch(server.url("/p?q"));
  ASSERT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "hello");
  EXPECT_EQ(response->headers.find("x-a"), "b");
  EXPECT_TRUE(server.asked()[0].starts_with("GET /p?q HTTP/1.1\r\n")) << server.asked()[0];
  EXPECT_TRUE(server.asked()[0].contains("Host: 127.0.0.1:" + std::to_string(server.port())));
}

TEST(Client, AChunkedAnswerAndOneThatEndsWithTheConnectionAreRead) {
  Server server({Server::says("HTTP/1.1 200 OK\r\nTransfer-Encoding: "
                              "chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"),
                 Server::says("HTTP/1.0 200 OK\r\n\r\nuntil the end")});
  EXPECT_EQ(fetch(server.url())->body, "abcde");
  EXPECT_EQ(fetch(server.url())->body, "until the end");
}

TEST(Client, ASinkGetsTheBodyOfSuccessAndNotOfFailure) {
  Server server({Server::says("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"),
                 Server::says("HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno")});
  std::string taken;
  ClientHandlers handlers;
  handlers.body = [&](std::string_view piece) {
    taken += piece;
    return Status{};
  };
  const Client client(ClientOptions{});
  EXPECT_TRUE(client.send(get(server.url()), handlers)->body.empty());
  EXPECT_EQ(taken, "yes");
  EXPECT_EQ(client.send(get(server.url()), handlers)->body, "no");
  EXPECT_EQ(taken, "yes");
}

TEST(Client, AnErrorOfTheSinkEndsTheExchangeWithIt) {
  Server server({Server::says("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes")});
  ClientHandlers handlers;
  handlers.body = [](std::string_view) -> Status { return fail(Code::kExhausted, "full"); };
  EXPECT_EQ(code_of(Client(ClientOptions{}).send(get(server.url()), handlers)), Code::kExhausted);
}

TEST(Client, ACutBodyGivesWhatCameAndThenSaysSo) {
  Server server({Server::says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")});
  std::string taken;
  ClientHandlers handlers;
  handlers.body = [&](std::string_view piece) {
    taken += piece;
    return Status{};
  };
  EXPECT_EQ(code_of(Client(ClientOptions{}).send(get(server.url()), handlers)), Code::kUnavailable);
  EXPECT_EQ(taken, "half");
}

TEST(Client, AHeadHasALengthAndNoBody) {
  Server server({Server::says("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")});
  auto request = get(server.url());
  request.method = "HEAD";
  const auto response = Client(ClientOptions{}).send(request);
  ASSERT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(response->headers.find("Content-Length"), "1000");
}

TEST(Client, APostSendsItsBody) {
  Server server({Server::says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")});
  auto request = get(server.url());
  request.method = "POST";
  request.body = "payload";
  ASSERT_TRUE(Client(ClientOptions{}).send(request).has_value());
  EXPECT_TRUE(server.asked()[0].contains("Content-Length: 7\r\n"));
}

TEST(Client, InterimAnswersArePassedOver) {
  Server server(
      {Server::says("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: "
                    "2\r\n\r\nok")});
  EXPECT_EQ(fetch(server.url())->body, "ok");
}

TEST(Client, ARedirectToAnotherOriginLosesTheCredentialsAndKeepsTheRest) {
  Server target({Server::says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")});
  Server server(
      {Server::says("HTTP/1.1 302 Found\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n"),
       Server::says("HTTP/1.1 307 Moved\r\nLocation: " + target.url("/third") + "\r\n\r\n")});
  auto request = get(server.url("/first"));
  request.headers.add("Authorization", "Bearer secret");
  request.headers.add("Range", "bytes=5-");
  const auto response = Client(ClientOptions{}).send(request);
  ASSERT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(response->url, target.url("/third"));
  EXPECT_TRUE(server.asked()[1].contains("Bearer secret"));
  EXPECT_FALSE(target.asked()[0].contains("secret"));
  EXPECT_TRUE(target.asked()[0].contains("Range: bytes=5-"));
}

TEST(Client, ARedirectElsewhereIsTheAnswerWhenOnlyTheSameOriginIsFollowed) {
  Server server(
      {Server::says("HTTP/1.1 307 Moved\r\nLocation: /b\r\n\r\n"),
       Server::says(
           "HTTP/1.1 302 Found\r\nX-Linked-Size: 7\r\nLocation: http://127.0.0.1:1/\r\n\r\n")});
  ClientOptions options;
  options.redirects = Redirects::kSameOrigin;
  const auto response = fetch(server.url("/a"), options);
  ASSERT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(response->status, 302);
  EXPECT_EQ(response->headers.find("x-linked-size"), "7");
}

TEST(Client, ALoopOfRedirectsEnds) {
  const auto loop = Server::says("HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n");
  Server server({loop, loop, loop, loop});
  ClientOptions options;
  options.max_redirects = 3;
  EXPECT_EQ(code_of(fetch(server.url(), options)), Code::kCorrupt);
}

TEST(Client, ABadOrMissingLocationIsOneClearError) {
  Server server({Server::says("HTTP/1.1 302 Found\r\nLocation: ftp://x/\r\n\r\n"),
                 Server::says("HTTP/1.1 302 Found\r\n\r\n")});
  EXPECT_EQ(code_of(fetch(server.url())), Code::kInvalidArgument);
  EXPECT_EQ(code_of(fetch(server.url())), Code::kCorrupt);
}

TEST(Client, WhatIsNotHttpIsCorrupt) {
  Server server({Server::says("SSH-2.0-OpenSSH\r\n\r\n"), Server::says("HTTP/1.1 2x0 OK\r\n\r\n"),
                 Server::says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
                 Server::says("")});
  EXPECT_EQ(code_of(fetch(server.url())), Code::kCorrupt);
  EXPECT_EQ(code_of(fetch(server.url())), Code::kCorrupt);
  EXPECT_EQ(code_of(fetch(server.url())), Code::kCorrupt);
  EXPECT_EQ(code_of(fetch(server.url())), Code::kUnavailable);
}

TEST(Client, HeadersAndBodiesAreBounded) {
  const std::string big(100'000, 'x');
  Server server({Server::says("HTTP/1.1 200 OK\r\nX: " + big + "\r\n\r\n"),
                 Server::says("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + big),
                 Server::says("HTTP/1.1 500 No\r\nContent-Length: 100000\r\n\r\n" + big)});
  ClientOptions options;
  options.max_body_bytes = 1000;
  EXPECT_EQ(code_of(fetch(server.url(), options)), Code::kTooLarge);
  EXPECT_EQ(code_of(fetch(server.url(), options)), Code::kTooLarge);
  const auto error = fetch(server.url(), options);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->body.size(), 64U * 1024);
}

TEST(Client, SilenceEndsAtTheIdleTimeout) {
  Server server({Server::says_and_stalls(""),
                 Server::says_and_stalls("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")});
  ClientOptions options;
  options.idle = std::chrono::milliseconds(150);
  EXPECT_EQ(code_of(fetch(server.url(), options)), Code::kDeadline);
  EXPECT_EQ(code_of(fetch(server.url(), options)), Code::kDeadline);
}

TEST(Client, TheTotalTimeoutEndsAnAnswerThatDrips) {
  std::atomic<bool> gone = false;
  Server server({[&](int fd, const std::string&) {
    Server::write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
    pollfd left{fd, POLLIN, 0};
    while (::poll(&left, 1, 20) == 0) Server::write(fd, "x");
    gone = true;
  }});
  ClientOptions options;
  options.total = std::chrono::milliseconds(300);
  EXPECT_EQ(code_of(fetch(server.url(), options)), Code::kDeadline);
  while (!gone) std::this_thread::yield();
}

TEST(Client, CancellingEndsAWait) {
  Server server({Server::says_and_stalls("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")});
  ClientHandlers handlers;
  handlers.cancelled = [] { return true; };
  EXPECT_EQ(code_of(Client(ClientOptions{}).send(get(server.url()), handlers)), Code::kCancelled);
}

TEST(Client, NobodyListeningAndNoSuchNameAreUnavailable) {
  std::string url;
  {
    url = Server({}).url();
  }
  EXPECT_EQ(code_of(fetch(url)), Code::kUnavailable);
  EXPECT_EQ(code_of(fetch("http://no-such-host.invalid/")), Code::kUnavailable);
}

TEST(Client, AHeaderCannotSmuggleAnother) {
  auto request = get("http://127.0.0.1:1/");
  request.headers.add("Authorization", "Bearer x\r\nEvil: y");
  const auto result = Client(ClientOptions{}).send(request);
  EXPECT_EQ(code_of(result), Code::kInvalidArgument);
  EXPECT_FALSE(result.error().message.contains("Bearer"));
}

TEST(Client, APlainRequestThroughAProxyNamesTheWholeUrl) {
  Server proxy({Server::says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")});
  ClientOptions options;
  options.proxy.http = "http://me:p%40ss@127.0.0.1:" + std::to_string(proxy.port());
  ASSERT_EQ(fetch("http://hub.invalid/x", options)->body, "ok");
  EXPECT_TRUE(proxy.asked()[0].starts_with("GET http://hub.invalid/x HTTP/1.1\r\n"));
  EXPECT_TRUE(proxy.asked()[0].contains("Proxy-Authorization: Basic bWU6cEBzcw==\r\n"));  // me:p@ss
}

TEST(Client, AnHttpsRequestAsksTheProxyForATunnel) {
  Server proxy({Server::says("HTTP/1.1 407 Who\r\n\r\n"), Server::says("HTTP/1.1 502 No\r\n\r\n"),
                Server::says("HTTP/1.1 200 OK\r\n\r\nnot TLS at all")});
  ClientOptions options;
  options.proxy.https = "127.0.0.1:" + std::to_string(proxy.port());
  EXPECT_EQ(code_of(fetch("https://hub.invalid/x", options)), Code::kUnauthenticated);
  EXPECT_EQ(code_of(fetch("https://hub.invalid/x", options)), Code::kUnavailable);
  EXPECT_FALSE(fetch("https://hub.invalid/x", options).has_value());
  EXPECT_TRUE(proxy.asked()[0].starts_with("CONNECT hub.invalid:443 HTTP/1.1\r\n"));
}

TEST(Proxy, NoProxyKnowsNamesPortsAddressesAndNetworks) {
  const auto direct = [](const std::string& no_proxy, const std::string& url) {
    return !proxy_for({"http://p:1", "http://p:1", no_proxy}, parse_url(url).value())
                .value()
                .has_value();
  };
  EXPECT_FALSE(direct("", "https://a.example/"));
  EXPECT_TRUE(direct("*", "https://a.example/"));
  EXPECT_TRUE(direct("b, example", "https://a.example/"));
  EXPECT_TRUE(direct(".example", "https://a.example/"));
  EXPECT_TRUE(direct("*.example", "https://a.example/"));
  EXPECT_FALSE(direct("ample", "https://a.example/"));
  EXPECT_TRUE(direct("a.example:443", "https://a.example/"));
  EXPECT_FALSE(direct("a.example:80", "https://a.example/"));
  EXPECT_TRUE(direct("10.0.0.0/8", "http://10.1.2.3/"));
  EXPECT_FALSE(direct("10.0.0.0/8", "http://11.1.2.3/"));
  EXPECT_TRUE(direct("fd00::/8", "http://[fd00::1]/"));
  EXPECT_TRUE(direct("", "http://127.0.0.1/"));
  EXPECT_TRUE(direct("", "http://localhost/"));
}

TEST(Proxy, ABadSettingIsNamedWithoutItsCredentials) {
  const auto url = parse_url("http://x/").value();
  const auto bad = proxy_for({"http://me:secret@:1", "", ""}, url);
  ASSERT_FALSE(bad.has_value());
  EXPECT_TRUE(bad.error().message.contains("HTTP_PROXY"));
  EXPECT_FALSE(bad.error().message.contains("secret"));
  EXPECT_EQ(proxy_for({"https://p:1", "", ""}, url).error().code, Code::kUnsupported);
}

}  // namespace
}  // namespace weir::http
