#include "weir/server/respond.h"

#include <gtest/gtest.h>

#include "weir/server/worker.h"

namespace weir::server {
namespace {

TEST(EqualSecrets, OnlyTheSecretItselfIsEqual) {
  EXPECT_TRUE(equal_secrets("k1", "k1"));
  for (const char* given : {"", "k", "k2", "k1k1", "k11", "K1"})
    EXPECT_FALSE(equal_secrets("k1", given)) << given;
  EXPECT_FALSE(equal_secrets("", ""));
  EXPECT_FALSE(equal_secrets("", "x"));
}

TEST(AccessLine, APathCannotForgeALine) {
  http::AccessRecord record;
  record.peer = "127.0.0.1:1";
  record.method = "GET";
  record.path = "/a\n2026 forged \x1b[31m";
  record.status = 404;
  const auto line = access_line(record, 0);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_TRUE(line.starts_with("1970-01-01T00:00:00Z 127.0.0.1:1 GET /a\\x0a2026")) << line;
}

TEST(ErrorResponse, CarriesTheHeadersOfItsStatus) {
  const auto has = [](const http::Response& response, std::string_view name) {
    return std::any_of(response.headers.begin(), response.headers.end(),
                       [&](const auto& header) { return header.name == name; });
  };
  EXPECT_TRUE(has(error_response({Code::kExhausted, "x", {}}), "retry-after"));
  EXPECT_TRUE(has(error_response({Code::kUnauthenticated, "x", {}}), "www-authenticate"));
  EXPECT_FALSE(has(error_response({Code::kInvalidArgument, "x", {}}), "retry-after"));
}

TEST(Worker, RefusesWhatItsQueueCannotHold) {
  std::mutex gate;
  std::unique_lock held(gate);
  std::atomic<int> ran{0};
  {
    Worker worker(1, 2);
    const auto job = [&] {
      const std::lock_guard lock(gate);
      ++ran;
    };
    int accepted = 0;
    for (int i = 0; i < 10; ++i) accepted += worker.run(job);
    EXPECT_GE(accepted, 2);
    EXPECT_LE(accepted, 3);  // Two wait; a third only if the first already runs.
    held.unlock();
  }
  EXPECT_LE(ran, 3);
}

TEST(Worker, AJobThatThrowsEndsAlone) {
  std::atomic<bool> ran{false};
  Worker worker(1, 8);
  ASSERT_TRUE(worker.run([] { throw std::runtime_error("x"); }));
  ASSERT_TRUE(worker.run([&] { ran = true; }));
  while (!ran) std::this_thread::yield();
}

}  // namespace
}  // namespace weir::server
