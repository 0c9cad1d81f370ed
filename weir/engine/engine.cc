#include "weir/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "weir/base/check.h"
#include "weir/base/math.h"
#include "weir/base/random.h"
#include "weir/engine/request_check.h"
#include "weir/engine/sequence.h"

namespace weir::engine {
namespace {

using TimePoint = sys::Clock::TimePoint;

Outcome outcome_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
    case FinishReason::kLength:
      return Outcome::kFinished;
    case FinishReason::kCancelled:
      return Outcome::kCancelled;
    case FinishReason::kError:
      return Outcome::kFailed;
  }
  return Outcome::kFailed;
}

std::uint64_t entropy() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace

struct Engine::Impl {
  Impl(std::unique_ptr<Decoder> a_decoder, std::vector<TokenId> an_end_tokens,
       const sys::Clock& a_clock, EngineOptions an_options)
      : decoder(std::move(a_decoder)),
        end_tokens(std::move(an_end_tokens)),
        clock(a_clock),
        options(an_options),
        context(context_of(decoder->facts(), options)),
        chunk(std::clamp(options.prefill_chunk, 1U, decoder->facts().max_rows)),
        seed_key(entropy()),
        pool(decoder->facts().kv_pages),
        workspace(decoder->facts().vocabulary) {
    books.pages(pool.total(), 0);
    thread = std::thread([this] { run(); });
  }

  static std::uint32_t context_of(const DecoderFacts& facts, const EngineOptions& options) {
    const std::uint64_t held = std::uint64_t{facts.kv_pages} * kPageTokens;
    const std::uint32_t wanted = options.context == 0 ? facts.context : options.context;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>({wanted, facts.context, held}));
  }

  // Constant after construction.
  const std::unique_ptr<Decoder> decoder;
  const std::vector<TokenId> end_tokens;
  const sys::Clock& clock;
  const EngineOptions options;
  const std::uint32_t context;
  const std::uint32_t chunk;
  const std::uint64_t seed_key;

  std::atomic<bool> cancel_all{false};

  mutable std::mutex mutex;
  // Guarded by mutex:
  std::condition_variable work;  // Something to do, or stopping.
  std::condition_variable idle;  // Nothing waits or runs.
  std::deque<std::unique_ptr<Sequence>> queue;
  std::uint64_t queue_tokens = 0;  // Of the prompts in the queue.
  std::uint64_t seeds_drawn = 0;
  Books books;
  bool draining = false;
  bool stopping = false;

  // The engine's thread only:
  std::unique_ptr<Sequence> running;
  kv::PagePool pool;
  model::SamplerWorkspace workspace;
  TimePoint now;  // Read once a step, after the forward pass, and on waking.

  std::thread thread;  // Last: it uses all of the above.

  /// A request that has ended and whose reader is yet to be told, outside the lock.
  struct Ended {
    std::unique_ptr<Sequence> sequence;
    Finish finish;
    void tell() {
      sequence->stream().finish(std::move(finish));
      sequence->stream().wake();
    }
  };

  void run();
  std::vector<Ended> sweep_queue();
  /// Why `s` must stop at this boundary, if it must.
  std::optional<Finish> must_stop(const Sequence& s) const;
  void note_cancel(const Sequence& s);
  void step();
  void end_running(Finish finish);
};

void Engine::Impl::run() {
  for (;;) {
    std::vector<Ended> ended;
    {
      std::unique_lock lock(mutex);
      if (running == nullptr && queue.empty()) {
        pool.check();
        WEIR_CHECK(pool.held() == 0, "an idle engine holds no pages");
        idle.notify_all();
        work.wait(lock, [this] { return stopping || !queue.empty(); });
        if (queue.empty()) return;
        now = clock.now();
      }
      ended = sweep_queue();
      if (running == nullptr && !queue.empty()) {
        running = std::move(queue.front());
        queue.pop_front();
        queue_tokens -= running->prompt_size();
        books.start();
      }
    }
    for (Ended& e : ended) e.tell();
    if (running == nullptr) continue;
    if (!running->started()) running->start(end_tokens, decoder->facts().vocabulary, now);
    step();
  }
}

std::optional<Finish> Engine::Impl::must_stop(const Sequence& s) const {
  if (s.stream().cancelled() || cancel_all.load(std::memory_order_acquire)) {
    return Finish{FinishReason::kCancelled, s.timings(now), {}};
  }
  if (s.past_deadline(now)) {
    return Finish{
        FinishReason::kError, s.timings(now),
        Error{Code::kDeadline,
              s.started() ? fmt::format("the deadline passed after {} tokens of the answer",
                                        s.answer_size())
                          : "the deadline passed while the request was waiting its turn",
              {}}};
  }
  return std::nullopt;
}

void Engine::Impl::note_cancel(const Sequence& s) {
  if (!s.stream().cancelled()) return;
  books.cancel_took(std::max(now - s.stream().cancelled_at(), TimePoint::duration::zero()));
}

