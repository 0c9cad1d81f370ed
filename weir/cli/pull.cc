#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <filesystem>

#include "weir/base/bytes.h"
#include "weir/cli/commands.h"
#include "weir/cli/progress_bar.h"
#include "weir/hub/catalogue.h"
#include "weir/hub/resolve.h"
#include "weir/sys/files.h"

namespace weir::cli {
namespace {

namespace json = boost::json;

volatile sig_atomic_t stop_asked = 0;

/// The first Ctrl-C ends the pull in good order; the handler is then gone, and a second one kills.
void watch_for_stop() {
  struct sigaction action{};
  action.sa_handler = [](int) { stop_asked = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

struct PullFlags {
  std::string model;
  std::string where;
  std::string max_size;
  bool list = false;
  bool quiet = false;
  bool as_json = false;
};

void print(const std::string& line) { std::fputs((line + "\n").c_str(), stdout); }

/// Of a file, or of all files of a folder; links count as what they lead to.
std::uint64_t bytes_of(const std::string& path) {
  if (sys::is_regular_file(path)) return sys::file_size(path).value_or(0);
  std::uint64_t sum = 0;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entries(path, error);
       !error && entries != std::filesystem::recursive_directory_iterator();
       entries.increment(error)) {
    if (sys::is_regular_file(entries->path())) sum += sys::file_size(entries->path()).value_or(0);
  }
  return sum;
}

/// Without a look at the network.
Result<std::string> path_here(const std::string& model) {
  hub::ResolveOptions options;
  options.allow_pull = false;
  return hub::resolve(model, options);
}

int list(bool as_json) {
  json::array entries;
  if (!as_json)
    print(fmt::format("{:<18} {:>9} {:>9}  {:<20} {:<9} {}", "NAME", "FETCHED", "ON DISK",
                      "LICENCE", "HERE", "WHAT IT IS"));
  for (const auto& model : hub::catalogue()) {
    const auto path = path_here(std::string(model.name));
    if (!path && path.error().code != Code::kNotFound) return report(path.error());
    if (as_json) {
      json::object entry{{"name", model.name},
                         {"description", model.description},
                         {"licence", model.licence},
                         {"version", model.version},
                         {"download_bytes", model.download_bytes()},
                         {"bytes", model.bytes()},
                         {"path", nullptr}};
      if (path) entry["path"] = *path;
      entries.emplace_back(std::move(entry));
    } else {
      print(fmt::format("{:<18} {:>9} {:>9}  {:<20} {:<9} {}", model.name,
                        format_bytes(model.download_bytes()), format_bytes(model.bytes()),
                        model.licence, path ? "yes" : "no", model.description));
    }
  }
  if (as_json) print(json::serialize(entries));
  return 0;
}

int where(const std::string& model, bool as_json) {
  const auto path = path_here(model);
  if (!path) return report(path.error());
  print(as_json ? json::serialize(json::object{{"model", model}, {"path", *path}}) : *path);
  return 0;
}

int pull(const PullFlags& flags) {
  hub::ResolveOptions options;
  options.refresh = true;
  if (!flags.max_size.empty()) {
    const auto bytes = parse_bytes(flags.max_size);
    if (!bytes) return report(bytes.error());
    options.max_bytes = *bytes;
  }
  watch_for_stop();
  options.cancelled = [] { return stop_asked != 0; };
  Result<std::string> path;
  {
    ProgressBar bar(flags.quiet);
    options.progress = [&bar](const hub::Progress& progress) { bar.show(progress); };
    path = hub::resolve(flags.model, options);
  }
  if (!path && path.error().code == Code::kCancelled) {
    std::fputs("weir: stopped; what is here is kept, and the same command goes on from there\n",
               stderr);
    return 130;  // what shells report for Ctrl-C
  }
  if (!path) return report(path.error());
  print(flags.as_json ? json::serialize(json::object{
                            {"model", flags.model}, {"path", *path}, {"bytes", bytes_of(*path)}})
                      : *path);
  return 0;
}

int run(const PullFlags& flags) {
  const int chosen =
      (flags.list ? 1 : 0) + (flags.where.empty() ? 0 : 1) + (flags.model.empty() ? 0 : 1);
  if (chosen != 1) {
    return report({Code::kInvalidArgument,
                   "pull takes one of: MODEL, --list, --where MODEL (see weir pull --help)",
                   {}});
  }
  if (flags.list) return list(flags.as_json);
  if (!flags.where.empty()) return where(flags.where, flags.as_json);
  return pull(flags);
}

}  // namespace

void add_pull(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("pull", "Fetch a model, and print where it is");
  auto flags = std::make_shared<PullFlags>();
  command->add_option("MODEL", flags->model,
                      "A name of the catalogue (--list), or hf:OWNER/REPO[:FILE][@REVISION]");
  command->add_flag("--list", flags->list,
                    "Show the catalogue: sizes, licences, and what is already here");
  command
      ->add_option("--where", flags->where,
                   "Print the path of a model that is here, without the network")
      ->type_name("MODEL");
  command->add_option("--max-size", flags->max_size, "Refuse a model larger than this, as in 4GiB")
      ->type_name("SIZE");
  command->add_flag("-q,--quiet", flags->quiet, "No progress; errors are still shown");
  command->add_flag("--json", flags->as_json, "Print the result as JSON");
  command->footer(
      "A pull that is cut (Ctrl-C, network, full disk) goes on where it was when run again.\n\n"
      "  weir pull smollm2                                    a small model to begin with\n"
      "  weir pull hf:OWNER/REPO                              the model of a Hugging Face "
      "repository\n"
      "  weir pull hf:OWNER/REPO:Q8_0                         one quantisation of several\n"
      "  weir pull hf:OWNER/REPO:model.gguf@main              one file at one revision\n\n"
      "Models lie under $WEIR_CACHE, else $XDG_CACHE_HOME/weir, else ~/.cache/weir; those of the "
      "Hugging Face\n"
      "client's own cache are used where they are. HF_TOKEN, HF_HOME, HF_ENDPOINT, HF_HUB_OFFLINE "
      "and\n"
      "HF_HUB_DOWNLOAD_TIMEOUT mean what they mean there; HTTPS_PROXY, NO_PROXY and SSL_CERT_FILE "
      "what they\n"
      "mean everywhere. Models of the catalogue come through pip, with its own configuration.");
  command->callback([flags, &exit_code] { exit_code = run(*flags); });
}

}  // namespace weir::cli
