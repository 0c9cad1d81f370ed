#include "weir/hub/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "weir/base/bytes.h"
#include "weir/hub/catalogue.h"
#include "weir/hub/internal/catalogue_pull.h"
#include "weir/hub/internal/hugging_face.h"
#include "weir/hub/internal/session.h"
#include "weir/hub/names.h"
#include "weir/sys/files.h"

namespace weir::hub {
namespace {

std::unexpected<Error> not_here(const std::string& model) {
  return fail(Code::kNotFound,
              fmt::format("{} is not here; fetch it with: weir pull {}", model, model), "model");
}

Result<std::string> existing_path(const std::string& path) {
  if (sys::is_regular_file(path) || sys::is_directory(path)) return path;
  std::string hint;
  const bool one_slash =
      std::ranges::count(path, '/') == 1 && !path.starts_with('/') && !path.starts_with('.');
  if (one_slash && parse_hub_reference("hf:" + path))
    hint = fmt::format("; for the Hugging Face hub write hf:{}", path);
  return fail(Code::kNotFound,
              fmt::format("{}: no such file or folder{}", escape_controls(path), hint), "model");
}

Error unknown_name(const std::string& name) {
  std::vector<std::string_view> names;
  std::string all;
  for (const auto& model : catalogue()) {
    names.push_back(model.name);
    all += fmt::format("{}{}", all.empty() ? "" : ", ", model.name);
  }
  const auto near = nearest(name, names);
  return {
      Code::kNotFound,
      fmt::format("no model is called {}{}; known are {}, and any file, folder or hf:OWNER/REPO",
                  escape_controls(std::string_view(name).substr(0, 100)),
                  near.empty() ? "" : fmt::format("; did you mean {}?", near), all),
      "model"};
}

Result<std::string> resolve_hub(const std::string& model, const ResolveOptions& options,
                                const Places& places) {
  WEIR_TRY(const HubReference reference, parse_hub_reference(model));
  const auto here = find_hub_model(reference, places);
  if (here && (!options.refresh || places.offline)) return *here;
  if (!options.allow_pull) return not_here(model);
  if (places.offline) {
    return fail(
        Code::kUnavailable,
        fmt::format("{} is not here, and HF_HUB_OFFLINE is set: unset it, then weir pull {}", model,
                    model),
        "model");
  }
  Session session(model, options, places);
  WEIR_TRY(std::string path, pull_hub_model(reference, session));
  session.tell(Stage::kReady);
  return path;
}

Result<std::string> resolve_name(const std::string& name, const ResolveOptions& options,
                                 const Places& places) {
  const CatalogueModel* model = find_in_catalogue(name);
  if (model == nullptr) return std::unexpected(unknown_name(name));
  const auto here = find_catalogue_model(*model, places);
  if (here && !options.refresh) return *here;
  if (!options.allow_pull) return not_here(name);
  Session session(name, options, places);
  WEIR_TRY(std::string path, pull_catalogue_model(*model, session));
  session.tell(Stage::kReady);
  return path;
}

}  // namespace

Result<std::string> resolve(const std::string& model, const ResolveOptions& options) {
  WEIR_TRY(const Places places, Places::from_environment());
  return resolve(model, options, places);
}

Result<std::string> resolve(const std::string& model, const ResolveOptions& options,
                            const Places& places) {
  if (model.empty()) return fail(Code::kInvalidArgument, "the model's name is empty", "model");
  if (is_hub_reference(model)) return resolve_hub(model, options, places);
  const bool path = model.find_first_of("/.") != std::string::npos || sys::is_regular_file(model);
  return path ? existing_path(model) : resolve_name(model, options, places);
}

}  // namespace weir::hub
