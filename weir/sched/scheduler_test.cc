#include "weir/sched/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "weir/sched/test_drive.h"

namespace weir::sched {
namespace {

using namespace std::chrono_literals;
using policy::TenantId;

Options pages(std::uint32_t n) {
  Options o;
  o.ledger.units = n;
  return o;
}

TEST(Scheduler, ContinuousBatchingEndsEachAnswerAtItsOwnLength) {
  // The mission's worked figure: 50/200/100/150 tokens at 20 ms a step. Static batching ends all at
  // 4000 ms (waste 1 - mean/max = 37.5 %); continuous ends them at 1000/4000/2000/3000 ms, 2500 ms
  // on average.
  Drive drive(pages(256));
  const std::vector<std::uint32_t> lengths = {50, 200, 100, 150};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    ASSERT_TRUE(drive.submit(ask(i, prompt_of(1, i)), lengths[i]));
  }
  drive.finish();
  drive.expect_right_answers();
  Duration total{};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto& s = drive.stories.at(SequenceId{i});
    EXPECT_EQ(s.token_times.back(), lengths[i] * 20ms);
    total += s.token_times.back();
  }
  EXPECT_EQ(total / 4, 2500ms);
  const double mean = std::accumulate(lengths.begin(), lengths.end(), 0.0) / 4;
  EXPECT_DOUBLE_EQ(1 - mean / 200, 0.375);
}

TEST(Scheduler, DecodeRowsComeFirstAndPrefillKeepsToTheBudget) {
  Options o = pages(512);
  o.fixed_budget = 40;
  Drive drive(o);
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(drive.submit(ask(i, prompt_of(3, i)), 50));
  while (drive.scheduler.waiting() > 0 || drive.last.decode_rows < 10) ASSERT_TRUE(drive.step());
  ASSERT_TRUE(drive.submit(ask(100, prompt_of(500, 100)), 5));
  ASSERT_TRUE(drive.submit(ask(101, prompt_of(500, 101)), 5));
  while (drive.scheduler.waiting() > 0) {
    ASSERT_TRUE(drive.step());
    ASSERT_EQ(drive.last.decode_rows, 10U);
    ASSERT_LE(drive.last.decode_rows + drive.last.prefill_rows, 40U);
    for (std::size_t i = 0; i < 10; ++i) ASSERT_TRUE(drive.last.rows[i].decode);
  }
  drive.finish();
  drive.expect_right_answers();
}

TEST(Scheduler, TheBudgetFollowsTheTargetInterTokenLatency) {
  // 1 ms a row, weights and overhead free: 50 ms allow 50 rows.
  Options o = pages(512);
  o.target_itl = 50ms;
  o.min_prefill_rows = 1;
  Drive drive(o, policy::StepCost({0, 1e6, 0}, {1e12, 1e9, 0}));
  ASSERT_TRUE(drive.submit(ask(1, prompt_of(1, 1)), 100));
  ASSERT_TRUE(drive.step());
  ASSERT_TRUE(drive.submit(ask(2, prompt_of(400, 2)), 1));
  ASSERT_TRUE(drive.step());
  EXPECT_EQ(drive.last.decode_rows + drive.last.prefill_rows, 50U);
}

TEST(Scheduler, ALongPromptDoesNotStopOthersWhenChunked) {
  // Sarathi-Serve's stall: 4000 tokens of prefill at 1 ms each beside eight running answers.
  const auto worst_gap = [](bool chunked) {
    Options o = pages(2048);
    o.max_rows = 8192;
    o.chunked_prefill = chunked;
    o.target_itl = 60ms;
    Drive drive(o, policy::StepCost({10e6, 1e6, 0}, {1e9, 1e9, 0}));
    for (std::uint64_t i = 0; i < 8; ++i) EXPECT_TRUE(drive.submit(ask(i, prompt_of(8, i)), 200));
    for (int i = 0; i < 20; ++i) drive.step();
    EXPECT_TRUE(drive.submit(ask(100, prompt_of(4000, 100)), 2));
    drive.finish();
    drive.expect_right_answers();
    Duration worst{};
    for (std::uint64_t i = 0; i < 8; ++i) {
      const auto& t = drive.stories.at(SequenceId{i}).token_times;
      for (std::size_t k = 1; k < t.size(); ++k) worst = std::max(worst, t[k] - t[k - 1]);
    }
    return worst;
  };
  EXPECT_LE(worst_gap(true), 60ms);
  EXPECT_GE(worst_gap(false), 4000ms);
}

