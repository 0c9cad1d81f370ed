#include "weir/hub/places.h"

#include <algorithm>
#include <charconv>

#include "weir/http/url.h"
#include "weir/sys/files.h"
#include "weir/sys/mapped_file.h"

namespace weir::hub {
namespace {

constexpr const char* kPublicHub = "https://huggingface.co";
constexpr std::size_t kMaxTokenBytes = 4096;

/// The values the hub's own client takes for true.
bool is_true(const char* name) {
  std::string value = sys::environment(name).value_or("");
  std::ranges::transform(value, value.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return value == "1" || value == "ON" || value == "YES" || value == "TRUE";
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

std::string token_of(const std::string& hugging_face_home) {
  if (is_true("HF_HUB_DISABLE_IMPLICIT_TOKEN")) return {};
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (const auto value = sys::environment(name)) return trimmed(*value);
  }
  const std::string path = sys::environment("HF_TOKEN_PATH").value_or(hugging_face_home + "/token");
  // No readable file is no token: most people have none.
  return trimmed(sys::read_file(path, kMaxTokenBytes).value_or(""));
}

Result<std::chrono::milliseconds> idle_time(std::chrono::milliseconds usual) {
  const auto text = sys::environment("HF_HUB_DOWNLOAD_TIMEOUT");
  if (!text) return usual;
  int seconds = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  if (error != std::errc{} || end != text->data() + text->size() || seconds < 1 ||
      seconds > 86'400) {
    return fail(Code::kInvalidArgument,
                "HF_HUB_DOWNLOAD_TIMEOUT must be a whole number of seconds from 1 to 86400",
                "HF_HUB_DOWNLOAD_TIMEOUT");
  }
  return std::chrono::seconds(seconds);
}

Result<std::string> endpoint_of_environment() {
  std::string text = sys::environment("HF_ENDPOINT").value_or(kPublicHub);
  while (text.ends_with('/')) text.pop_back();
  if (const auto url = http::parse_url(text); !url) {
    return fail(Code::kInvalidArgument, "HF_ENDPOINT: " + url.error().message, "HF_ENDPOINT");
  }
  return text;
}

}  // namespace

Result<Places> Places::from_environment() {
  WEIR_TRY(const std::string cache, sys::cache_directory());
  const std::string home = sys::environment("HF_HOME").value_or(cache + "/huggingface");
  Places places;
  places.cache = sys::environment("WEIR_CACHE").value_or(cache + "/weir");
  places.hugging_face_cache = sys::environment("HF_HUB_CACHE").value_or(home + "/hub");
  WEIR_TRY(places.endpoint, endpoint_of_environment());
  places.token = token_of(home);
  places.offline = is_true("HF_HUB_OFFLINE");
  WEIR_TRY(places.idle, idle_time(places.idle));
  places.free_bytes = sys::free_disk_bytes;
  return places;
}

}  // namespace weir::hub
