#include "weir/load/run_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <ctime>
#include <memory>
#include <queue>

#include "weir/load/flight.h"

namespace weir::load {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using SteadyClock = std::chrono::steady_clock;
using Tcp = asio::ip::tcp;
using measure::Outcome;

/// How often the run asks whether it should stop.
constexpr auto kTick = std::chrono::milliseconds(50);

double thread_cpu_seconds() {
  timespec at{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_nsec) * 1e-9;
}

/// A connection, and the request it carries now.
struct Connection {
  explicit Connection(asio::io_context& io) : socket(io) {}
  Tcp::socket socket;
  std::uint32_t request = 0;
  std::unique_ptr<Flight> flight;  ///< Null while idle.
  bool reused = false;             ///< It carried another request before this one.
  bool writing = false;
};
using ConnectionPtr = std::shared_ptr<Connection>;

/// What becomes due: a request is sent, its client leaves, or its time is up.
struct Due {
  enum class What : std::uint8_t { kSend, kLeave, kTimeout };
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
    WEIR_TRY_STATUS(find_endpoint());
    WEIR_TRY_STATUS(make_messages());
    records_.resize(plan_.requests.size());
    active_.resize(plan_.requests.size());
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
  [[nodiscard]] Instant now() const { return SteadyClock::now() - start_; }

