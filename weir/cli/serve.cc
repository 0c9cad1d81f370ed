#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/version.h"
#include "weir/cli/commands.h"
#include "weir/cli/loader.h"
#include "weir/cli/schedule_flags.h"
#include "weir/http/server.h"
#include "weir/server/respond.h"
#include "weir/server/service.h"

namespace weir::cli {
namespace {

struct ServeOptions {
  std::string model;
  LoadOptions load;
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;
  std::string port_file;
  std::vector<std::string> aliases;
  std::vector<std::string> api_keys;
  std::string cors_origin;
  std::uint32_t grace_seconds = 30;
  std::uint32_t target_itl_ms = 50;
  std::uint32_t target_ttft_ms = 1000;
  std::uint32_t max_queue_seconds = 120;
  bool share_prefixes = false;
  bool no_prefix_cache = false;
  bool no_chunked_prefill = false;
  std::string admission = "optimistic";
  std::vector<std::string> reserve;
  std::string length_caps;
  std::uint32_t max_request_seconds = 0;
  std::size_t max_body_mib = 8;
  std::size_t max_connections = 1024;
  bool no_access_log = false;
};

int stop_pipe[2] = {-1, -1};  // A signal handler may touch nothing else.

/// The first signal asks to finish, the second ends at once.
void on_stop(int number) {
  static volatile sig_atomic_t asked = 0;
  if (asked != 0) _exit(128 + number);
  asked = 1;
  const int saved = errno;
  [[maybe_unused]] const auto written = write(stop_pipe[1], "x", 1);
  errno = saved;
}

Status catch_stop_signals() {
  if (pipe(stop_pipe) != 0) return fail(Code::kIo, "cannot make a pipe for signals");
  struct sigaction action{};
  action.sa_handler = on_stop;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
  return {};
}

void wait_for_stop() {
  char byte = 0;
  while (read(stop_pipe[0], &byte, 1) < 0 && errno == EINTR) {
  }
}

/// Whole or not at all, since whoever waits for it reads it as soon as it exists.
Status write_port(const std::string& path, std::uint16_t port) {
  const std::string fresh = path + ".new";
  std::FILE* file = std::fopen(fresh.c_str(), "w");
  const bool written = file != nullptr && std::fprintf(file, "%u\n", port) > 0;
  if (file == nullptr || std::fclose(file) != 0 || !written ||
      std::rename(fresh.c_str(), path.c_str()) != 0) {
    return fail(Code::kIo, fmt::format("cannot write the port to {}", path), path);
  }
  return {};
}

server::ServedModel served_model(const Loaded& loaded, const ServeOptions& options) {
  server::ServedModel model;
  model.id = options.aliases.empty() ? loaded.id : options.aliases.front();
  model.aliases = options.aliases;
  model.aliases.push_back(loaded.id);
  model.tokenizer = loaded.opened.tokenizer;
  if (loaded.opened.chat_template) {
    model.render = [chat_template = loaded.opened.chat_template,
                    context = loaded.opened.template_context](const Conversation& conversation,
                                                              std::int64_t now) {
      auto at = context;
      at.unix_seconds = now;
      return chat_template->render(conversation, at);
    };
  }
  model.default_sampling = loaded.opened.default_sampling;
  model.fingerprint = fmt::format("fp_{:016x}", loaded.opened.fingerprint);
  model.created = loaded.clock.unix_seconds();
  return model;
}

void print_welcome(const ServeOptions& options, const std::string& model, const std::string& url) {
  if (options.load.quiet) return;
  fmt::print(stderr,
             "\n  {} at {}/v1   (Ctrl-C finishes what runs, twice ends at once)\n\n"
             "  curl {}/v1/chat/completions{} -H 'Content-Type: application/json' \\\n"
             "    -d '{{\"model\": \"{}\", \"messages\": [{{\"role\": \"user\", \"content\": "
             "\"Hello\"}}]}}'\n\n",
             model, url, url,
             options.api_keys.empty() ? "" : " -H \"Authorization: Bearer $WEIR_API_KEY\"", model);
  if (options.api_keys.empty() && options.host != "127.0.0.1" && options.host != "localhost" &&
      options.host != "::1") {
    fmt::print(stderr,
               "  Anyone who can reach {} can use this server: --api-key asks for a key.\n\n", url);
  }
}

/// The schedule's options that have a form of their own on the command line.
Status complete_schedule(ServeOptions& options) {
  auto& schedule = options.load.engine.schedule;
  schedule.target_itl = std::chrono::milliseconds(options.target_itl_ms);
  schedule.max_queue_age = std::chrono::seconds(options.max_queue_seconds);
  schedule.ledger.prefix_cache = !options.no_prefix_cache;
  schedule.chunked_prefill = !options.no_chunked_prefill;
  if (options.admission == "worst-case") schedule.admission = sched::Admission::kWorstCase;
  if (options.admission == "greedy") schedule.admission = sched::Admission::kGreedy;
  options.load.engine.measure_steps = schedule.fixed_budget == 0;
  WEIR_TRY(schedule.reserve, parse_reserve(options.reserve));
  WEIR_TRY(schedule.length_groups, parse_length_caps(options.length_caps));
  return {};
}

server::MetricsOptions metrics_options(const Loaded& loaded, const ServeOptions& options,
                                       const std::string& name) {
  server::MetricsOptions metrics;
  metrics.model = name;
  metrics.context = loaded.engine->context();
  metrics.max_rows = loaded.engine->facts().max_rows;
  metrics.ttft_target = std::chrono::milliseconds(options.target_ttft_ms);
  metrics.tpot_target = std::chrono::milliseconds(options.target_itl_ms);
  metrics.memory = {{"weights", loaded.plan.weights},
                    {"activations", loaded.plan.activations},
                    {"tables", loaded.plan.tables},
                    {"sampling", loaded.plan.sampling},
                    {"kv", loaded.plan.kv_bytes()}};
  return metrics;
}

/// What would fail only after the model is loaded, asked before.
Status check_port_file(const std::string& path) {
  if (path.empty()) return {};
  const auto folder = std::filesystem::absolute(path).parent_path();
  if (::access(folder.c_str(), W_OK) == 0) return {};
  return fail(Code::kIo, fmt::format("cannot write a port file into {}", folder.string()), path);
}

Result<int> serve(ServeOptions options) {
  WEIR_TRY_STATUS(complete_schedule(options));
  WEIR_TRY_STATUS(check_port_file(options.port_file));
  WEIR_TRY(const auto loaded, load_engine(options.model, options.load));
  WEIR_TRY_STATUS(catch_stop_signals());

  server::ServiceOptions service_options;
  service_options.api_keys = options.api_keys;
  service_options.cors_origin = options.cors_origin;
  service_options.version = std::string(kVersion);
  service_options.on_fault = [](std::string_view id, const Error& error) {
    fmt::print(stderr, "weir: {} failed: {}\n", id, error.message);
  };
  auto model = served_model(*loaded, options);
  const std::string name = model.id;
  server::Metrics metrics(metrics_options(*loaded, options, name));
  loaded->engine->observe(metrics);
  service_options.metrics = &metrics;
  service_options.share_prefixes = options.share_prefixes;
  service_options.max_request_time = std::chrono::seconds(options.max_request_seconds);
  server::Service service(std::move(model), *loaded->engine, loaded->clock,
                          std::move(service_options));

  http::ServerOptions http_options;
  http_options.host = options.host;
  http_options.port = options.port;
  http_options.limits.body_bytes = options.max_body_mib << 20;
  http_options.max_connections = options.max_connections;
  http_options.error_body = server::http_error_body;
  http_options.log = [&clock = loaded->clock, &metrics,
                      silent = options.no_access_log](const http::AccessRecord& record) {
    metrics.answered(record.method, record.path, record.status, record.duration);
    if (!silent) fmt::print(stderr, "{}\n", server::access_line(record, clock.unix_seconds()));
  };
  WEIR_TRY(auto server, http::Server::start(std::move(http_options),
                                            [&service](std::shared_ptr<http::Exchange> exchange) {
                                              service.handle(std::move(exchange));
                                            }));
  print_welcome(options, name, server->url());
  if (!options.port_file.empty()) WEIR_TRY_STATUS(write_port(options.port_file, server->port()));

  wait_for_stop();
  const std::chrono::seconds grace(options.grace_seconds);
  if (!options.load.quiet) {
    fmt::print(stderr, "weir: finishing what runs, for at most {} s\n", options.grace_seconds);
  }
  service.drain();
  server->drain();
  const bool finished = loaded->engine->drain(grace);
  // The last bytes of answers that are already made; a client that does not take them is not waited
  // for.
  const bool idle = server->wait_idle(std::chrono::seconds(2));
  if (!options.load.quiet && !(finished && idle))
    fmt::print(stderr, "weir: some answers were cut short\n");
  server.reset();
  return 0;
}

void add_schedule_options(CLI::App& command, ServeOptions& options) {
  auto& schedule = options.load.engine.schedule;
  command
      .add_option("--max-running,--max-num-seqs", options.load.max_running,
                  "Requests computed together, at most")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      .add_option("--target-itl", options.target_itl_ms,
                  "Milliseconds between the tokens of an answer that prompts may not exceed when\n"
                  "they are read beside it; 0: no such target")
      ->check(CLI::Range(0, 60000))
      ->capture_default_str();
  command
      .add_option("--target-ttft", options.target_ttft_ms,
                  "Milliseconds to the first token that count as good in the metrics")
      ->check(CLI::Range(1, 3600000))
      ->capture_default_str();
  command
      .add_option("--token-budget,--max-num-batched-tokens", schedule.fixed_budget,
                  "Tokens of one step, instead of a budget from the target; 0: from the target")
      ->check(CLI::Range(0, 65536))
      ->capture_default_str();
  command
      .add_option("--step-rows", schedule.max_rows,
                  "Tokens of one step, at most, whatever the budget: sizes the activations")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command.add_option("--max-queue", schedule.max_queued_requests, "Requests that may wait")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command
      .add_option("--max-queue-tokens", schedule.max_queued_tokens, "Prompt tokens that may wait")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40))
      ->capture_default_str();
  command
      .add_option("--max-queue-seconds", options.max_queue_seconds,
                  "Nothing more is queued while the oldest has waited this long")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  command
      .add_option("--admission", options.admission,
                  "Pages a request is taken to need: optimistic (what recent answers took),\n"
                  "worst-case (its max_tokens), or greedy (the next one; fills memory, and sends\n"
                  "somebody away when it is full)")
      ->check(CLI::IsMember({"optimistic", "worst-case", "greedy"}))
      ->capture_default_str();
  command
      .add_option("--reserve", options.reserve,
                  "Share of running requests and of KV pages kept for a class and those above it,\n"
                  "as in critical=10%; may be repeated")
      ->type_name("CLASS=N%");
  command
      .add_option("--length-caps", options.length_caps,
                  "How many run together of those expected to have so many tokens, prompt and\n"
                  "answer, as in 50=8,200=16,rest=32")
      ->type_name("TOKENS=N,...");
  command.add_flag("--no-prefix-cache", options.no_prefix_cache,
                   "Read every prompt anew, whatever is in memory");
  command.add_flag("--share-prefixes", options.share_prefixes,
                   "Let callers with different keys share cached prompts");
  command.add_flag("--no-chunked-prefill", options.no_chunked_prefill,
                   "Read each prompt in one step, however long others then wait (to compare)");
}

