#include "weir/hub/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "weir/base/utf8.h"
#include "weir/hub/internal/checksum.h"

namespace weir::hub {
namespace {

constexpr std::string_view kScheme = "hf:";
/// Longer words are cut before they are compared: the table below is quadratic.
constexpr std::size_t kMaxCompared = 64;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

/// The hub's own rule for an owner or a repository (validate_repo_id of its client).
bool is_repo_part(std::string_view part) {
  return !part.empty() && part.size() <= 96 && std::ranges::all_of(part, is_word) &&
         part.front() != '-' && part.front() != '.' && part.back() != '-' && part.back() != '.' &&
         part.find("--") == std::string_view::npos && part.find("..") == std::string_view::npos;
}

bool is_revision(std::string_view text) {
  return !text.empty() && text.size() <= 255 && text.find("..") == std::string_view::npos &&
         text.front() != '/' && text.back() != '/' &&
         std::ranges::all_of(text, [](char c) { return is_word(c) || c == '/' || c == '+'; });
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Optimal string alignment distance.
std::size_t distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kMaxCompared);
  b = b.substr(0, kMaxCompared);
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string HubReference::text() const {
  std::string out = "hf:" + repo;
  if (!file.empty()) out += ":" + file;
  // An '@' in the file's name would otherwise be read as the revision's.
  if (revision != "main" || file.contains('@')) out += "@" + revision;
  return out;
}

bool is_hub_reference(std::string_view model) { return model.starts_with(kScheme); }

Result<HubReference> parse_hub_reference(std::string_view model) {
  const auto bad = [&](std::string_view why) {
    return fail(
        Code::kInvalidArgument,
        fmt::format(
            "{}: {}; write hf:OWNER/REPO, hf:OWNER/REPO:FILE or hf:OWNER/REPO:FILE@REVISION",
            escape_controls(model.substr(0, 200)), why),
        "model");
  };
  std::string_view rest = model.substr(std::min(kScheme.size(), model.size()));
  HubReference reference;
  const auto repo_end = std::min(rest.find_first_of(":@"), rest.size());
  reference.repo = rest.substr(0, repo_end);
  rest.remove_prefix(repo_end);
  const auto slash = reference.repo.find('/');
  if (slash == std::string::npos) return bad("no OWNER/REPO in it");
  if (!is_repo_part(std::string_view(reference.repo).substr(0, slash)) ||
      !is_repo_part(std::string_view(reference.repo).substr(slash + 1))) {
    return bad("the hub has no repository of such a name");
  }
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
    reference.revision = rest.substr(at + 1);
    rest = rest.substr(0, at);
    if (!is_revision(reference.revision)) return bad("the revision is no branch, tag or commit");
  }
  if (rest.starts_with(':')) {
    reference.file = rest.substr(1);
    if (const auto status = check_relative_path(reference.file); !status)
      return bad(status.error().message);
  }
  return reference;
}

Status check_relative_path(std::string_view path) {
  const auto bad = [&](std::string_view why) {
    return fail(Code::kCorrupt, fmt::format("the file name \"{}\" is refused: {}",
                                            escape_controls(path.substr(0, 200)), why));
  };
  if (path.empty()) return bad("it is empty");
  if (path.size() > 1024) return bad("it is longer than 1024 bytes");
  if (utf8::find_invalid(path) != std::string_view::npos) return bad("it is not UTF-8");
  int parts = 0;
  for (std::string_view rest = path; true;) {
    const auto end = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, end);
    if (part.empty() || part == "." || part == "..")
      return bad("a part of it is empty, \".\" or \"..\"");
    if (part.size() > 255) return bad("a part of it is longer than 255 bytes");
    if (++parts > 16) return bad("it has more than 16 parts");
    const auto hostile = [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F || c == '\\'; };
    if (std::ranges::any_of(part, hostile)) return bad("it holds a control byte or a backslash");
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  return {};
}

std::string escape_controls(std::string_view text) {
  std::string out;
  for (const char c : utf8::sanitize(text)) {
    if ((c >= 0 && c < 0x20) || c == 0x7F) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string as_file_name(std::string_view text) {
  if (!text.empty() && text.size() <= 128 && text.front() != '.' &&
      std::ranges::all_of(text, is_word)) {
    return std::string(text);
  }
  return sha256_hex(text);
}

std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  // A third of the word may be wrong; more is another word.
  std::size_t limit = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const auto candidate : candidates) {
    // What was left out at the end is the commonest slip of all: "gemma3" for "gemma3-270m".
    const bool begins = name.size() >= 3 && candidate.starts_with(name);
    const std::size_t d = begins ? 1 : distance(name, candidate);
    if (d < limit) {
      limit = d;
      best = candidate;
    }
  }
  return best;
}

}  // namespace weir::hub
