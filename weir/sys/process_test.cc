#include "weir/sys/process.h"

#include <gtest/gtest.h>

namespace weir::sys {
namespace {

ProcessSpec command(std::vector<std::string> arguments) {
  ProcessSpec spec;
  spec.arguments = std::move(arguments);
  spec.poll = std::chrono::milliseconds(10);
  return spec;
}

TEST(Process, BothStreamsAndTheExitCodeComeBack) {
  const auto result = run_process(command({"sh", "-c", "echo out; echo err >&2; exit 3"}));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->output, "out\n");
  EXPECT_EQ(result->errors, "err\n");
  EXPECT_EQ(result->exit_code, 3);
}

TEST(Process, ArgumentsReachTheProgramUntouchedByAShell) {
  const auto result = run_process(command({"printf", "%s|", "a b", "$HOME", "'\"", ""}));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->output, "a b|$HOME|'\"||");
}

TEST(Process, TheEnvironmentIsOursPlusWhatWasAdded) {
  ::setenv("WEIR_TEST_KEPT", "kept", 1);
  ::setenv("WEIR_TEST_NEW", "old", 1);
  auto spec = command({"sh", "-c", "echo $WEIR_TEST_KEPT $WEIR_TEST_NEW"});
  spec.environment = {{"WEIR_TEST_NEW", "new"}};
  const auto result = run_process(spec);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->output, "kept new\n");
}

TEST(Process, OfLongOutputTheLastBytesAreKept) {
  auto spec = command(
      {"sh", "-c", "i=0; while [ $i -lt 5000 ]; do echo 0123456789; i=$((i+1)); done; printf end"});
  spec.max_output_bytes = 100;
  const auto result = run_process(spec);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->output.size(), 100U);
  EXPECT_TRUE(result->output.ends_with("\nend"));
}

TEST(Process, AProgramThatDoesNotExistIsNotFound) {
  const auto result = run_process(command({"weir-no-such-program"}));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::kNotFound);
}

TEST(Process, ASignalIsTold) {
  const auto result = run_process(command({"sh", "-c", "kill -9 $$"}));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->exit_code, 128 + 9);
}

TEST(Process, SayingStopEndsTheChild) {
  auto spec = command({"sleep", "600"});
  spec.tick = [] { return false; };
  const auto result = run_process(spec);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::kCancelled);
}

TEST(Process, AChildThatIgnoresTheRequestIsKilled) {
  auto spec = command({"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"});
  spec.tick = [] { return false; };
  EXPECT_FALSE(run_process(spec).has_value());
}

}  // namespace
}  // namespace weir::sys
