#include "weir/load/run_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <ctime>
#include <memory>
#include <queue>

#include "weir/load/flight.h"
#include "weir/load/internal/wire.h"

namespace weir::load {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using SteadyClock = std::chrono::steady_clock;
using measure::Outcome;

/// How often the run asks whether it should stop.
constexpr auto kTick = std::chrono::milliseconds(50);
/// Nanoseconds in 64 bits hold nine times that.
constexpr double kMostSeconds = 1e9;

double thread_cpu_seconds() {
  timespec at{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_nsec) * 1e-9;
}

/// What becomes due: a request is sent, its client leaves, its first token should be there, or its
/// time is up.
struct Due {
  enum class What : std::uint8_t { kSend, kLeave, kFirstToken, kTimeout };
  Duration at;
  std::uint64_t order;  ///< Equal instants keep the plan's order.
  std::uint32_t request;
  What what;
  bool operator>(const Due& other) const {
    return std::pair(at, order) > std::pair(other.at, other.order);
  }
};

class Load {
 public:
  Load(const Target& target, const LoadOptions& options, const measure::Plan& plan,
       const measure::BodyWriter& bodies, const std::function<bool()>& stop)
      : target_(target), options_(options), plan_(plan), bodies_(bodies), stop_(stop) {}

  Result<LoadRun> run() {
    WEIR_TRY_STATUS(wire_.find(target_));
    WEIR_TRY_STATUS(make_messages());
    records_.resize(plan_.requests.size());
    missed_.resize(plan_.requests.size());
    histories_.resize(plan_.requests.size());
    for (std::uint32_t i = 0; i < records_.size(); ++i) {
      const auto& request = plan_.requests[i];
      records_[i].tenant = request.tenant;
      records_[i].scheduled = request.at;
      records_[i].planned_prompt_tokens = static_cast<std::uint32_t>(request.prompt_tokens());
      records_[i].planned_output_tokens = request.output_tokens;
      if (request.opens) openings_.push_back(i);
    }
    const double cpu = thread_cpu_seconds();
    start_ = SteadyClock::now();
    wire_.start(start_);
    if (options_.concurrency == 0) {
      for (const std::uint32_t i : openings_) add_due(plan_.requests[i].at, i, Due::What::kSend);
      next_opening_ = openings_.size();
    } else {
      for (std::uint32_t user = 0; user < options_.concurrency; ++user) send_next_opening();
    }
    tick();
    io_.run();
    LoadRun result;
    result.client_cpu_s = thread_cpu_seconds() - cpu;
    for (const auto& record : records_) result.duration = std::max(result.duration, record.done);
    result.records = std::move(records_);
    result.stopped = std::move(stopped_);
    return result;
  }

 private:
  [[nodiscard]] Instant now() const { return wire_.now(); }

