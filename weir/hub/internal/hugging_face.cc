#include "weir/hub/internal/hugging_face.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "weir/base/math.h"
#include "weir/http/url.h"
#include "weir/hub/internal/download.h"
#include "weir/hub/internal/hub_cache.h"
#include "weir/hub/internal/listing.h"

namespace weir::hub {
namespace {

struct RemoteFile {
  std::string name;
  std::string commit;
  std::string etag;
  std::uint64_t bytes = 0;
};

std::string unquoted(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"')
    etag = etag.substr(1, etag.size() - 2);
  return std::string(etag);
}

class HubPull {
 public:
  HubPull(const HubReference& reference, Session& session)
      : reference_(reference),
        session_(session),
        cache_(session.places(), reference.repo),
        asking_(asking_options(session)),
        fetching_(session.client_options()) {}

  Result<std::string> run() {
    WEIR_TRY_STATUS(sys::make_directories(cache_.root() + "/blobs"));
    WEIR_TRY(const auto lock, session_.lock(cache_.lock_path()));
    session_.tell(Stage::kAsking);
    WEIR_TRY(const Choice choice, what_to_fetch());
    std::vector<RemoteFile> files;
    std::uint64_t total = 0;
    for (const auto& name : choice.files) {
      WEIR_TRY(RemoteFile file, ask_about(name));
      if (!commit_.empty() && commit_ != file.commit) {
        return fail(Code::kUnavailable,
                    reference_.text() + " changed while it was being read: try again");
      }
      commit_ = file.commit;
      const auto sum = checked_add(total, file.bytes);
      WEIR_TRY_STATUS(session_.check_size(sum.value_or(~std::uint64_t{0})));
      total = *sum;
      files.push_back(std::move(file));
    }
    WEIR_TRY_STATUS(fetch_all(files, total));
    Pick pick{commit_, choice.main, {}};
    for (const auto& file : files) pick.files.emplace_back(file.name, file.bytes);
    WEIR_TRY_STATUS(cache_.remember(reference_, pick));
    WEIR_TRY_STATUS(cache_.drop_parts());
    const std::string folder = cache_.snapshot(commit_);
    return choice.main.empty() ? folder : folder + "/" + choice.main;
  }

 private:
  /// Answers about files are redirects to where the bytes are; what they say is in their own head.
  static http::ClientOptions asking_options(const Session& session) {
    auto options = session.client_options();
    options.redirects = http::Redirects::kSameOrigin;
    return options;
  }

  [[nodiscard]] http::ClientHeaders credentials() const {
    http::ClientHeaders headers;
    const std::string& token = session_.places().token;
    if (!token.empty()) headers.add("Authorization", "Bearer " + token);
    return headers;
  }

  [[nodiscard]] std::string resolve_url(const std::string& revision,
                                        const std::string& name) const {
    return fmt::format("{}/{}/resolve/{}/{}", session_.places().endpoint, reference_.repo,
                       http::escape(revision, false), http::escape(name, true));
  }

  Result<Choice> what_to_fetch() {
    if (reference_.names_file()) return Choice{{reference_.file}, reference_.file};
    WEIR_TRY(const Listing listing, list());
    commit_ = listing.commit;
    return choose(listing.files, reference_.file);
  }

  Result<Listing> list() {
    http::ClientRequest request{
        "GET",
        fmt::format("{}/api/models/{}/revision/{}", session_.places().endpoint, reference_.repo,
                    http::escape(reference_.revision, false)),
        credentials(),
        {}};
    WEIR_TRY(const auto response, ask(session_, asking_, request, "hf:" + reference_.repo));
    if (response.status != 200) {
      return fail(
          Code::kCorrupt,
          fmt::format("hf:{}: the hub's list of files is a redirect elsewhere", reference_.repo));
    }
    return parse_listing(response.body);
  }

  Result<RemoteFile> ask_about(const std::string& name) {
    // A commit known from the list pins all files to it, whatever is pushed meanwhile.
    const std::string& revision = commit_.empty() ? reference_.revision : commit_;
    const http::ClientRequest request{"HEAD", resolve_url(revision, name), credentials(), {}};
    const std::string what = fmt::format("hf:{}:{}", reference_.repo, name);
    auto response = ask(session_, asking_, request, what);
    if (!response) return std::unexpected(suggest(std::move(response).error(), name));
    const auto header = [&](const char* field) { return response->headers.find(field); };
    RemoteFile file;
    file.name = name;
    file.commit = header("x-repo-commit").value_or("");
    file.etag = unquoted(header("x-linked-etag").value_or(header("etag").value_or("")));
    // Behind a redirect, Content-Length is the redirect's own.
    auto size = header("x-linked-size");
    if (!size && response->status == 200) size = header("content-length");
    const std::string digits(size.value_or(""));
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), file.bytes);
    const bool sized = error == std::errc{} && end == digits.data() + digits.size();
    const bool commit = file.commit.size() == 40 &&
                        file.commit.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!commit || file.etag.empty() || !sized) {
      return fail(
          Code::kCorrupt,
          fmt::format("{}: the server states no commit, etag or size; is {} a Hugging Face hub?",
                      what, session_.places().endpoint));
    }
    return file;
  }

  /// A missing file, with the nearest of those there are.
  Error suggest(Error error, const std::string& name) {
    if (error.code != Code::kNotFound || !reference_.names_file()) return error;
    const auto listing = list();
    if (!listing) return error;
    const auto near = choose(listing->files, name);
    return near ? error : near.error();
  }

  Status fetch_all(const std::vector<RemoteFile>& files, std::uint64_t total) {
    std::uint64_t done = 0;
    for (const auto& file : files) {
      WEIR_TRY(const std::string blob, fetch(file, done, total));
      WEIR_TRY_STATUS(cache_.link(file.commit, file.name, blob));
      done += file.bytes;
      session_.advance(done, total);
    }
    return {};
  }

  /// The path of the file's bytes.
  Result<std::string> fetch(const RemoteFile& file, std::uint64_t done, std::uint64_t total) {
    const std::string blob = cache_.blob(file.etag);
    if (sys::is_regular_file(blob) && sys::file_size(blob).value_or(~file.bytes) == file.bytes)
      return blob;
    if (auto foreign = cache_.foreign_blob(file.etag, file.bytes)) return *std::move(foreign);
    const Download download_spec{
        resolve_url(file.commit, file.name), credentials(), blob, file.name, file.bytes,
        Digest::from_etag(file.etag),        done,          total};
    WEIR_TRY_STATUS(download(session_, fetching_, download_spec));
    return blob;
  }

  const HubReference& reference_;
  Session& session_;
  HubCache cache_;
  http::Client asking_;
  http::Client fetching_;
  std::string commit_;
};

}  // namespace

std::optional<std::string> find_hub_model(const HubReference& reference, const Places& places) {
  const HubCache cache(places, reference.repo);
  if (auto path = cache.recall(reference)) return path;
  return cache.recall_foreign(reference);
}

Result<std::string> pull_hub_model(const HubReference& reference, Session& session) {
  return HubPull(reference, session).run();
}

}  // namespace weir::hub