TEST(Scheduler, WhenPagesRunOutTheLatestIsPreemptedAndStillAnswersRight) {
  Options o = pages(12);
  o.admission = Admission::kOptimistic;
  Drive drive(o);
  for (std::uint64_t i = 0; i < 4; ++i) {
    Request r = ask(i, prompt_of(20, i));
    ASSERT_TRUE(drive.submit(r, 100));
  }
  // Recent answers were short, so admission is too hopeful.
  drive.finish();
  drive.expect_right_answers();
  for (const auto& [id, s] : drive.stories) EXPECT_EQ(s.end, End::kFinished);
}

TEST(Scheduler, ACriticalRequestTakesTheRoomOfBackgroundWork) {
  Options o = pages(16);
  o.admission = Admission::kWorstCase;
  Drive drive(o);
  for (std::uint64_t i = 0; i < 2; ++i) {
    Request r = ask(i, prompt_of(60, i));
    r.priority = Priority::kBackground;
    ASSERT_TRUE(drive.submit(r, 60));
  }
  for (int i = 0; i < 10; ++i) drive.step();
  Request critical = ask(10, prompt_of(100, 10));
  critical.priority = Priority::kCritical;
  ASSERT_TRUE(drive.submit(critical, 20));
  ASSERT_TRUE(drive.step());
  ASSERT_EQ(drive.last.preempted.size(), 1U);
  EXPECT_EQ(drive.last.preempted[0].id, SequenceId{1});  // The later of the two.
  EXPECT_EQ(drive.last.preempted[0].for_whom, SequenceId{10});
  drive.finish();
  drive.expect_right_answers();
}

TEST(Scheduler, CancellationFreesPagesInTheVeryNextPlanWhereverTheRequestIs) {
  Options o = pages(64);
  o.max_running = 2;
  o.ledger.prefix_cache = false;
  Drive drive(o);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(drive.submit(ask(i, prompt_of(300, i)), 50));
  drive.step();
  for (std::uint64_t i : {2, 1, 0}) {  // Waiting, in its prompt, decoding.
    drive.scheduler.cancel(SequenceId{i});
    drive.step();
    EXPECT_EQ(drive.stories.at(SequenceId{i}).end, End::kCancelled);
    drive.scheduler.check();
    if (i == 1) {
      while (drive.stories.at(SequenceId{0}).answer.empty()) ASSERT_TRUE(drive.step());
    }
  }
  EXPECT_EQ(drive.scheduler.ledger().pool().free(), 64U);
  EXPECT_GT(drive.scheduler.counts().wasted_tokens, 0U);
}

TEST(Scheduler, ARequestPastItsDeadlineStopsWaitingOrRunning) {
  Drive drive(pages(64));
  Request r = ask(1, prompt_of(10, 1));
  r.deadline = 200ms;
  ASSERT_TRUE(drive.submit(r, 100));
  drive.finish();
  EXPECT_EQ(drive.stories.at(SequenceId{1}).end, End::kDeadline);
  EXPECT_EQ(drive.stories.at(SequenceId{1}).answer.size(), 10U);
}

TEST(Scheduler, TheQueueIsBoundedInRequestsTokensAndAge) {
  Options o = pages(4096);
  o.max_running = 1;
  o.max_queued_requests = 3;
  o.max_queued_tokens = 1000;
  o.max_queue_age = 1s;
  Scheduler s(o, policy::StepCost({}, {}));
  const auto refusal = [&](std::uint64_t id, std::uint32_t tokens,
                           Instant now) -> std::optional<Refusal> {
    Request r = ask(id, prompt_of(tokens, id));
    const auto accepted = s.arrived(std::move(r), now);
    return accepted ? std::nullopt : std::optional(accepted.error());
  };
  EXPECT_FALSE(refusal(0, 900, 0s));
  EXPECT_EQ(refusal(1, 200, 0s), Refusal::kTooManyTokens);
  EXPECT_FALSE(refusal(2, 10, 0s));
  EXPECT_EQ(refusal(3, 10, 2s), Refusal::kTooOld);
  EXPECT_FALSE(refusal(4, 10, 0s));
  EXPECT_EQ(refusal(5, 10, 0s), Refusal::kTooManyRequests);
  Scheduler small(pages(2), policy::StepCost({}, {}));
  EXPECT_EQ(small.arrived(ask(9, prompt_of(33, 9)), 0s).error(), Refusal::kNeverFits);
  EXPECT_EQ(s.counts().refused, 3U);
  s.check();
}

TEST(Scheduler, SeveralAnswersToOnePromptShareItsPages) {
  Drive drive(pages(128));
  const auto prompt = prompt_of(1000, 1);
  ASSERT_TRUE(drive.submit(ask(0, prompt), 20));
  for (std::uint64_t i = 1; i < 4; ++i) {
    Request r = ask(i, prompt);
    r.leader = SequenceId{0};
    ASSERT_TRUE(drive.submit(r, 20));
  }
  drive.finish();
  drive.expect_right_answers();
  EXPECT_EQ(drive.scheduler.counts().prompt_rows, 1000U + 3);
}

