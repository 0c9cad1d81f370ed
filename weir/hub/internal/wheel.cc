#include "weir/hub/internal/wheel.h"

#include <fmt/format.h>
#include <zip.h>

#include <memory>
#include <vector>

namespace weir::hub {
namespace {

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

std::unexpected<Error> corrupt(const std::string& wheel, std::string_view why) {
  return fail(Code::kCorrupt, fmt::format("{}: {}", wheel, why), wheel);
}

}  // namespace

Status read_member(const std::string& wheel, const std::string& member, std::uint64_t max_bytes,
                   const std::function<Status(std::string_view)>& sink) {
  int code = 0;
  const std::unique_ptr<zip_t, Discard> archive(zip_open(wheel.c_str(), ZIP_RDONLY, &code));
  if (archive == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    return corrupt(wheel, "not a readable wheel: " + why);
  }
  const zip_int64_t index = zip_name_locate(archive.get(), member.c_str(), ZIP_FL_ENC_GUESS);
  if (index < 0) return fail(Code::kNotFound, fmt::format("{} holds no {}", wheel, member), wheel);
  const std::unique_ptr<zip_file_t, Discard> file(
      zip_fopen_index(archive.get(), static_cast<zip_uint64_t>(index), 0));
  if (file == nullptr) return corrupt(wheel, member + ": " + zip_strerror(archive.get()));

  std::vector<char> chunk(std::size_t{1} << 20);
  std::uint64_t left = max_bytes;
  while (true) {
    const zip_int64_t n = zip_fread(file.get(), chunk.data(), chunk.size());
    if (n < 0) return corrupt(wheel, member + ": " + zip_file_strerror(file.get()));
    if (n == 0) return {};
    const auto got = static_cast<std::uint64_t>(n);
    if (got > left)
      return corrupt(wheel,
                     fmt::format("{} is larger than the {} bytes it should be", member, max_bytes));
    left -= got;
    WEIR_TRY_STATUS(sink({chunk.data(), static_cast<std::size_t>(got)}));
  }
}

}  // namespace weir::hub
