// The whole HTTP stack over an engine whose model is a script, so that clients can be tested
// against known answers without a model. What the last line of the prompt says is done:
//   say TEXT        answers TEXT              ("\n" in it is a line end)
//   count N         answers "1 2 3 ... N"
//   slow MS N       answers "tick " N times, MS milliseconds a token
//   fail            answers "ok " and then the model breaks
//   anything else   is answered "You said: ..."
// usage: scripted_server_tool PORT_FILE [--key K (and K-2)] [--queue N] [--running N] [--context N]
// [--cors ORIGIN]
// [--grace MS] On SIGTERM it drains as `weir serve` does and prints the books.

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>
#include <unordered_map>

#include "weir/base/random.h"
#include "weir/engine/engine.h"
#include "weir/http/server.h"
#include "weir/server/respond.h"
#include "weir/server/service.h"
#include "weir/server/test_vocabulary.h"

namespace {

using namespace weir;

/// Keeps each row's token where its keys and values would be, reads every sequence back through its
/// pages, and knows by all tokens before it which answer a sequence is in and how far.
class Player final : public engine::Decoder {
 public:
  Player(std::shared_ptr<const text::Tokenizer> tokenizer, std::uint32_t context)
      : tokenizer_(std::move(tokenizer)),
        facts_{tokenizer_->size(),
               context,
               256,
               4 * ((context + kPageTokens - 1) / kPageTokens + 1),
               32,
               {1e6, 1e6, 100}},
        arena_(std::size_t{facts_.kv_units} * kPageTokens) {}

  const engine::DecoderFacts& facts() const override { return facts_; }
  void look_up_units(std::span<const UnitId>) override {}  // It keeps a page in one place.