TEST(Scheduler, ATenantThatSendsFiveTimesAsMuchGetsNoMoreThanItsShare) {
  Options o = pages(4096);
  o.max_running = 8;
  Drive drive(o, policy::StepCost({0, 1e6, 0}, {1e12, 1e9, 0}));
  drive.checking = false;
  std::uint64_t id = 0;
  std::vector<std::uint64_t> quiet;
  for (int i = 0; i < 240; ++i) {
    const bool loud = i % 6 != 0;
    Request r = ask(id, prompt_of(50, id));
    r.tenant = TenantId{loud ? 1U : 2U};
    if (!loud) quiet.push_back(id);
    ASSERT_TRUE(drive.submit(r, 50));
    ++id;
  }
  drive.finish();
  // Both are backlogged from the start, so each gets half until the quiet one's 40 requests are
  // done: their last ends when about 80 of the 240 are done, a third of the way, and not at the
  // end.
  Instant last_quiet{};
  Instant last_of_all{};
  for (const auto& [i, s] : drive.stories) last_of_all = std::max(last_of_all, *s.ended);
  for (std::uint64_t q : quiet)
    last_quiet = std::max(last_quiet, *drive.stories.at(SequenceId{q}).ended);
  EXPECT_LT(seconds(last_quiet), 0.40 * seconds(last_of_all));
}

TEST(Scheduler, ABackgroundRequestWaitsNoLongerThanTheStarvationBound) {
  Options o = pages(64);
  o.max_running = 1;
  o.order.overdue_after = 5s;
  Drive drive(o);
  drive.checking = false;
  Request background = ask(0, prompt_of(10, 0));
  background.priority = Priority::kBackground;
  std::uint64_t id = 1;
  const auto critical = [&] {
    Request r = ask(id, prompt_of(10, id));
    r.priority = Priority::kCritical;
    ++id;
    return r;
  };
  ASSERT_TRUE(drive.submit(critical(), 10));
  drive.step();
  ASSERT_TRUE(drive.submit(background, 10));
  while (!drive.stories.at(SequenceId{0}).end) {  // Two critical requests wait at any time.
    while (drive.scheduler.waiting() < 3) ASSERT_TRUE(drive.submit(critical(), 10));
    drive.step();
    ASSERT_LT(drive.now, 60s) << "starved";
  }
  // Ten tokens take 0.2 s; when it becomes overdue at most one other runs and two came earlier.
  EXPECT_LT(drive.stories.at(SequenceId{0}).admitted, 5s + 1s);
}

TEST(Scheduler, RandomLoadKeepsEveryPromiseWhateverHappens) {
  std::uint64_t windows_taken = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto setup = philox(seed, 0);
    Options o = pages(8 + setup[0] % 60);
    if (seed > 25) {  // With windows, and as much memory.
      o.ledger.shape = {1, 1 + setup[0] / 64 % 3, 1 + setup[0] / 256 % 5, 2 + setup[0] / 2048 % 60};
      o.ledger.units *= o.ledger.shape.of_page();
    }
    o.ledger.prefix_cache = setup[1] % 4 != 0;
    o.admission = setup[1] % 2 == 0 ? Admission::kOptimistic : Admission::kWorstCase;
    o.max_running = 1 + setup[2] % 12;
    o.max_chunk = 1 + setup[2] / 16 % 64;
    o.max_rows = std::max(o.max_running, 16U) + setup[3] % 64;
    o.max_logit_rows = 1 + setup[3] / 64 % 16;
    o.fixed_budget = setup[3] % 3 == 0 ? 1 + setup[0] / 64 % 40 : 0;
    o.order.overdue_after = 1s + std::chrono::milliseconds(setup[1] % 4000);
    Drive drive(o, policy::StepCost({1e7, 1e6, 1e3}, {1e9, 1e9, 1e-3}));
    std::vector<SequenceId> ids;
    std::uint64_t next = 0;
    std::uint64_t submitted = 0;
    for (std::uint64_t step = 1; step < 1500; ++step) {
      const auto r = philox(seed, step);
      if (r[0] % 5 == 0) {
        const std::uint32_t length = 1 + r[1] % 60;
        // Prompts share prefixes: one of four texts, cut anywhere, with a tail of their own at
        // times.
        std::vector<TokenId> prompt = prompt_of(1 + r[2] % 100, r[3] % 4);
        if (r[3] % 3 == 0) prompt.push_back(static_cast<TokenId>(next));
        Request request = ask(next, prompt);
        request.space = kv::Namespace{r[3] / 16 % 2};
        request.tenant = TenantId{r[3] / 32 % 3};
        request.priority = static_cast<Priority>(r[3] / 128 % 3);
        request.max_tokens = length + r[1] / 64 % 40;
        if (r[2] / 128 % 4 == 0)
          request.deadline = drive.now + std::chrono::milliseconds(r[1] % 3000);
        if (r[2] / 1024 % 5 == 0 && !ids.empty()) {
          const auto leader = ids[r[1] % ids.size()];
          const auto& story = drive.stories.at(leader);
          request.prompt = story.request.prompt;
          request.space = story.request.space;
          request.leader = leader;
        }
        if (drive.submit(request, length)) {
          ids.push_back(SequenceId{next});
          ++submitted;
        }
        ++next;
      }
      if (r[0] / 8 % 20 == 0 && !ids.empty()) drive.scheduler.cancel(ids[r[1] / 7 % ids.size()]);
      drive.step();
      drive.scheduler.check();
      if (testing::Test::HasFatalFailure()) return;
    }
    drive.finish();
    drive.expect_right_answers();
    if (testing::Test::HasFatalFailure()) return;
    const Counts& c = drive.scheduler.counts();
    EXPECT_EQ(c.accepted, submitted);
    EXPECT_EQ(c.accepted, c.finished + c.cancelled + c.deadline + c.failed);
    std::uint64_t delivered = 0;
    std::uint64_t sampled = 0;
    for (const auto& [id, s] : drive.stories) {
      ASSERT_TRUE(s.end.has_value());
      sampled += s.answer.size();
      if (s.end == End::kFinished) delivered += s.answer.size();
    }
    EXPECT_EQ(sampled, c.answer_tokens);
    EXPECT_EQ(delivered + c.wasted_tokens, c.answer_tokens);
    EXPECT_EQ(drive.scheduler.ledger().held(), 0U);
    windows_taken += drive.scheduler.ledger().evicted().windows;
  }
  EXPECT_GT(windows_taken, 100U);
}

