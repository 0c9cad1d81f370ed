#include "weir/hub/internal/download.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>

#include "weir/base/bytes.h"
#include "weir/http/url.h"
#include "weir/hub/names.h"
#include "weir/sys/clock.h"
#include "weir/sys/mapped_file.h"

namespace weir::hub {
namespace {

namespace json = boost::json;

/// Of a peer's explanation this much is shown.
constexpr std::size_t kMaxShown = 200;

struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t total = 0;
};

/// "bytes 5-9/10"
std::optional<ContentRange> parse_content_range(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  const auto dash = text.find('-');
  const auto slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash)
    return std::nullopt;
  ContentRange range;
  const auto number = [](std::string_view digits, std::uint64_t& out) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return error == std::errc{} && end == digits.data() + digits.size();
  };
  if (!number(text.substr(0, dash), range.first) || !number(text.substr(slash + 1), range.total))
    return std::nullopt;
  return range;
}

/// The unfinished file and what is known of it.
class Part {
 public:
  explicit Part(const std::string& path) : path_(path + ".part"), notes_(path + ".part.json") {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t size() const { return sys::file_size(path_).value_or(0); }

  /// The validator of the server that sent the bytes, for If-Range: strong etags only (RFC
  /// 9110, 13.1.5).
  [[nodiscard]] std::string validator() const {
    const auto text = sys::read_file(notes_, 4096);
    if (!text) return {};
    boost::system::error_code error;
    const json::value notes = json::parse(*text, error);
    if (error || !notes.is_object()) return {};
    const auto* etag = notes.get_object().if_contains("etag");
    return etag != nullptr && etag->is_string() ? std::string(etag->get_string()) : std::string();
  }
  [[nodiscard]] Status note(const http::ClientResponse& response) const {
    const std::string etag(response.headers.find("etag").value_or(""));
    if (!etag.starts_with('"') || etag.size() > 1024) return sys::remove_all(notes_);
    return sys::write_file_durably(notes_, json::serialize(json::object{{"etag", etag}}));
  }
  [[nodiscard]] Status drop() const {
    WEIR_TRY_STATUS(sys::remove_all(notes_));
    return sys::remove_all(path_);
  }
  [[nodiscard]] Status finish(const std::string& to) const {
    WEIR_TRY_STATUS(sys::rename_durably(path_, to));
    return sys::remove_all(notes_);
  }

 private:
  std::string path_;
  std::string notes_;
};

/// The state of one download over its attempts.
class Transfer {
 public:
  Transfer(Session& session, const http::Client& client, const Download& file)
      : session_(session),
        client_(client),
        file_(file),
        part_(file.path),
        hasher_(file.digest.kind, file.bytes) {}

  /// Takes up what an earlier run left.
  Status begin() {
    if (part_.size() > file_.bytes) WEIR_TRY_STATUS(part_.drop());
    resumed_ = part_.size() > 0;
    WEIR_TRY_STATUS(session_.need_room(session_.places().cache, file_.bytes - part_.size()));
    if (resumed_) {
      session_.tell(Stage::kVerifying, file_.name, "going on from " + format_bytes(part_.size()));
      WEIR_TRY_STATUS(hash_file(part_.path(), hasher_, [&] { return !session_.cancelled(); }));
    }
    WEIR_TRY(auto out, sys::OutputFile::open(part_.path(), sys::OutputFile::Mode::kAppend));
    out_.emplace(std::move(out));
    return {};
  }

  [[nodiscard]] std::uint64_t have() const { return out_->size(); }
  [[nodiscard]] bool resumed() const { return resumed_; }

