#include "weir/format/internal/hf_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <iterator>
#include <map>
#include <utility>

#include "weir/format/internal/flat_json.h"
#include "weir/format/internal/foreign.h"
#include "weir/format/internal/safetensors_contents.h"
#include "weir/format/printable.h"

namespace weir::format {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t kMaxConfigBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxIndexBytes = std::size_t{32}
                                       << 20;  // 700 experts and 61 layers make 10 MB.
constexpr std::size_t kMaxShards = 4096;
constexpr int kMaxListed = 10'000;

std::string in(const std::string& directory, std::string_view name) {
  return (fs::path(directory) / name).string();
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Why the directory is no model, from what lies in it.
std::unexpected<Error> no_model(const std::string& path) {
  std::vector<std::string> gguf;
  std::vector<std::string> pytorch;
  std::vector<std::string> safetensors;
  std::error_code ec;
  int listed = 0;
  for (fs::directory_iterator it(path, ec), end; !ec && it != end && listed < kMaxListed;
       it.increment(ec), ++listed) {
    const std::string extension = it->path().extension().string();
    const std::string name = it->path().filename().string();
    if (extension == ".gguf") gguf.push_back(name);
    if (extension == ".bin" || extension == ".pt" || extension == ".pth") pytorch.push_back(name);
    if (extension == ".safetensors") safetensors.push_back(name);
  }
  const std::string shown = printable(path, 4096);
  const auto first = [](std::vector<std::string>& names) {
    return printable(*std::ranges::min_element(names), 255);
  };
  if (ec) return fail(Code::kIo, fmt::format("{}: {}", shown, ec.message()), path);
  if (!gguf.empty()) {
    return fail(
        Code::kNotFound,
        fmt::format("{} is a directory with {} GGUF file{}; name the file, such as {}", shown,
                    gguf.size(), gguf.size() == 1 ? "" : "s", in(shown, first(gguf))),
        path);
  }
  if (!safetensors.empty()) {
    return fail(
        Code::kNotFound,
        fmt::format("{} holds {}, but neither model.safetensors nor model.safetensors.index.json; "
                    "name the file itself, or give the directory of a whole model",
                    shown, first(safetensors)),
        path);
  }
  if (!pytorch.empty()) {
    return fail(Code::kUnsupported,
                fmt::format("{} holds PyTorch weights ({}), which are not read because they are "
                            "programs; get the model as safetensors or GGUF",
                            shown, first(pytorch)),
                path);
  }
  return fail(Code::kNotFound,
              fmt::format("{} is a directory without a model: it needs config.json beside "
                          "model.safetensors or model.safetensors.index.json",
                          shown),
              path);
}

/// A name that stays in its directory: no separators, no "..", nothing hidden.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name.front() != '.' &&
         std::ranges::none_of(name, [](char c) {
           return c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
         });
}

/// Tensor name to shard name, as the index has it.
Result<std::map<std::string, std::string>> read_index(const std::string& path) {
  WEIR_TRY(const std::string text, sys::read_file(path, kMaxIndexBytes));
  const std::string shown = printable(path, 4096);
  json::error_code ec;
  const json::value index = json::parse(text, ec);
  if (ec)
    return fail(Code::kCorrupt, fmt::format("{}: not valid JSON: {}", shown, ec.message()), path);
  const json::value* map =
      index.is_object() ? index.get_object().if_contains("weight_map") : nullptr;
  if (map == nullptr || !map->is_object() || map->get_object().empty()) {
    return fail(Code::kCorrupt, shown + ": has no weight_map from tensors to files", path);
  }
  std::map<std::string, std::string> shards;
  for (const auto& member : map->get_object()) {
    const std::string tensor(member.key());
    if (!member.value().is_string() || !is_plain_name(member.value().get_string())) {
      return fail(Code::kCorrupt,
                  fmt::format("{}: the file of tensor {} must be a name within the directory",
                              shown, in_quotes(tensor)),
                  path);
    }
    shards.emplace(tensor, std::string(member.value().get_string()));
  }
  return shards;
}

void append(Contents& to, Contents&& shard) {
  to.file_bytes += shard.file_bytes;
  std::ranges::move(shard.tensors, std::back_inserter(to.tensors));
  std::ranges::move(shard.maps, std::back_inserter(to.maps));
  to.metadata.merge(shard.metadata);
  to.names.splice(to.names.end(), shard.names);  // Nodes stay where they are, and views with them.
}

Result<Contents> read_shards(const std::string& path) {
  const std::string index_path = in(path, "model.safetensors.index.json");
  const std::string shown = printable(index_path, 4096);
  WEIR_TRY(const auto shard_of, read_index(index_path));
  std::map<std::string_view, std::map<std::string_view, bool>>
      found;  // Shard to its tensors: whether seen.
  for (const auto& [tensor, shard] : shard_of) found[shard].emplace(tensor, false);
  if (found.size() > kMaxShards) {
    return fail(
        Code::kTooLarge,
        fmt::format("{}: names {} files; at most {} are read", shown, found.size(), kMaxShards),
        index_path);
  }
  Contents out;
  out.container = "safetensors";
  for (auto& [shard, tensors] : found) {
    WEIR_TRY(auto contents, read_safetensors_file(in(path, shard)));
    for (const TensorView& tensor : contents.tensors) {
      if (const auto it = tensors.find(tensor.name); it != tensors.end()) it->second = true;
    }
    for (const auto& [tensor, seen] : tensors) {
      if (!seen) {
        return fail(Code::kCorrupt,
                    fmt::format("{}: says that {} holds tensor {}, but it does not", shown,
                                printable(shard, 255), in_quotes(tensor)),
                    index_path);
      }
    }
    append(out, std::move(contents));
  }
  return out;
}

}  // namespace

Result<Contents> read_safetensors_file(const std::string& path) {
  WEIR_TRY(auto map, sys::MappedFile::open(path));
  if (const auto foreign = foreign_content(path, map.bytes())) return std::unexpected(*foreign);
  WEIR_TRY(auto contents, read_safetensors(path, map.bytes()));
  contents.maps.push_back(std::move(map));
  return contents;
}

Status add_config(Contents& contents) {
  const std::string path = in(contents.directory, "config.json");
  if (!exists(path)) return {};
  WEIR_TRY(const std::string text, sys::read_file(path, kMaxConfigBytes));
  return flatten_json(path, text, contents.metadata);
}

Result<Contents> read_hf_directory(const std::string& path) {
  const bool whole = exists(in(path, "model.safetensors"));
  if (!whole && !exists(in(path, "model.safetensors.index.json"))) return no_model(path);
  if (!exists(in(path, "config.json"))) {
    return fail(
        Code::kNotFound,
        fmt::format("{} holds weights but no config.json, which describes the model; fetch it "
                    "from where the weights came from",
                    printable(path, 4096)),
        path);
  }
  WEIR_TRY(auto contents,
           whole ? read_safetensors_file(in(path, "model.safetensors")) : read_shards(path));
  contents.path = path;
  contents.directory = path;
  WEIR_TRY_STATUS(add_config(contents));
  return contents;
}

}  // namespace weir::format