TEST(Scheduler, ALongConversationIsChargedItsWindowAndNoMore) {
  // As Gemma-3-270M: 1 whole and 5 windowed units a page, 512 positions.
  Options o = pages(0);
  o.ledger.shape = {3, 1, 5, 512};
  o.ledger.prefix_cache = false;
  o.admission = Admission::kWorstCase;
  o.max_chunk = 64;
  // Room for four of 4000 positions, and not for one more page.
  const auto each = static_cast<std::uint32_t>(o.ledger.shape.of_sequence(4000, 64));
  EXPECT_EQ(each, 250U + 5 * 37);
  o.ledger.units = 4 * each + 5;
  Drive drive(o);
  for (std::uint64_t i = 0; i < 6; ++i) ASSERT_TRUE(drive.submit(ask(i, prompt_of(3900, i)), 100));
  std::uint32_t most = 0;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(drive.step());
    most = std::max(most, drive.scheduler.running());
  }
  drive.finish();
  drive.expect_right_answers();
  EXPECT_EQ(most, 4U);
  EXPECT_EQ(drive.scheduler.counts().memory_preemptions, 0U);
  // And one that needs more than there is, is told so.
  EXPECT_FALSE(drive.submit(ask(100, prompt_of(30000, 100)), 100));
}

TEST(Scheduler, AWorstCaseThatIsAdmittedIsNeverSentAwayForMemoryWithWindows) {
  std::uint64_t finished = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto setup = philox(seed, 0, 31);
    Options o = pages(40 + setup[0] % 40);
    o.ledger.shape = {1, setup[1] % 3, 1 + setup[1] / 8 % 4, 1 + setup[1] / 64 % 70};
    if (o.ledger.shape.whole == 0) o.ledger.pages = 400;
    o.ledger.units *= o.ledger.shape.of_page();
    o.ledger.prefix_cache = seed % 3 != 0;
    o.admission = Admission::kWorstCase;
    o.max_chunk = 1 + setup[2] % 64;
    o.order.overdue_after = 1h;
    Drive drive(o);
    for (std::uint64_t step = 1; step < 600; ++step) {
      const auto r = philox(seed, step, 32);
      if (r[0] % 4 == 0) {
        Request request = ask(step, prompt_of(1 + r[1] % 200, r[2] % 5));
        // Of those that ask for the same at once, some share what the first has.
        if (r[2] / 8 % 3 == 0 && drive.stories.contains(SequenceId{step - 1})) {
          request.prompt = drive.stories.at(SequenceId{step - 1}).request.prompt;
          request.leader = SequenceId{step - 1};
        }
        (void)drive.submit(request, 1 + r[3] % 60);
      }
      drive.step();
      if (testing::Test::HasFatalFailure()) return;
    }
    drive.finish();
    drive.expect_right_answers();
    EXPECT_EQ(drive.scheduler.counts().memory_preemptions, 0U);
    finished += drive.scheduler.counts().finished;
  }
  EXPECT_GT(finished, 500U);
}

}  // namespace
}  // namespace weir::sched