  /// One request. Nothing means: the file is whole.
  std::optional<Failure> attempt() {
    if (have() == file_.bytes && file_.bytes > 0) return std::nullopt;
    http::ClientRequest request{"GET", file_.url, file_.headers, {}};
    const std::uint64_t from = have();
    if (from > 0) {
      request.headers.set("Range", fmt::format("bytes={}-", from));
      if (const std::string validator = part_.validator(); !validator.empty()) {
        request.headers.set("If-Range", validator);
      }
    }
    http::ClientHandlers handlers;
    handlers.cancelled = [&] { return session_.cancelled(); };
    handlers.head = [&](const http::ClientResponse& response) { return accept(response, from); };
    handlers.body = [&](std::string_view bytes) { return take(bytes); };
    const auto response = client_.send(request, handlers);
    if (!response) return failure_of(response.error());
    if (response->status == 416) {
      // What we have is not a beginning of what they have.
      if (const auto status = start_over(); !status) return failure_of(status.error());
      return Failure{{Code::kCorrupt, file_.name + ": the server no longer has what was begun", {}},
                     from > 0,
                     {}};
    }
    if (response->status / 100 != 2) return refused(*response);
    if (have() < file_.bytes) {
      return Failure{{Code::kUnavailable,
                      fmt::format("{}: {} of {} bytes came", file_.name, have(), file_.bytes),
                      {}},
                     true,
                     {}};
    }
    return std::nullopt;
  }

  /// Compares the checksum and gives the file its name. A mismatch leaves nothing to resume.
  Status finish() {
    session_.tell(Stage::kVerifying, file_.name);
    WEIR_TRY_STATUS(out_->sync());
    out_.reset();
    const std::string found = hasher_.finish();
    if (found == file_.digest.hex) return part_.finish(file_.path);
    WEIR_TRY_STATUS(part_.drop());
    return fail(
        Code::kCorrupt,
        fmt::format(
            "{}: its checksum is {}, the hub states {}; what was fetched is thrown away, try again",
            file_.name, found, file_.digest.hex),
        file_.name);
  }

 private:
  Status start_over() {
    hasher_ = Hasher(file_.digest.kind, file_.bytes);
    resumed_ = false;
    return out_->truncate();
  }

  /// The hub's refusals have reasons; those of the storage it redirects to (a signed address that
  /// ran out, above all) are met by asking the hub again.
  [[nodiscard]] Failure refused(const http::ClientResponse& response) const {
    const auto asked = http::parse_url(file_.url);
    const auto answered = http::parse_url(response.url);
    if (asked && answered && asked->same_origin(*answered)) {
      return failure_of(response, file_.name, file_.headers.find("Authorization").has_value());
    }
    Failure failure = failure_of(response, file_.name, false);
    failure.error = {Code::kUnavailable,
                     fmt::format("{}: the hub's storage answered {}", file_.name, response.status),
                     {}};
    failure.may_pass |= response.status == 403;
    return failure;
  }

  Status accept(const http::ClientResponse& response, std::uint64_t from) {
    if (response.status == 206) {
      const auto range = parse_content_range(response.headers.find("content-range").value_or(""));
      if (range && range->first == from && range->total == file_.bytes) return {};
      WEIR_TRY_STATUS(start_over());
      return fail(Code::kUnavailable,
                  fmt::format("{}: the server sent another range than asked for", file_.name));
    }
    if (response.status / 100 != 2) return {};
    // The whole file: no range was asked for, or it has changed since.
    if (from > 0) WEIR_TRY_STATUS(start_over());
    const auto stated = response.headers.find("content-length");
    if (stated && *stated != std::to_string(file_.bytes)) {
      return fail(Code::kCorrupt,
                  fmt::format("{}: the hub states {} bytes, its server sends {}", file_.name,
                              file_.bytes, escape_controls(stated->substr(0, 20))));
    }
    session_.tell(Stage::kDownloading, file_.name);
    return part_.note(response);
  }

  Status take(std::string_view bytes) {
    if (bytes.size() > file_.bytes - have()) {
      return fail(Code::kCorrupt, fmt::format("{}: more than the {} bytes the hub states came",
                                              file_.name, file_.bytes));
    }
    if (auto status = out_->write(bytes); !status) {
      if (status.error().code == Code::kExhausted) {
        status.error().message +=
            "; what is here is kept: free some room and run the same command again";
      }
      return status;
    }
    hasher_.update(bytes);
    session_.advance(file_.model_done + have(), file_.model_total);
    return {};
  }