std::vector<Engine::Impl::Ended> Engine::Impl::sweep_queue() {
  std::vector<Ended> ended;
  for (auto& waiting : queue) {
    auto finish = must_stop(*waiting);
    if (!finish) continue;
    queue_tokens -= waiting->prompt_size();
    books.leave_queue(outcome_of(finish->reason));
    note_cancel(*waiting);
    ended.push_back({std::move(waiting), *std::move(finish)});
  }
  std::erase(queue, nullptr);
  return ended;
}

void Engine::Impl::step() {
  Sequence& s = *running;
  if (auto finish = must_stop(s)) {
    end_running(*std::move(finish));
    return;
  }
  const bool in_prompt = s.in_prompt();
  const model::SequenceRows rows = s.next_rows(chunk, pool);
  const std::span<const float> logits = decoder->forward({std::span(&rows, 1)});
  WEIR_CHECK(logits.size() == std::size_t{rows.logit_rows} *
                                  static_cast<std::size_t>(decoder->facts().vocabulary),
             "a decoder gives the rows of logits asked for");
  now = clock.now();
  Sequence::Step took = s.took(logits, workspace, now);
  {
    const std::lock_guard lock(mutex);
    if (in_prompt) books.prefill(rows.tokens.size());
    if (took.token) books.deliver();
    books.pages(pool.total(), pool.held());
    books.check();
  }
  if (took.finish) {
    end_running({*took.finish, s.timings(now), std::move(took.error)});
  } else if (took.token) {
    s.stream().wake();
  }
}

void Engine::Impl::end_running(Finish finish) {
  Ended ended{std::move(running), std::move(finish)};
  ended.sequence->give_back_pages(pool);
  {
    const std::lock_guard lock(mutex);
    books.pages(pool.total(), pool.held());
    if (ended.finish.reason == FinishReason::kCancelled) note_cancel(*ended.sequence);
    books.end(outcome_of(ended.finish.reason), ended.sequence->answer_size());
  }
  ended.tell();
}

Engine::Engine(std::unique_ptr<Decoder> decoder, std::vector<TokenId> end_tokens,
               const sys::Clock& clock, EngineOptions options)
    : impl_(std::make_unique<Impl>(std::move(decoder), std::move(end_tokens), clock, options)) {}

Engine::~Engine() {
  impl_->cancel_all.store(true, std::memory_order_release);
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->draining = true;
    impl_->stopping = true;
  }
  impl_->work.notify_one();
  impl_->thread.join();
}

Result<std::shared_ptr<TokenStream>> Engine::submit(Request request) {
  Impl& e = *impl_;
  if (auto checked = check_request(request, e.decoder->facts(), e.context); !checked) {
    const std::lock_guard lock(e.mutex);
    e.books.refuse();
    return std::unexpected(std::move(checked).error());
  }
  auto stream = std::make_shared<TokenStream>(std::move(request.on_ready), &e.clock);
  {
    const std::lock_guard lock(e.mutex);
    if (e.draining) {
      e.books.refuse();
      return fail(Code::kUnavailable, "this server is shutting down and takes no new requests");
    }
    if (e.queue.size() >= e.options.max_queue) {
      e.books.refuse();
      return fail(Code::kExhausted,
                  fmt::format("{} requests are waiting already, as many as may: try again later",
                              e.queue.size()));
    }
    if (e.queue_tokens + request.prompt.size() > e.options.max_queue_tokens) {
      e.books.refuse();
      return fail(Code::kExhausted,
                  fmt::format("prompts of {} tokens are waiting already and {} more would pass the "
                              "bound of {}: try again later",
                              e.queue_tokens, request.prompt.size(), e.options.max_queue_tokens));
    }
    if (!request.sampling.seed) {
      const auto r = philox(e.seed_key, e.seeds_drawn++);
      request.sampling.seed = std::uint64_t{r[0]} << 32 | r[1];
    }
    e.queue_tokens += request.prompt.size();
    e.queue.push_back(std::make_unique<Sequence>(std::move(request), stream, e.clock.now()));
    e.books.accept();
  }
  e.work.notify_one();
  return stream;
}

bool Engine::drain(std::chrono::milliseconds grace) {
  Impl& e = *impl_;
  std::unique_lock lock(e.mutex);
  e.draining = true;
  const auto done = [&e] {
    const EngineStats& s = e.books.stats();
    return s.waiting == 0 && s.running == 0;
  };
  if (done() || (grace > grace.zero() && e.idle.wait_for(lock, grace, done))) return true;
  e.cancel_all.store(true, std::memory_order_release);
  e.idle.wait(lock, done);
  return false;
}

EngineStats Engine::stats() const {
  const std::lock_guard lock(impl_->mutex);
  EngineStats stats = impl_->books.stats();
  stats.draining = impl_->draining;
  return stats;
}

const DecoderFacts& Engine::facts() const { return impl_->decoder->facts(); }

std::uint32_t Engine::context() const { return impl_->context; }

}  // namespace weir::engine