  std::span<const float> forward(const model::Batch& batch) override {
    logits_.clear();
    int delay_ms = 0;
    for (const auto& rows : batch.sequences) {
      for (std::size_t i = 0; i < rows.tokens.size(); ++i)
        slot(rows.pages, rows.first_position + i) = rows.tokens[i];
      if (rows.logit_rows == 0) continue;
      std::vector<TokenId> story(rows.first_position + rows.tokens.size());
      for (std::size_t i = 0; i < story.size(); ++i) story[i] = slot(rows.pages, i);
      delay_ms = std::max(delay_ms, play(std::move(story)));
    }
    if (delay_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    return logits_;
  }

  void copy(std::span<const kv::PageCopy> copies) override {
    for (const kv::PageCopy& c : copies) {
      std::copy_n(&arena_[std::size_t{index(c.from)} * kPageTokens], kPageTokens,
                  &arena_[std::size_t{index(c.to)} * kPageTokens]);
    }
  }

 private:
  struct Script {
    std::vector<TokenId> answer;
    int delay_ms = 0;
    bool fails = false;
  };
  struct Place {
    std::shared_ptr<const Script> script;
    std::size_t at = 0;
  };

  static std::uint64_t hash_of(std::span<const TokenId> story) {
    std::uint64_t hash = 0;
    for (const TokenId token : story) {
      const auto r = philox(hash, static_cast<std::uint64_t>(token));
      hash = std::uint64_t{r[0]} << 32 | r[1];
    }
    return hash;
  }

  TokenId& slot(std::span<const PageId> pages, std::size_t position) {
    return arena_.at(std::size_t{index(pages[position / kPageTokens])} * kPageTokens +
                     position % kPageTokens);
  }

  /// Appends the logits after `story`; returns how long its script takes over a token.
  int play(std::vector<TokenId> story) {
    Place& here = places_[hash_of(story)];
    if (here.script == nullptr) here.script = std::make_shared<const Script>(compose(story));
    const Place place = here;
    const Script& script = *place.script;
    const std::size_t begin = logits_.size();
    const auto width = static_cast<std::size_t>(facts_.vocabulary);
    logits_.resize(begin + width, 0.0F);
    const std::span<float> row(logits_.data() + begin, width);
    if (place.at < script.answer.size()) {
      const TokenId token = script.answer[place.at];
      row[static_cast<std::size_t>(token)] = 40;
      story.push_back(token);
      places_[hash_of(story)] = {place.script, place.at + 1};
    } else if (script.fails) {
      std::fill(row.begin(), row.end(), std::numeric_limits<float>::quiet_NaN());
    } else {
      row.back() = 40;
    }
    return script.delay_ms;
  }

  Script compose(const std::vector<TokenId>& prompt) const {
    std::string text = tokenizer_->decode(prompt);
    constexpr std::string_view kOpening = "\nassistant\n";
    if (text.ends_with(kOpening)) text.resize(text.size() - kOpening.size());
    text = text.substr(text.rfind('\n') + 1);
    Script script;
    int a = 0;
    int b = 0;
    std::string answer = "You said: " + text;
    if (text.starts_with("say ")) {
      answer.clear();
      for (std::size_t i = 4; i < text.size(); ++i) {
        const bool line_end = text.compare(i, 2, "\\n") == 0;
        answer += line_end ? '\n' : text[i];
        i += line_end ? 1 : 0;
      }
    } else if (std::sscanf(text.c_str(), "count %d", &a) == 1) {
      answer = "1";
      for (int i = 2; i <= a; ++i) answer += " " + std::to_string(i);
    } else if (std::sscanf(text.c_str(), "slow %d %d", &a, &b) == 2) {
      script.delay_ms = a;
      answer.clear();
      for (int i = 0; i < b; ++i) answer += "tick ";
    } else if (text == "fail") {
      script.fails = true;
      answer = "ok ";
    }
    script.answer = tokenizer_->encode(answer);
    if (script.answer.empty()) script.answer.push_back(facts_.vocabulary - 1);
    return script;
  }

  const std::shared_ptr<const text::Tokenizer> tokenizer_;
  const engine::DecoderFacts facts_;
  std::vector<TokenId> arena_;
  std::vector<float> logits_;
  std::unordered_map<std::uint64_t, Place> places_;  ///< By the hash of all tokens so far.
};

Result<std::vector<text::Span>> render(const Conversation& conversation, std::int64_t /*now*/) {
  std::vector<text::Span> spans;
  for (const auto& message : conversation.messages) {
    if (message.content == "refuse me") {
      return fail(Code::kInvalidArgument,
                  "chat template: line 1, column 2: it refuses this conversation", "messages");
    }
    spans.push_back({std::string(server::kTurnBegins) + message.role + "\n", true});
    spans.push_back({message.content.value_or(""), false});
    spans.push_back({std::string(server::kTurnEnds) + "\n", true});
  }
  if (conversation.add_generation_prompt) {
    spans.push_back({std::string(server::kTurnBegins) + "assistant\n", true});
  }
  return spans;
}

std::string option(int argc, char** argv, const char* name, const char* otherwise) {
  for (int i = 2; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], name) == 0) return argv[i + 1];
  }
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const auto tokenizer = server::test_tokenizer();
  if (!tokenizer) return 3;
  const sys::SystemClock clock;
  engine::EngineOptions engine_options;
  engine_options.schedule.max_queued_requests =
      static_cast<std::uint32_t>(std::stoul(option(argc, argv, "--queue", "64")));
  engine_options.schedule.max_running =
      static_cast<std::uint32_t>(std::stoul(option(argc, argv, "--running", "32")));
  const auto context =
      static_cast<std::uint32_t>(std::stoul(option(argc, argv, "--context", "4096")));
  engine::Engine engine(std::make_unique<Player>(tokenizer, context),
                        {*tokenizer->vocabulary().eos}, clock, engine_options);

  server::ServedModel model;
  model.id = "scripted";
  model.aliases = {"org/scripted"};
  model.tokenizer = tokenizer;
  model.render = render;
  model.fingerprint = "fp_script";
  model.created = clock.unix_seconds();
  server::MetricsOptions metrics_options;
  metrics_options.model = model.id;
  metrics_options.context = engine.context();
  metrics_options.max_rows = engine.facts().max_rows;
  server::Metrics metrics(metrics_options);
  engine.observe(metrics);
  server::ServiceOptions service_options;
  service_options.metrics = &metrics;
  const auto key = option(argc, argv, "--key", "");
  if (!key.empty()) service_options.api_keys = {key, key + "-2"};
  service_options.cors_origin = option(argc, argv, "--cors", "");
  service_options.version = "test";
  service_options.on_fault = [](std::string_view id, const Error& error) {
    std::fprintf(stderr, "fault of %.*s: %s\n", static_cast<int>(id.size()), id.data(),
                 error.message.c_str());
  };
  server::Service service(std::move(model), engine, clock, service_options);

  http::ServerOptions options;
  options.error_body = server::http_error_body;
  options.header_timeout = std::chrono::milliseconds(1500);
  options.body_timeout = std::chrono::milliseconds(3000);
  options.write_timeout = std::chrono::milliseconds(3000);
  options.max_connections = 512;
  options.log = [&clock, &metrics](const http::AccessRecord& record) {
    metrics.answered(record.method, record.path, record.status, record.duration);
    std::fprintf(stderr, "%s\n", server::access_line(record, clock.unix_seconds()).c_str());
  };
  auto started = http::Server::start(options, [&service](std::shared_ptr<http::Exchange> exchange) {
    service.handle(std::move(exchange));
  });
  if (!started) {
    std::fprintf(stderr, "%s\n", started.error().message.c_str());
    return 7;
  }
  auto server = std::move(*started);
  const std::string port_file = argv[1];
  std::FILE* file = std::fopen((port_file + ".new").c_str(), "w");
  if (file == nullptr) return 7;
  std::fprintf(file, "%d\n", server->port());
  std::fclose(file);
  std::rename((port_file + ".new").c_str(), port_file.c_str());

  int signal = 0;
  sigwait(&signals, &signal);
  const std::chrono::milliseconds grace(std::stol(option(argc, argv, "--grace", "10000")));
  service.drain();
  server->drain();
  engine.drain(grace);
  const bool idle = server->wait_idle(std::chrono::seconds(5));
  const auto http = server->stats();
  server.reset();
  const auto books = engine.stats();
  std::printf(
      "{\"requests\":%llu,\"answered\":%llu,\"gone\":%llu,\"accepted\":%llu,\"finished\":%llu,"
      "\"cancelled\":%llu,\"failed\":%llu,\"pages_held\":%u,\"idle\":%s}\n",
      static_cast<unsigned long long>(http.requests),
      static_cast<unsigned long long>(http.answered), static_cast<unsigned long long>(http.gone),
      static_cast<unsigned long long>(books.accepted),
      static_cast<unsigned long long>(books.finished),
      static_cast<unsigned long long>(books.cancelled),
      static_cast<unsigned long long>(books.failed), books.units_held, idle ? "true" : "false");
  return 0;
}
