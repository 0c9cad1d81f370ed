#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "weir/cli/answer_once.h"
#include "weir/cli/chat_session.h"
#include "weir/cli/chat_settings.h"
#include "weir/cli/chat_terminal.h"
#include "weir/cli/commands.h"
#include "weir/cli/loader.h"
#include "weir/cli/terminal.h"

namespace weir::cli {
namespace {

struct RunOptions {
  std::string model;
  LoadOptions load;
  std::optional<std::string> prompt;
  std::string system;
  bool raw = false;
  bool json = false;
  bool verbose = false;
  std::map<std::string, std::string> settings;  // As /set takes them: name to value.
};

/// "top_p" as a flag: "--top-p".
std::string flag_of(std::string_view setting) {
  std::string flag = "--" + std::string(setting);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

Result<int> run(RunOptions options) {
  const Terminal terminal;
  const bool at_terminal = !options.prompt && terminal.input();
  if (options.json && at_terminal) {
    return fail(Code::kInvalidArgument,
                "--json answers one prompt: give it with --prompt, or pipe it in");
  }
  if (!options.prompt && !at_terminal) {
    WEIR_TRY(options.prompt, read_prompt_from_input());
  }
  options.load.conversation = !options.raw;
  options.load.brief = !(options.verbose && at_terminal);
  WEIR_TRY(const auto loaded, load_engine(options.model, options.load));
  const std::int32_t vocabulary = loaded->engine->facts().vocabulary;
  ChatSettings settings;
  settings.sampling = loaded->opened.default_sampling;
  settings.system = options.system;
  settings.verbose = options.verbose;
  for (const auto& [name, value] : options.settings) {
    WEIR_TRY_STATUS(change_setting(settings, name, value, vocabulary));
  }
  ChatSession session(loaded->opened, *loaded->engine, loaded->clock, settings);
  const ChatFacts facts{loaded->id, vocabulary, options.raw};
  if (options.prompt) {
    return answer_once(facts, session, *options.prompt, options.json, options.verbose, terminal);
  }
  return chat_at_terminal(facts, session, settings, terminal);
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  auto* command =
      app.add_subcommand("run", "Talk to a model in the terminal, or answer one prompt");
  command->footer(
      "\nAt a terminal this is a conversation (/help lists its commands). Otherwise the prompt "
      "comes from\n"
      "--prompt or standard input, and nothing but the answer goes to standard output:\n"
      "  echo \"Why is the sky blue?\" | weir run smollm2\n"
      "  weir run smollm2 --prompt hi --json");
  command
      ->add_option("model", options->model,
                   "a name that `weir pull` lists, a file, or hf:OWNER/REPO")
      ->required();
  command->add_option("--prompt", options->prompt, "answer this and leave");
  command->add_option("--system", options->system, "the system message");
  command->add_flag(
      "--raw", options->raw,
      "continue the text as it stands: no chat template; special tokens in it are recognised");
  command->add_flag("--json", options->json,
                    "one JSON object: answer, finish_reason, usage, timings");
  command->add_flag("--verbose", options->verbose, "print times after each answer");
  const std::map<std::string_view, std::string> help = {
      {"temperature", "0 always takes the likeliest token"},
      {"top_k", "choose among the K likeliest; 0 is off"},
      {"top_p", "choose among the likeliest that together reach this probability"},
      {"min_p", "leave out tokens below this share of the likeliest"},
      {"typical_p", "locally typical sampling; 1 is off"},
      {"repetition_penalty", "above 1 discourages what was said; over prompt and answer"},
      {"presence_penalty", "-2 to 2, once for a token of the answer"},
      {"frequency_penalty", "-2 to 2, each time"},
      {"seed", "the same seed gives the same answer"},
      {"max_tokens", "length of an answer; 0 is what the context leaves"},
  };
  for (std::string_view name : setting_names()) {
    const auto text = help.find(name);
    if (text == help.end()) continue;
    command->add_option_function<std::string>(
        flag_of(name),
        [options, key = std::string(name)](const std::string& value) {
          options->settings[key] = value;
        },
        text->second);
  }
  add_load_options(*command, options->load);
  command->callback([options, &exit_code] {
    const auto done = run(*options);
    exit_code = done ? *done : report(done.error());
  });
}

}  // namespace weir::cli
