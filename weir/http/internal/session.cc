#include "weir/http/internal/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <ctime>
#include <iterator>
#include <utility>

namespace weir::http {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kReadBytes = 16 * 1024;
/// What a client may send ahead while its answer is being made; more is left in the kernel.
constexpr std::size_t kPipelineBytes = 64 * 1024;
/// After an answer that ends the connection: time for the client to read it before unread input of
/// its own would make the kernel throw it away (RFC 9112, 9.6).
constexpr milliseconds kLinger{2000};

std::string_view reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Status";
  }
}

bool sane_id(std::string_view id) {
  return !id.empty() && id.size() <= 128 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.' || c == ':';
  });
}

void put_date(std::string& out) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[64];
  const auto size = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc);
  out += "date: ";
  out.append(text, size);
  out += "\r\n";
}

}  // namespace

void Core::post(std::function<void()> work) {
  const std::lock_guard lock(mutex);
  if (!stopped) asio::post(io, std::move(work));
}

std::string Core::new_id() { return fmt::format("req-{:016x}", random()); }

Session::Session(std::shared_ptr<Core> core, asio::ip::tcp::socket socket)
    : core_(std::move(core)), socket_(std::move(socket)), wake_(core_->io) {
  boost::system::error_code fault;
  const auto peer = socket_.remote_endpoint(fault);
  if (!fault) peer_ = fmt::format("{}:{}", peer.address().to_string(), peer.port());
  socket_.set_option(asio::ip::tcp::no_delay(true), fault);
  if (core_->options.send_buffer_bytes > 0) {
    socket_.set_option(asio::socket_base::send_buffer_size(core_->options.send_buffer_bytes),
                       fault);
  }
  core_->sessions.insert(this);
  const std::lock_guard lock(core_->mutex);
  ++core_->stats.connections;
  ++core_->stats.open;
}

Session::~Session() { close(); }

void Session::close() {
  if (!open_) return;
  open_ = false;
  boost::system::error_code fault;
  socket_.close(fault);
  broken_ = true;
  tell_gone();
  changed();
  core_->sessions.erase(this);
  const std::lock_guard lock(core_->mutex);
  --core_->stats.open;
}

asio::awaitable<void> Session::wait(Time deadline) {
  boost::system::error_code cancelled;
  wake_.expires_at(deadline);
  co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
}

Session::Time Session::write_deadline() const {
  return write_active_ ? progress_ + core_->options.write_timeout : Time::max();
}

void Session::read_more() {
  if (reading_ || eof_ || broken_ || inbox_.size() >= kPipelineBytes) return;
  reading_ = true;
  read_buffer_.resize(kReadBytes);
  socket_.async_read_some(
      asio::buffer(read_buffer_),
      [self = shared_from_this()](boost::system::error_code fault, std::size_t n) {
        self->reading_ = false;
        self->inbox_.append(self->read_buffer_, 0, n);
        if (fault == asio::error::eof) {
          self->eof_ = true;
        } else if (fault) {
          self->broken_ = true;
        }
        self->changed();
      });
}

void Session::write_more() {
  if (write_active_ || outbox_.empty() || broken_) return;
  writing_.swap(outbox_);
  outbox_.clear();
  written_ = 0;
  write_active_ = true;
  progress_ = Clock::now();
  write_step();
}

void Session::write_step() {
  socket_.async_write_some(
      asio::buffer(writing_.data() + written_, writing_.size() - written_),
      [self = shared_from_this()](boost::system::error_code fault, std::size_t n) {
        if (fault) {
          self->broken_ = true;
          self->write_active_ = false;
          self->changed();
          return;
        }
        self->written_ += n;
        self->progress_ = Clock::now();
        if (self->written_ < self->writing_.size()) return self->write_step();
        self->writing_.clear();
        self->written_ = 0;
        self->write_active_ = false;
        self->write_more();
        if (self->writable_ && self->unsent_bytes() <= Exchange::kLowWater) {
          std::exchange(self->writable_, nullptr)();
        }
        self->changed();
      });
}

asio::awaitable<void> Session::run() {
  const auto self = shared_from_this();
  for (bool first = true;; first = false) {
    RequestParser parser(core_->options.limits);
    const bool whole = co_await read_request(parser, first);
    if (!whole) break;
    co_await answer(parser.take());
    if (!keep_alive_ || broken_) break;
  }
  co_await flush();
  if (!broken_ && !cut_) co_await linger();
  close();
}

asio::awaitable<void> Session::refuse() {
  const auto self = shared_from_this();
  keep_alive_ = false;
  answer_fault(503, "the server has as many connections as it may hold; try again soon");
  co_await flush();
  if (!broken_) co_await linger();
  close();
}

