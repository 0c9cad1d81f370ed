// What a hub says and what a person writes: lists of files, references, Retry-After. Whatever is
// chosen to be written stays in its folder.
#include <cstdint>
#include <string_view>

#include "weir/base/check.h"
#include "weir/hub/internal/listing.h"
#include "weir/hub/internal/retry.h"
#include "weir/hub/names.h"

namespace {

bool leaves(std::string_view path) {
  return path.starts_with('/') || path == ".." || path.starts_with("../") ||
         path.find("/../") != std::string_view::npos || path.ends_with("/..") ||
         path.find('\0') != std::string_view::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto listing = weir::hub::parse_listing(text)) {
    for (const char* wanted : {"", "q4_0", "model.gguf"}) {
      const auto choice = weir::hub::choose(listing->files, wanted);
      if (!choice) continue;
      WEIR_CHECK(!choice->files.empty(), "a choice holds a file");
      for (const auto& file : choice->files)
        WEIR_CHECK(!leaves(file), "a chosen file stays in its folder");
    }
  }
  if (const auto reference = weir::hub::parse_hub_reference(text)) {
    WEIR_CHECK(!leaves(reference->file) && !leaves(reference->repo) && !leaves(reference->revision),
               "a reference is safe");
    const auto again = weir::hub::parse_hub_reference(reference->text());
    WEIR_CHECK(again && again->repo == reference->repo && again->revision == reference->revision,
               "it reads back");
  }
  if (const auto wait = weir::hub::parse_retry_after(text, 1'700'000'000))
    WEIR_CHECK(wait->count() >= 0, "time goes on");
  WEIR_CHECK(!leaves(weir::hub::as_file_name(text)), "a file name is no path");
  return 0;
}