  Session& session_;
  const http::Client& client_;
  const Download& file_;
  Part part_;
  Hasher hasher_;
  std::optional<sys::OutputFile> out_;
  bool resumed_ = false;
};

std::unexpected<Error> give_up(const Failure& failure, const RetryPolicy& policy) {
  Error error = failure.error;
  if (failure.retry_after && *failure.retry_after > policy.longest_asked) {
    error.message +=
        fmt::format("; it asks to wait {} s: try again then", failure.retry_after->count() / 1000);
  } else if (failure.may_pass) {
    error.message += fmt::format(" (tried {} times)", policy.tries);
  }
  return std::unexpected(std::move(error));
}

Status wait_to_retry(Session& session, const std::string& name, const Failure& failure,
                     Milliseconds wait) {
  session.tell(Stage::kRetrying, name,
               fmt::format("{}; trying again in {:.1f} s", failure.error.message,
                           static_cast<double>(wait.count()) / 1000));
  return session.sleep(wait);
}

Error explain(const http::ClientResponse& response, const std::string& what, bool had_token) {
  const std::string_view code = response.headers.find("x-error-code").value_or("");
  if (code == "GatedRepo" || response.status == 403) {
    return {
        Code::kPermission,
        fmt::format(
            "{}: access must be granted first: accept its terms on the model's page of the hub{}",
            what, had_token ? "" : ", then set HF_TOKEN"),
        {}};
  }
  if (code == "RevisionNotFound")
    return {Code::kNotFound, what + ": the repository has no such revision", {}};
  if (code == "EntryNotFound")
    return {Code::kNotFound, what + ": the repository has no such file", {}};
  if (response.status == 401) {
    return {
        Code::kUnauthenticated,
        what + (had_token ? ": the token was refused, or there is no such repository; see HF_TOKEN"
                          : ": there is no such repository, or it is private: set HF_TOKEN to a "
                            "token that may read it"),
        {}};
  }
  if (code == "RepoNotFound")
    return {Code::kNotFound, what + ": the hub has no such repository", {}};
  if (response.status == 404) return {Code::kNotFound, what + ": the hub has nothing there", {}};
  std::string said(response.headers.find("x-error-message").value_or(""));
  said = escape_controls(std::string_view(said).substr(0, kMaxShown));
  return {Code::kUnavailable,
          fmt::format("{}: the hub answered {}{}{}", what, response.status,
                      said.empty() ? "" : ": ", said),
          {}};
}

}  // namespace

Failure failure_of(const http::ClientResponse& response, const std::string& what, bool had_token) {
  Failure failure;
  failure.error = explain(response, what, had_token);
  failure.may_pass = may_pass(response.status);
  if (const auto after = response.headers.find("retry-after"); after && failure.may_pass) {
    failure.retry_after = parse_retry_after(*after, sys::SystemClock().unix_seconds());
  }
  return failure;
}

Result<http::ClientResponse> ask(Session& session, const http::Client& client,
                                 const http::ClientRequest& request, const std::string& what,
                                 const RetryPolicy& policy) {
  http::ClientHandlers handlers;
  handlers.cancelled = [&] { return session.cancelled(); };
  for (int failed = 1;; ++failed) {
    auto response = client.send(request, handlers);
    if (response && response->status / 100 <= 3) return response;
    const Failure failure =
        response ? failure_of(*response, what, request.headers.find("Authorization").has_value())
                 : failure_of(response.error());
    const auto wait = next_wait(policy, failed, failure);
    if (!wait) return give_up(failure, policy);
    WEIR_TRY_STATUS(wait_to_retry(session, what, failure, *wait));
  }
}

Status download(Session& session, const http::Client& client, const Download& file,
                const RetryPolicy& policy) {
  // Two rounds: bytes resumed from an earlier run may be bad through no fault of this one's.
  for (int round = 0;; ++round) {
    Transfer transfer(session, client, file);
    WEIR_TRY_STATUS(transfer.begin());
    session.tell(Stage::kDownloading, file.name);
    int failed = 0;
    while (true) {
      const std::uint64_t before = transfer.have();
      const auto failure = transfer.attempt();
      if (!failure) break;
      failed = transfer.have() > before ? 1 : failed + 1;
      const auto wait = next_wait(policy, failed, *failure);
      if (!wait) return give_up(*failure, policy);
      WEIR_TRY_STATUS(wait_to_retry(session, file.name, *failure, *wait));
    }
    const bool again = transfer.resumed() && round == 0;
    auto status = transfer.finish();
    if (status || !again || status.error().code != Code::kCorrupt) return status;
  }
}

}  // namespace weir::hub