asio::awaitable<bool> Session::read_request(RequestParser& parser, bool first) {
  const auto& options = core_->options;
  Time deadline = Clock::now() + (first ? options.header_timeout : options.idle_timeout);
  enum { kIdle, kHead, kBody } phase = kIdle;
  bool continued = false;
  for (;;) {
    const auto taken = parser.feed(inbox_);
    if (!taken) {
      answer_fault(taken.error().status, taken.error().message);
      co_return false;
    }
    inbox_.erase(0, *taken);
    if (parser.done()) co_return true;
    if (phase == kIdle && parser.started()) {
      phase = kHead;
      deadline = Clock::now() + options.header_timeout;
    }
    if (phase != kBody && parser.has_head()) {
      phase = kBody;
      deadline = Clock::now() + options.body_timeout;
    }
    if (parser.expects_continue() && !continued) {
      continued = true;
      outbox_ += "HTTP/1.1 100 Continue\r\n\r\n";
    }
    if (eof_ || broken_) {
      if (phase != kIdle && !broken_) answer_fault(400, "the request ended before it was whole");
      co_return false;
    }
    write_more();
    read_more();
    co_await wait(std::min(deadline, write_deadline()));
    const Time now = Clock::now();
    if (now >= write_deadline()) broken_ = true;
    if (now < deadline) continue;
    const auto last = parser.feed(inbox_);  // What has just come may still complete it.
    if (last) inbox_.erase(0, *last);
    if (last && parser.done()) co_return true;
    if (parser.started()) answer_fault(408, "the request took too long to arrive");
    co_return false;
  }
}

asio::awaitable<void> Session::answer(Request request) {
  ++serial_;
  answer_ = Answer::kNone;
  head_only_ = request.method == "HEAD";
  chunked_ = !request.http_1_0;
  keep_alive_ = request.keep_alive;
  const auto* given = request.find("x-request-id");
  request.id = given != nullptr && sane_id(*given) ? *given : core_->new_id();
  request.peer = peer_;
  record_ = AccessRecord{peer_, request.method, request.path, request.id, {}, 0, 0, {}, false};
  began_ = Clock::now();
  {
    const std::lock_guard lock(core_->mutex);
    ++core_->stats.requests;
    ++core_->stats.active;
  }
  {
    auto handle = std::make_shared<Exchange>(shared_from_this(), serial_, std::move(request));
    handle_ = handle;
    try {
      core_->handler(std::move(handle));
    } catch (const std::exception&) {  // The handle is dropped, which answers 500.
    }
  }
  while (answer_ != Answer::kComplete || unsent_bytes() > 0) {
    if (broken_ || (eof_ && answer_ != Answer::kComplete)) {
      broken_ = true;
      break;
    }
    write_more();
    read_more();
    co_await wait(write_deadline());
    if (Clock::now() >= write_deadline()) broken_ = true;
  }
  const bool gone = answer_ != Answer::kComplete || unsent_bytes() > 0;
  record_.gone = gone;
  if (gone) tell_gone();
  ++serial_;  // Handles that still exist speak to nobody now.
  gone_ = nullptr;
  writable_ = nullptr;
  record_.duration = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began_);
  if (core_->options.log) core_->options.log(record_);
  const std::lock_guard lock(core_->mutex);
  --core_->stats.active;
  ++(gone ? core_->stats.gone : core_->stats.answered);
  if (core_->stats.active == 0) core_->idle.notify_all();
}

asio::awaitable<void> Session::flush() {
  while (unsent_bytes() > 0 && !broken_) {
    write_more();
    co_await wait(write_deadline());
    if (Clock::now() >= write_deadline()) broken_ = true;
  }
}

asio::awaitable<void> Session::linger() {
  boost::system::error_code fault;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, fault);
  const Time deadline = Clock::now() + kLinger;
  while (!eof_ && !broken_ && Clock::now() < deadline) {
    inbox_.clear();
    read_more();
    co_await wait(deadline);
  }
}

void Session::answer_fault(int status, std::string_view message) {
  keep_alive_ = false;
  head_only_ = false;
  chunked_ = true;
  record_ = AccessRecord{peer_, "-", "-", core_->new_id(), {}, 0, 0, {}, false};
  Response response;
  response.status = status;
  if (status == 503) response.headers.push_back({"retry-after", "1"});
  if (core_->options.error_body) response.body = core_->options.error_body(status, message);
  put_head(response, response.body.size(), false);
  outbox_ += response.body;
  if (core_->options.log) core_->options.log(record_);
}

