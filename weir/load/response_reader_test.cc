#include "weir/load/response_reader.h"

#include <gtest/gtest.h>

namespace weir::load {
namespace {

struct Read {
  std::string body;
  bool done = false;
  bool keeps = false;
  int status = 0;
  std::optional<Code> fault;
};

/// The whole text, `step` bytes at a time.
Read read(std::string_view text, std::size_t step) {
  ResponseReader reader;
  Read out;
  for (std::size_t at = 0; at < text.size(); at += step) {
    std::string_view bytes = text.substr(at, step);
    while (!bytes.empty() && !reader.done()) {
      const auto piece = reader.next(bytes);
      if (!piece) {
        out.fault = piece.error().code;
        return out;
      }
      out.body += *piece;
      if (piece->empty()) break;
    }
  }
  out.done = reader.done();
  out.keeps = reader.keeps_connection();
  out.status = reader.status();
  return out;
}

constexpr std::size_t kSteps[] = {1, 2, 3, 7, 1000};

TEST(ResponseReader, ReadsABodyOfKnownLengthHoweverItIsCut) {
  for (const std::size_t step : kSteps) {
    const Read r = read("HTTP/1.1 200 OK\r\ncontent-LENGTH: 5\r\n\r\nhello", step);
    EXPECT_EQ(r.body, "hello");
    EXPECT_TRUE(r.done && r.keeps);
    EXPECT_EQ(r.status, 200);
  }
}

TEST(ResponseReader, ReadsChunksExtensionsAndTrailers) {
  for (const std::size_t step : kSteps) {
    const Read r = read(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;name=x\r\nhello\r\nA\r\n "
        "123456789\r\n"
        "0\r\nX-Trailer: 1\r\n\r\n",
        step);
    EXPECT_EQ(r.body, "hello 123456789");
    EXPECT_TRUE(r.done && r.keeps);
  }
}

TEST(ResponseReader, SkipsInterimAnswers) {
  for (const std::size_t step : kSteps) {
    const Read r =
        read("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Slow\r\nContent-Length: 2\r\n\r\nno", step);
    EXPECT_EQ(r.status, 429);
    EXPECT_EQ(r.body, "no");
  }
}

TEST(ResponseReader, WithoutALengthTheConnectionEndsTheBody) {
  ResponseReader reader;
  std::string_view bytes = "HTTP/1.0 200 OK\n\nabc";
  const auto piece = reader.next(bytes);
  ASSERT_TRUE(piece);
  EXPECT_EQ(*piece, "abc");
  EXPECT_TRUE(reader.ends_with_connection());
  EXPECT_FALSE(reader.keeps_connection());
}

TEST(ResponseReader, AnEmptyBodyIsOverWithItsHead) {
  EXPECT_TRUE(read("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 1).done);
  EXPECT_TRUE(read("HTTP/1.1 204 No\r\n\r\n", 1).done);
}

TEST(ResponseReader, ConnectionCloseIsHeard) {
  const Read r = read("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 1000);
  EXPECT_TRUE(r.done);
  EXPECT_FALSE(r.keeps);
}

TEST(ResponseReader, WhatIsNotHttpIsCorrupt) {
  for (const char* text :
       {"HELLO\r\n", "HTTP/2 200\r\n", "HTTP/1.1 abc\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n"}) {
    for (const std::size_t step : kSteps) {
      EXPECT_EQ(read(text, step).fault, Code::kCorrupt) << text << " by " << step;
    }
  }
}

TEST(ResponseReader, AHeadWithoutEndIsTooLarge) {
  const std::string text = "HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x');
  for (const std::size_t step : {1000U, 200'000U})
    EXPECT_EQ(read(text, step).fault, Code::kTooLarge);
}

}  // namespace
}  // namespace weir::load