/// /v1/completions gives 16 tokens to who names no number; a cap below would refuse what nobody
/// asked.
CLI::Validator at_least_the_default() {
  return {[](const std::string& value) {
            const CLI::Range positive(16, 1 << 30);
            return value == "0" || positive(value).empty() ? std::string()
                                                           : "it must be 0, or at least 16";
          },
          "0 or 16 and more"};
}

void add_cap_options(CLI::App& command, ServeOptions& options) {
  auto& caps = options.load.engine.caps;
  command
      .add_option("--max-input-tokens", caps.input_tokens,
                  "Tokens of one prompt, at most; 0: what --context holds")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
  command
      .add_option("--max-output-tokens", caps.output_tokens,
                  "Tokens of one answer, at most; 0: what --context holds")
      ->check(at_least_the_default())
      ->capture_default_str();
  command
      .add_option(
          "--max-request-seconds", options.max_request_seconds,
          "Seconds after which a request ends, wherever it then is; 0: it may take as long\n"
          "as it does")
      ->check(CLI::Range(0, 86400))
      ->capture_default_str();
}

}  // namespace

void add_serve(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ServeOptions>();
  auto* command = app.add_subcommand("serve", "Serve a model over HTTP, as OpenAI's API");
  command->footer(
      "Examples:\n"
      "  weir serve smollm2                          at http://127.0.0.1:8080/v1\n"
      "  weir serve model.gguf --port 0              any free port, printed\n"
      "  WEIR_API_KEY=... weir serve smollm2 --host 0.0.0.0\n\n"
      "Endpoints: /v1/models /v1/chat/completions /v1/completions /v1/requests/ID /metrics\n"
      "/health/live /health/ready /version");
  command->add_option("model", options->model, "A name, a file, a directory, or hf:owner/repo")
      ->required();
  command->add_option("--host", options->host, "Address to listen on")
      ->check(not_empty())
      ->capture_default_str();
  command->add_option("--port", options->port, "Port to listen on; 0 takes any free one")
      ->capture_default_str();
  command->add_option("--port-file", options->port_file,
                      "Write the port here once requests are taken");
  command->add_option("--alias,--served-model-name", options->aliases,
                      "What clients call the model; the first is what answers say");
  command->add_option("--api-key", options->api_keys, "A key clients must send; may be repeated")
      ->envname("WEIR_API_KEY");
  command->add_option("--cors-origin", options->cors_origin,
                      "Let pages of this origin call us (* for any)");
  command
      ->add_option("--grace", options->grace_seconds,
                   "Seconds that running answers get when asked to stop")
      ->capture_default_str()
      ->check(CLI::Range(0, 86400));
  command->add_option("--max-body-mib", options->max_body_mib, "Largest request body, in MiB")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command->add_option("--max-connections", options->max_connections, "Connections held at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  command->add_flag("--no-access-log", options->no_access_log,
                    "No line per request on standard error");
  options->load.max_running = 32;
  add_load_options(*command, options->load);
  add_schedule_options(*command, *options);
  add_cap_options(*command, *options);
  command->callback([options, &exit_code] {
    const auto done = serve(*options);
    exit_code = done ? *done : report(done.error());
  });
}

}  // namespace weir::cli