void Session::put_head(const Response& response, std::size_t body_bytes, bool stream) {
  if (core_->draining || (stream && !chunked_)) keep_alive_ = false;
  const std::size_t before = outbox_.size();
  fmt::format_to(std::back_inserter(outbox_), "HTTP/1.1 {} {}\r\n", response.status,
                 reason(response.status));
  put_date(outbox_);
  const bool has_body = response.status != 204;
  if (has_body)
    fmt::format_to(std::back_inserter(outbox_), "content-type: {}\r\n", response.content_type);
  if (stream && chunked_) {
    outbox_ += "transfer-encoding: chunked\r\n";
  } else if (!stream && has_body) {
    fmt::format_to(std::back_inserter(outbox_), "content-length: {}\r\n", body_bytes);
  }
  fmt::format_to(std::back_inserter(outbox_), "x-request-id: {}\r\nconnection: {}\r\n", record_.id,
                 keep_alive_ ? "keep-alive" : "close");
  for (const auto& [name, value] : response.headers) {
    fmt::format_to(std::back_inserter(outbox_), "{}: {}\r\n", name, value);
  }
  outbox_ += "\r\n";
  record_.status = response.status;
  record_.bytes += outbox_.size() - before;
}

void Session::put_chunk(std::string_view bytes) {
  if (bytes.empty() || head_only_) return;
  const std::size_t before = outbox_.size();
  if (chunked_) fmt::format_to(std::back_inserter(outbox_), "{:x}\r\n", bytes.size());
  outbox_ += bytes;
  if (chunked_) outbox_ += "\r\n";
  record_.bytes += outbox_.size() - before;
}

bool Session::is_current(std::uint64_t serial) const { return serial == serial_ && !broken_; }

void Session::tell_gone() {
  if (const auto handle = handle_.lock()) handle->gone_.store(true, std::memory_order_relaxed);
  if (gone_) std::exchange(gone_, nullptr)();
}

void Session::post(std::function<void()> work) { core_->post(std::move(work)); }

void Session::respond(std::uint64_t serial, Response response) {
  if (!is_current(serial) || answer_ != Answer::kNone) return;
  put_head(response, response.body.size(), false);
  if (!head_only_ && response.status != 204) {
    outbox_ += response.body;
    record_.bytes += response.body.size();
  }
  answer_ = Answer::kComplete;
  write_more();
  changed();
}

void Session::start_stream(std::uint64_t serial, Response head) {
  if (!is_current(serial) || answer_ != Answer::kNone) return;
  put_head(head, 0, true);
  answer_ = Answer::kStreaming;
  put_chunk(head.body);
  write_more();
  changed();
}

void Session::write(std::uint64_t serial, std::string_view bytes) {
  if (!is_current(serial) || answer_ != Answer::kStreaming) return;
  put_chunk(bytes);
  write_more();
  changed();
}

void Session::end(std::uint64_t serial, bool whole) {
  if (!is_current(serial) || answer_ != Answer::kStreaming) return;
  if (whole && chunked_ && !head_only_) outbox_ += "0\r\n\r\n";
  if (!whole) {
    keep_alive_ = false;
    cut_ = true;
  }
  answer_ = Answer::kComplete;
  write_more();
  changed();
}

void Session::dropped(std::uint64_t serial) {
  if (!is_current(serial) || answer_ == Answer::kComplete) return;
  if (answer_ == Answer::kStreaming) return end(serial, false);
  Response response;
  response.status = 500;
  if (core_->options.error_body) {
    response.body = core_->options.error_body(500, "the server failed to answer this request");
  }
  respond(serial, std::move(response));
}

void Session::on_gone(std::uint64_t serial, std::function<void()> callback) {
  if (is_current(serial)) {
    gone_ = std::move(callback);
  } else {
    callback();
  }
}

void Session::on_writable(std::uint64_t serial, std::function<void()> callback) {
  if (is_current(serial)) writable_ = std::move(callback);
}

void Session::note(std::uint64_t serial, std::string words) {
  if (serial == serial_) record_.note = std::move(words);
}

Exchange::Exchange(std::shared_ptr<Session> session, std::uint64_t serial, Request request)
    : session_(std::move(session)), serial_(serial), request_(std::move(request)) {}

Exchange::~Exchange() {
  session_->post([session = session_, serial = serial_] { session->dropped(serial); });
}

void Exchange::post(std::function<void()> work) { session_->post(std::move(work)); }
void Exchange::respond(Response response) { session_->respond(serial_, std::move(response)); }
void Exchange::start_stream(Response head) { session_->start_stream(serial_, std::move(head)); }
void Exchange::write(std::string_view bytes) { session_->write(serial_, bytes); }
void Exchange::end() { session_->end(serial_, true); }
void Exchange::fail() { session_->end(serial_, false); }
void Exchange::on_gone(std::function<void()> callback) {
  session_->on_gone(serial_, std::move(callback));
}
std::size_t Exchange::unsent_bytes() const { return session_->unsent_bytes(); }
void Exchange::on_writable(std::function<void()> callback) {
  session_->on_writable(serial_, std::move(callback));
}
void Exchange::note(std::string words) { session_->note(serial_, std::move(words)); }

}  // namespace weir::http