  std::string message(std::uint32_t index, std::string_view history) const {
    const auto& request = plan_.requests[index];
    const std::string body = bodies_.body(request, history);
    const std::string& key = plan_.tenants[request.tenant].key;
    return fmt::format(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: */*\r\n"
        "User-Agent: weir-bench\r\n{}Content-Length: {}\r\n\r\n{}",
        target_.path(options_.endpoint), target_.url.authority(),
        key.empty() ? "" : fmt::format("Authorization: Bearer {}\r\n", key), body.size(), body);
  }

  Status make_messages() {
    messages_.resize(plan_.requests.size());
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < messages_.size(); ++i) {
      if (!plan_.requests[i].opens) continue;  // Waits for the answer before it.
      messages_[i] = message(i, "");
      bytes += messages_[i].size();
      if (bytes > options_.max_body_bytes) {
        return fail(Code::kTooLarge,
                    fmt::format("the requests' bodies are over {} MiB together: send fewer or "
                                "shorter ones",
                                options_.max_body_bytes >> 20));
      }
    }
    return {};
  }

  void add_due(Duration at, std::uint32_t request, Due::What what) {
    const std::uint64_t order = due_order_++;
    due_.push({at, order, request, what});
    if (what == Due::What::kSend) ++sends_due_;
    if (due_.top().order == order) set_alarm();
  }

  void set_alarm() {
    if (due_.empty() || over_) return;
    alarm_.expires_at(start_ + due_.top().at);
    alarm_.async_wait([this](const ErrorCode& error) {
      if (error || over_) return;
      take_due();
      set_alarm();
    });
  }

  void take_due() {
    while (!due_.empty() && due_.top().at <= now()) {
      const Due due = due_.top();
      due_.pop();
      if (due.what == Due::What::kSend) {
        --sends_due_;
        send(due.request, due.at);
      } else if (due.what == Due::What::kFirstToken) {
        if (wire_.awaits_first_token(due.request)) count_missed(due.request);
      } else {
        const bool leaves = due.what == Due::What::kLeave;
        wire_.hang_up(due.request, leaves ? Outcome::kLeft : Outcome::kTimeout,
                      leaves ? "" : "no whole answer in time");
      }
    }
    end_when_idle();
  }

  void send_next_opening() {
    if (next_opening_ == openings_.size() || sending_over()) return;
    send(openings_[next_opening_++], now());
  }

  [[nodiscard]] bool sending_over() const { return over_ || now() >= options_.send_for; }

  void send(std::uint32_t index, Instant scheduled) {
    records_[index].scheduled = scheduled;
    if (sending_over()) return;
    if (options_.concurrency == 0 && outstanding_ >= options_.max_outstanding) {
      return end_early(fmt::format("{} requests wait for the server: it is drowned", outstanding_));
    }
    ++outstanding_;
    last_send_ = records_[index].sent = now();
    const auto& request = plan_.requests[index];
    if (request.leave_after != measure::kNever) {
      add_due(scheduled + request.leave_after, index, Due::What::kLeave);
    }
    if (options_.slo.ttft_ms) {
      const double wait_s = std::min(*options_.slo.ttft_ms / 1e3, kMostSeconds);
      add_due(scheduled + from_seconds(wait_s), index, Due::What::kFirstToken);
    }
    add_due(scheduled + options_.request_timeout, index, Due::What::kTimeout);
    wire_.fly(index, messages_[index],
              {.streamed = options_.endpoint != measure::Endpoint::kEmbeddings,
               .keep_text = request.next != measure::kNoNext});
  }

  /// The flight ended: its record is kept, and what follows it is sent.
  void landed(std::uint32_t index, Flight& flight) {
    keep_record(index, flight.record());
    const auto& request = plan_.requests[index];
    const bool goes_on = request.next != measure::kNoNext && records_[index].completed();
    if (goes_on) {
      histories_[request.next] = bodies_.extend(histories_[index], request, flight.text());
      messages_[request.next] = message(request.next, histories_[request.next]);
    }
    histories_[index] = {};
    messages_[index] = {};
    --outstanding_;
    count_failures(records_[index]);
    if (records_[index].counts() && !options_.slo.met(records_[index])) count_missed(index);
    if (over_) return;
    if (goes_on) {
      add_due(records_[index].done + request.think, request.next, Due::What::kSend);
    } else if (options_.concurrency > 0) {
      send_next_opening();
    }
    end_when_idle();
  }

  void keep_record(std::uint32_t index, measure::RequestRecord& seen) {
    const measure::RequestRecord& planned = records_[index];
    seen.tenant = planned.tenant;
    seen.scheduled = planned.scheduled;
    seen.sent = planned.sent;
    seen.planned_prompt_tokens = planned.planned_prompt_tokens;
    seen.planned_output_tokens = planned.planned_output_tokens;
    if (!seen.usage_told) seen.prompt_tokens = seen.planned_prompt_tokens;
    records_[index] = std::move(seen);
  }

  /// Being refused for load is an answer; being refused for another reason, again and again, means
  /// that something is set up wrong.
  void count_failures(const measure::RequestRecord& record) {
    const bool for_load = record.status == 429 || record.status == 503;
    if (record.completed() || record.outcome == Outcome::kLeft ||
        record.outcome == Outcome::kCutOff || for_load) {
      failures_ = 0;
    } else if (++failures_ >= options_.give_up_after) {
      end_early(
          fmt::format("{} requests in a row failed, the last with: {}", failures_, record.detail));
    }
  }

  void count_missed(std::uint32_t index) {
    if (over_ || missed_[index]) return;
    missed_[index] = true;
    if (++missed_count_ > options_.most_missed) {
      end_early(fmt::format("{} of {} requests have missed {}", missed_count_, records_.size(),
                            options_.slo.text()));
    }
  }

  void end_early(std::string why) {
    if (over_) return;
    stopped_ = std::move(why);
    end();
  }

  void end() {
    over_ = true;
    alarm_.cancel();
    ticker_.cancel();
    wire_.close_all(Outcome::kCutOff, "the run ended first");
  }

  void end_when_idle() {
    const bool more =
        sends_due_ > 0 || (options_.concurrency > 0 && next_opening_ < openings_.size());
    if (!over_ && outstanding_ == 0 && (!more || sending_over())) end();
  }

  void tick() {
    ticker_.expires_after(kTick);
    ticker_.async_wait([this](const ErrorCode& error) {
      if (error || over_) return;
      if (stop_ && stop_()) return end_early("it was interrupted");
      if (sends_due_ == 0 || sending_over()) {
        const bool all_sent = options_.concurrency == 0 || next_opening_ == openings_.size();
        if ((all_sent || sending_over()) && now() - last_send_ > options_.drain) {
          return end_early(fmt::format("{} requests had no answer {:.0f} s after the last was sent",
                                       outstanding_, seconds(options_.drain)));
        }
      }
      end_when_idle();
      if (!over_) tick();
    });
  }

  const Target& target_;
  const LoadOptions& options_;
  const measure::Plan& plan_;
  const measure::BodyWriter& bodies_;
  const std::function<bool()>& stop_;

  asio::io_context io_{1};
  Wire wire_{io_, plan_.requests.size(),
             [this](std::uint32_t index, Flight& flight) { landed(index, flight); }};
  asio::steady_timer alarm_{io_};
  asio::steady_timer ticker_{io_};
  SteadyClock::time_point start_;

  std::vector<std::string> messages_;   ///< Whole HTTP requests, by index; emptied once answered.
  std::vector<std::string> histories_;  ///< Of conversations, by the index of the turn to come.
  std::vector<measure::RequestRecord> records_;
  std::vector<std::uint32_t> openings_;
  std::size_t next_opening_ = 0;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::uint64_t due_order_ = 0;
  std::uint32_t sends_due_ = 0;
  std::uint32_t outstanding_ = 0;
  std::uint32_t failures_ = 0;
  std::vector<bool> missed_;
  std::uint32_t missed_count_ = 0;
  Instant last_send_{0};
  bool over_ = false;
  std::string stopped_;
};

}  // namespace

Result<LoadRun> run_load(const Target& target, const LoadOptions& options,
                         const measure::Plan& plan, const measure::BodyWriter& bodies,
                         const std::function<bool()>& stop) {
  const auto load = std::make_unique<Load>(target, options, plan, bodies, stop);
  return load->run();
}

}  // namespace weir::load