  /// The first of the host's addresses that takes a connection.
  Status find_endpoint() {
    ErrorCode error;
    Tcp::resolver resolver(io_);
    const auto found = resolver.resolve(target_.url.host, std::to_string(target_.url.port), error);
    if (!error) {
      Tcp::socket probe(io_);
      endpoint_ = asio::connect(probe, found, error);
    }
    if (!error) return {};
    return fail(Code::kUnavailable, fmt::format("cannot connect to {}: {} (is the server running?)",
                                                target_.text(), error.message()));
  }

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
      } else if (active_[due.request]) {
        const bool leaves = due.what == Due::What::kLeave;
        hang_up(active_[due.request], leaves ? Outcome::kLeft : Outcome::kTimeout,
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
    if (outstanding_ >= options_.max_outstanding) {
      return end_early(fmt::format("{} requests wait for the server: it is drowned", outstanding_));
    }
    ++outstanding_;
    last_send_ = records_[index].sent = now();
    const auto& request = plan_.requests[index];
    if (request.leave_after != measure::kNever) {
      add_due(scheduled + request.leave_after, index, Due::What::kLeave);
    }
    add_due(scheduled + options_.request_timeout, index, Due::What::kTimeout);
    dispatch(index);
  }

  /// On an idle connection when there is one.
  void dispatch(std::uint32_t index) {
    ConnectionPtr connection;
    if (!idle_.empty()) {
      connection = std::move(idle_.back());
      idle_.pop_back();
      connection->reused = true;
    } else {
      connection = std::make_shared<Connection>(io_);
    }
    connection->request = index;
    connection->flight = std::make_unique<Flight>(
        FlightSpec{.streamed = options_.endpoint != measure::Endpoint::kEmbeddings,
                   .keep_text = plan_.requests[index].next != measure::kNoNext});
    active_[index] = connection;
    if (connection->reused) return write(connection);
    connection->socket.async_connect(endpoint_, [this, connection, index](const ErrorCode& error) {
      if (!carries(connection, index)) return;
      if (error) return fall(connection, error);
      ErrorCode ignored;
      connection->socket.set_option(Tcp::no_delay(true), ignored);
      connection->socket.non_blocking(true, ignored);
      write(connection);
    });
  }

  [[nodiscard]] static bool carries(const ConnectionPtr& connection, std::uint32_t index) {
    return connection->flight != nullptr && connection->request == index;
  }

  void write(const ConnectionPtr& connection) {
    const std::uint32_t index = connection->request;
    connection->writing = true;
    asio::async_write(
        connection->socket, asio::buffer(messages_[index]),
        [this, connection, index](const ErrorCode& error, std::size_t) {
          connection->writing = false;
          // A server that refuses a body may answer and close before it has it all.
          if (error && carries(connection, index) && !connection->flight->answered()) {
            fall(connection, error);
          }
        });
    wait_for_bytes(connection);
  }

  /// Waits without a buffer: one is enough for all connections, and the instant is the read's.
  void wait_for_bytes(const ConnectionPtr& connection) {
    const std::uint32_t index = connection->request;
    connection->socket.async_wait(Tcp::socket::wait_read,
                                  [this, connection, index](const ErrorCode& error) {
                                    if (!carries(connection, index)) return;
                                    if (error) return fall(connection, error);
                                    read(connection);
                                  });
  }

  void read(const ConnectionPtr& connection) {
    while (true) {
      ErrorCode error;
      const std::size_t count = connection->socket.read_some(asio::buffer(buffer_), error);
      const Instant at = now();
      if (error == asio::error::would_block) break;
      if (error) return fall(connection, error);
      connection->flight->feed({buffer_.data(), count}, at);
      if (connection->flight->ended()) return land(connection);
      if (count < buffer_.size()) break;
    }
    wait_for_bytes(connection);
  }

  /// The connection failed, or the server closed it.
  void fall(const ConnectionPtr& connection, const ErrorCode& error) {
    const std::uint32_t index = connection->request;
    if (connection->reused && !connection->flight->answered() && !over_) {
      // It had been closed while it lay idle; the request was never taken.
      close(connection);
      return dispatch(index);
    }
    connection->flight->cut(now(), error.message());
    land(connection);
  }

  void hang_up(const ConnectionPtr& connection, Outcome outcome, std::string_view detail) {
    connection->flight->end(now(), outcome, detail);
    land(connection);
  }

  void close(const ConnectionPtr& connection) {
    connection->flight.reset();
    ErrorCode ignored;
    connection->socket.close(ignored);
  }

  /// The flight ended: its record is kept, its connection perhaps, and what follows it is sent.
  void land(const ConnectionPtr connection) {
    const std::uint32_t index = connection->request;
    Flight& flight = *connection->flight;
    keep_record(index, flight.record());
    const auto& request = plan_.requests[index];
    const bool goes_on = request.next != measure::kNoNext && records_[index].completed();
    if (goes_on) {
      histories_[request.next] = bodies_.extend(histories_[index], request, flight.text());
      messages_[request.next] = message(request.next, histories_[request.next]);
    }
    histories_[index].clear();
    histories_[index].shrink_to_fit();
    if (flight.keeps_connection() && !connection->writing && !over_) {
      connection->flight.reset();
      idle_.push_back(connection);
    } else {
      close(connection);
    }
    messages_[index].clear();
    messages_[index].shrink_to_fit();
    active_[index].reset();
    --outstanding_;
    count_failures(records_[index]);
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

  void end_early(std::string why) {
    if (over_) return;
    stopped_ = std::move(why);
    end();
  }

  void end() {
    over_ = true;
    alarm_.cancel();
    ticker_.cancel();
    for (std::size_t i = 0; i < active_.size(); ++i) {
      if (const ConnectionPtr connection = active_[i]) {
        hang_up(connection, Outcome::kCutOff, "the run ended first");
      }
    }
    for (const auto& connection : idle_) {
      ErrorCode ignored;
      connection->socket.close(ignored);
    }
    idle_.clear();
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
  asio::steady_timer alarm_{io_};
  asio::steady_timer ticker_{io_};
  Tcp::endpoint endpoint_;
  SteadyClock::time_point start_;

  std::vector<std::string> messages_;   ///< Whole HTTP requests, by index; emptied once answered.
  std::vector<std::string> histories_;  ///< Of conversations, by the index of the turn to come.
  std::vector<measure::RequestRecord> records_;
  std::vector<ConnectionPtr> active_;  ///< By index; null when not in the air.
  std::vector<ConnectionPtr> idle_;
  std::vector<std::uint32_t> openings_;
  std::size_t next_opening_ = 0;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::uint64_t due_order_ = 0;
  std::uint32_t sends_due_ = 0;
  std::uint32_t outstanding_ = 0;
  std::uint32_t failures_ = 0;
  Instant last_send_{0};
  bool over_ = false;
  std::string stopped_;
  std::array<char, std::size_t{64} * 1024> buffer_;
};

}  // namespace

Result<LoadRun> run_load(const Target& target, const LoadOptions& options,
                         const measure::Plan& plan, const measure::BodyWriter& bodies,
                         const std::function<bool()>& stop) {
  const auto load = std::make_unique<Load>(target, options, plan, bodies, stop);
  return load->run();
}

}  // namespace weir::load
