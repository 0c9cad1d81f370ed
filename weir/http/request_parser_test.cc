#include "weir/http/request_parser.h"

#include <gtest/gtest.h>

#include <random>

namespace weir::http {
namespace {

// The tiny language: read(bytes, seed) parses one request fed in cuts drawn from seed (0: at once)
// and says "METHOD path?query body=..", "STATUS" of a fault, or "more".
std::string read(std::string_view bytes, unsigned seed = 0, ParserLimits limits = {}) {
  RequestParser parser(limits);
  std::mt19937 random(seed);
  std::string inbox;
  std::size_t given = 0;
  while (given < bytes.size() && !parser.done()) {
    const std::size_t cut = seed == 0 ? bytes.size() : 1 + random() % 7;
    inbox += bytes.substr(given, cut);
    given += std::min(cut, bytes.size() - given);
    const auto taken = parser.feed(inbox);
    if (!taken) return std::to_string(taken.error().status);
    inbox.erase(0, *taken);
  }
  if (!parser.done()) return "more";
  const Request r = parser.take();
  return r.method + " " + r.path + (r.query.empty() ? "" : "?" + r.query) +
         (r.body.empty() ? "" : " body=" + r.body) + (r.keep_alive ? "" : " close");
}

std::string post(std::string_view headers, std::string_view body) {
  return "POST /x HTTP/1.1\r\nHost: h\r\n" + std::string(headers) + "\r\n" + std::string(body);
}

TEST(RequestParser, ReadsTheSameInAnyCuts) {
  const std::pair<std::string, std::string> cases[] = {
      {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET /"},
      {"\r\n\r\nGET /a%20b?q=1 HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a b?q=1"},
      {"GET http://h:1/p HTTP/1.1\r\nHost: h\r\n\r\n", "GET /p"},
      {"GET / HTTP/1.0\r\n\r\n", "GET / close"},
      {"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "GET / close"},
      {post("Content-Length: 5\r\n", "hello"), "POST /x body=hello"},
      {post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"), "POST /x body=hello"},
      {post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n2;e=v\r\nde\r\n0\r\n\r\n"),
       "POST /x body=abcde"},
      {post("Transfer-Encoding: chunked\r\n", "0\r\n\r\n"), "POST /x"},
      {post("Transfer-Encoding: chunked\r\n", "1\r\na\r\n0\r\nTrailer: x\r\n\r\n"),
       "POST /x body=a"},
      {"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "OPTIONS *"},
  };
  for (const auto& [bytes, wanted] : cases) {
    for (unsigned seed = 0; seed < 60; ++seed)
      EXPECT_EQ(read(bytes, seed), wanted) << bytes << seed;
  }
}

TEST(RequestParser, WhatTwoParsersCouldReadDifferentlyIsRefused) {
  const std::pair<std::string, std::string> cases[] = {
      {post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello!"), "400"},
      {post("Content-Length: 5, 6\r\n", "hello!"), "400"},
      {post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), "400"},
      {post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"), "400"},
      {post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), "400"},
      {post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), "501"},
      {post("Transfer-Encoding: identity\r\n", "hello"), "501"},
      {post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), "501"},
      {post("Content-Length: -1\r\n", ""), "400"},
      {post("Content-Length: +5\r\n", "hello"), "400"},
      {post("Content-Length: 0x5\r\n", "hello"), "400"},
      {post("Content-Length: 99999999999999999999999\r\n", ""), "400"},
      {post("Content-Length : 5\r\n", "hello"), "400"},
      {"POST /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
      {"GET / HTTP/1.1\r\nHost: h\n\n", "400"},
      {"GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n", "400"},
      {"GET / HTTP/1.1\r\n\r\n", "400"},
      {"GET / HTTP/1.1\r\nHost: h\r\nbad header\r\n\r\n", "400"},
      {"GET / HTTP/1.1\r\nHost: h\r\nx: a\x01\x62\r\n\r\n", "400"},
      {post("Transfer-Encoding: chunked\r\n", "x\r\n"), "400"},
      {post("Transfer-Encoding: chunked\r\n", "3\r\nabcd\r\n0\r\n\r\n"), "400"},
      {post("Transfer-Encoding: chunked\r\n", "FFFFFFFFFFFFFFFFF\r\n"), "400"},
  };
  for (const auto& [bytes, wanted] : cases) {
    for (unsigned seed = 0; seed < 20; ++seed)
      EXPECT_EQ(read(bytes, seed), wanted) << bytes << seed;
  }
}

TEST(RequestParser, NonsenseIsAFault) {
  for (const char* bytes :
       {"hello\r\n\r\n", "GET / HTTP/1.1\nHost: h\n\n", "GET\r\n\r\n",
        "GET / HTTP/9.9\r\nHost: h\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n",
        "G\xC3\xA9T / HTTP/1.1\r\nHost: h\r\n\r\n", "GET example HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", "\x16\x03\x01\x02\x00\x01",
        "GET / HTTP/2.0\r\nHost: h\r\n\r\n"}) {
    const auto outcome = read(bytes);
    EXPECT_TRUE(outcome == "400" || outcome == "505") << bytes << " -> " << outcome;
  }
}

TEST(RequestParser, EveryPartIsBounded) {
  ParserLimits limits;
  limits.header_bytes = 1000;
  limits.body_bytes = 100;
  EXPECT_EQ(read("GET /" + std::string(2000, 'a'), 0, limits), "431");
  EXPECT_EQ(
      read("GET / HTTP/1.1\r\nHost: h\r\nx: " + std::string(2000, 'a') + "\r\n\r\n", 3, limits),
      "431");
  std::string many = "GET / HTTP/1.1\r\nHost: h\r\n";
  for (int i = 0; i < 200; ++i) many += "x: y\r\n";
  for (unsigned seed = 0; seed < 9; ++seed) EXPECT_EQ(read(many + "\r\n", seed, limits), "431");
  EXPECT_EQ(read(post("Content-Length: 101\r\n", ""), 0, limits), "413");
  EXPECT_EQ(read(post("Content-Length: 100\r\n", ""), 0, limits), "more");
  std::string chunks;
  for (int i = 0; i < 11; ++i) chunks += "a\r\n0123456789\r\n";
  EXPECT_EQ(read(post("Transfer-Encoding: chunked\r\n", chunks), 0, limits), "413");
  const auto endless = "1;" + std::string(5000, 'e');
  EXPECT_NE(read(post("Transfer-Encoding: chunked\r\n", endless), 5, limits), "more");
  const auto trailers = "0\r\nt: " + std::string(5000, 'e');
  EXPECT_NE(read(post("Transfer-Encoding: chunked\r\n", trailers), 5, limits), "more");
}

TEST(RequestParser, ExpectationsAreKnown) {
  RequestParser parser({});
  ASSERT_TRUE(parser.feed(post("Content-Length: 5\r\nExpect: 100-continue\r\n", "")).has_value());
  EXPECT_TRUE(parser.has_head());
  EXPECT_TRUE(parser.expects_continue());
  EXPECT_EQ(read(post("Expect: a-pony\r\n", "")), "417");
}

TEST(RequestParser, PipelinedRequestsAreLeftToTheNextParser) {
  const std::string two = "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n";
  RequestParser parser({});
  const auto taken = parser.feed(two);
  ASSERT_TRUE(taken && parser.done());
  EXPECT_EQ(parser.take().path, "/1");
  EXPECT_EQ(read(two.substr(*taken)), "GET /2");
}

}  // namespace
}  // namespace weir::http
