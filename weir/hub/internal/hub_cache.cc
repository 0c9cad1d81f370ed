#include "weir/hub/internal/hub_cache.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>

#include "weir/sys/files.h"
#include "weir/sys/mapped_file.h"

namespace weir::hub {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t kMaxPickBytes = std::size_t{1} << 20;
/// A snapshot of more is not looked through.
constexpr std::size_t kMaxSnapshotFiles = 20'000;

std::string replaced(std::string text, char from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, 1, to);
  }
  return text;
}

bool is_commit(std::string_view text) {
  return text.size() == 40 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<Pick> parse_pick(std::string_view text) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  const auto* object = error ? nullptr : value.if_object();
  if (object == nullptr) return std::nullopt;
  const auto* commit = object->if_contains("commit");
  const auto* main = object->if_contains("main");
  const auto* files = object->if_contains("files");
  if (commit == nullptr || !commit->is_string() || main == nullptr || !main->is_string() ||
      files == nullptr || !files->is_object()) {
    return std::nullopt;
  }
  Pick pick{std::string(commit->get_string()), std::string(main->get_string()), {}};
  for (const auto& [name, bytes] : files->get_object()) {
    boost::system::error_code not_a_size;
    const auto size = bytes.to_number<std::uint64_t>(not_a_size);
    if (not_a_size || !check_relative_path(std::string_view(name))) return std::nullopt;
    pick.files.emplace_back(std::string(name), size);
  }
  if (!is_commit(pick.commit) || pick.files.empty()) return std::nullopt;
  return pick;
}

/// The files of a snapshot by their relative names.
std::vector<std::string> files_under(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  fs::recursive_directory_iterator entries(folder, error);
  for (; !error && entries != fs::recursive_directory_iterator() && out.size() < kMaxSnapshotFiles;
       entries.increment(error)) {
    if (entries.depth() > 8) entries.disable_recursion_pending();
    if (sys::is_regular_file(entries->path()))
      out.push_back(entries->path().lexically_relative(folder).string());
  }
  return out;
}

}  // namespace

HubCache::HubCache(const Places& places, const std::string& repo)
    : root_(places.cache + "/models/hub/" + replaced(repo, '/', "--")),
      foreign_(places.hugging_face_cache + "/models--" + replaced(repo, '/', "--")) {}

std::string HubCache::blob(const std::string& etag) const {
  return root_ + "/blobs/" + as_file_name(etag);
}

std::optional<std::string> HubCache::foreign_blob(const std::string& etag,
                                                  std::uint64_t bytes) const {
  const std::string path = foreign_ + "/blobs/" + as_file_name(etag);
  if (!sys::is_regular_file(path) || sys::file_size(path).value_or(~bytes) != bytes)
    return std::nullopt;
  std::error_code error;
  const auto absolute = fs::absolute(path, error);
  if (error) return std::nullopt;
  return absolute.string();
}

Status HubCache::link(const std::string& commit, const std::string& name,
                      const std::string& blob) const {
  const fs::path at = fs::path(snapshot(commit)) / name;
  WEIR_TRY_STATUS(sys::make_directories(at.parent_path()));
  // Ours relative, so that the cache may be moved as a whole.
  const bool ours = blob.starts_with(root_ + "/");
  const fs::path target =
      ours ? fs::path(blob).lexically_relative(at.parent_path()) : fs::path(blob);
  const std::string fresh = at.string() + ".new";
  WEIR_TRY_STATUS(sys::remove_all(fresh));
  std::error_code error;
  fs::create_symlink(target, fresh, error);
  if (error) return fail(Code::kIo, fresh + ": cannot link: " + error.message(), fresh);
  return sys::rename_durably(fresh, at);
}

std::string HubCache::pick_path(const HubReference& reference) const {
  const std::string file =
      reference.file.empty() ? "model" : "file-" + as_file_name(reference.file);
  return root_ + "/picks/" + as_file_name(reference.revision) + "/" + file;
}

Status HubCache::remember(const HubReference& reference, const Pick& pick) const {
  json::object files;
  for (const auto& [name, bytes] : pick.files) files[name] = bytes;
  const std::string path = pick_path(reference);
  WEIR_TRY_STATUS(sys::make_directories(fs::path(path).parent_path()));
  return sys::write_file_durably(
      path, json::serialize(
                json::object{{"commit", pick.commit}, {"main", pick.main}, {"files", files}}));
}

std::optional<std::string> HubCache::recall(const HubReference& reference) const {
  const auto text = sys::read_file(pick_path(reference), kMaxPickBytes);
  if (!text) return std::nullopt;
  const auto pick = parse_pick(*text);
  if (!pick) return std::nullopt;
  const std::string folder = snapshot(pick->commit);
  for (const auto& [name, bytes] : pick->files) {
    if (sys::file_size(folder + "/" + name).value_or(~bytes) != bytes) return std::nullopt;
  }
  return pick->main.empty() ? folder : folder + "/" + pick->main;
}

std::optional<std::string> HubCache::recall_foreign(const HubReference& reference) const {
  std::string commit = reference.revision;
  if (!is_commit(commit)) {
    commit = sys::read_file(foreign_ + "/refs/" + reference.revision, 64).value_or("");
    if (!is_commit(commit)) return std::nullopt;
  }
  const std::string folder = foreign_ + "/snapshots/" + commit;
  const auto choice = choose(files_under(folder), reference.file);
  if (!choice) return std::nullopt;
  return choice->main.empty() ? folder : folder + "/" + choice->main;
}

Status HubCache::drop_parts() const {
  std::error_code error;
  for (fs::directory_iterator entries(root_ + "/blobs", error);
       !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string path = entries->path().string();
    if (path.ends_with(".part") || path.ends_with(".part.json"))
      WEIR_TRY_STATUS(sys::remove_all(path));
  }
  return {};
}

}  // namespace weir::hub
