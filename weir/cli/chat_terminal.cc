#include "weir/cli/chat_terminal.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "weir/cli/chat_command.h"
#include "weir/cli/chat_file.h"
#include "weir/cli/line_reader.h"
#include "weir/cli/signals.h"
#include "weir/spec/time.h"

namespace weir::cli {
namespace {

double rate(std::uint32_t tokens, std::chrono::nanoseconds time) {
  return time.count() > 0 ? tokens / seconds(time) : 0;
}

class Chat {
 public:
  Chat(const ChatFacts& facts, ChatSession& session, ChatSettings& settings,
       const Terminal& terminal)
      : facts_(facts),
        session_(session),
        settings_(settings),
        terminal_(terminal),
        reader_(terminal, signals_) {}

  int run() {
    note(fmt::format("{} · context {} · /help", terminal_.bold(facts_.model), session_.context()));
    bool leaving = false;  // Ctrl-C at an empty prompt was just pressed.
    for (;;) {
      const LineReader::Message message = reader_.read();
      switch (message.event) {
        case LineReader::Event::kEnd:
          return 0;
        case LineReader::Event::kInterrupted:
          leaving = false;
          continue;
        case LineReader::Event::kInterruptedEmpty:
          if (leaving) return 0;
          leaving = true;
          note("Ctrl-C again, Ctrl-D or /quit leaves");
          continue;
        case LineReader::Event::kMessage:
          break;
      }
      leaving = false;
      if (message.verbatim) {
        say(message.text);
        continue;
      }
      const auto command = parse_chat_line(message.text);
      if (!command) {
        complain(command.error());
      } else if (command->action == ChatAction::kQuit) {
        return 0;
      } else if (command->action == ChatAction::kSay) {
        say(command->argument);
      } else if (const Status done = obey(*command); !done) {
        complain(done.error());
      }
    }
  }

 private:
  void note(std::string_view text) {
    std::fflush(stdout);
    fmt::print(stderr, "{}\n", terminal_.dim(text));
  }
  void complain(const Error& error) {
    std::fflush(stdout);
    fmt::print(stderr, "weir: {}\n", error.message);
  }

  void say(const std::string& message) {
    if (message.find_first_not_of(" \t\r\n") == std::string::npos) return;
    bool stopped = false;
    char last = '\n';
    const Watch watch{.on_text =
                          [&](std::string_view text) {
                            const std::string shown = harmless(text);
                            if (shown.empty()) return;
                            last = shown.back();
                            std::fwrite(shown.data(), 1, shown.size(), stdout);
                            std::fflush(stdout);
                          },
                      .interrupted = [&] { return stopped = stopped || signals_.interrupted(); }};
    const auto reply =
        facts_.raw ? session_.complete(message, watch) : session_.say(message, watch);
    if (last != '\n') std::fputs("\n", stdout);
    if (!reply) {
      complain(reply.error());
      return;
    }
    last_ = reply->timings;
    ++answers_;
    answer_tokens_ += reply->timings.answer_tokens;
    if (reply->reason == engine::FinishReason::kCancelled) note("[stopped]");
    if (reply->context_full) {
      note(fmt::format(
          "[the context of {} tokens is full: /reset starts over, /save keeps the conversation]",
          session_.context()));
    } else if (reply->reason == engine::FinishReason::kLength) {
      note("[max_tokens reached]");
    }
    if (settings_.verbose) note(describe(reply->timings));
    std::fputs("\n", stdout);
    std::fflush(stdout);
  }

  Status obey(const ChatCommand& command) {
    switch (command.action) {
      case ChatAction::kHelp:
        fmt::print("{}", chat_help());
        return {};
      case ChatAction::kSystem:
        if (command.argument.empty()) {
          note(settings_.system.empty() ? "there is no system message" : settings_.system);
        } else {
          settings_.system = command.argument;
          note("the system message is set, from the next message on");
        }
        return {};
      case ChatAction::kReset:
        session_.reset();
        note("the conversation starts over");
        return {};
      case ChatAction::kSet:
        return set(command);
      case ChatAction::kStats:
        stats();
        return {};
      case ChatAction::kSave: {
        WEIR_TRY_STATUS(save_chat(command.argument, {facts_.model, settings_, session_.turns()}));
        note(fmt::format("{} messages are in {}", session_.turns().size(), command.argument));
        return {};
      }
      case ChatAction::kLoad: {
        WEIR_TRY(SavedChat chat, load_chat(command.argument, settings_, facts_.vocabulary));
        settings_ = std::move(chat.settings);
        note(fmt::format("{} messages from {}{}", chat.turns.size(), command.argument,
                         chat.model.empty() || chat.model == facts_.model
                             ? ""
                             : fmt::format(", which was a conversation with {}", chat.model)));
        session_.restore(std::move(chat.turns));
        return {};
      }
      case ChatAction::kSay:
      case ChatAction::kQuit:
        return {};
    }
    return {};
  }

  Status set(const ChatCommand& command) {
    if (command.argument.empty()) {
      for (std::string_view name : setting_names()) {
        fmt::print("  {:<20} {}\n", name, show_setting(settings_, name));
      }
      return {};
    }
    WEIR_TRY_STATUS(change_setting(settings_, command.argument, command.value, facts_.vocabulary));
    note(fmt::format("{} is {}", command.argument, show_setting(settings_, command.argument)));
    return {};
  }

  void stats() {
    if (!last_) {
      note("nothing has been answered yet");
      return;
    }
    fmt::print("  last answer   {}\n", describe(*last_));
    fmt::print("  conversation  {} messages, {} of {} tokens of context\n", session_.turns().size(),
               session_.context_used(), session_.context());
    fmt::print("  since start   {} answers, {} tokens\n", answers_, answer_tokens_);
  }

  const ChatFacts& facts_;
  ChatSession& session_;
  ChatSettings& settings_;
  const Terminal& terminal_;
  Signals signals_;
  LineReader reader_;
  std::optional<engine::Timings> last_;
  std::uint64_t answers_ = 0, answer_tokens_ = 0;
};

}  // namespace

std::string describe(const engine::Timings& t) {
  // The first token comes with the prompt; decoding is the others.
  const std::uint32_t decoded = t.answer_tokens > 0 ? t.answer_tokens - 1 : 0;
  return fmt::format(
      "prompt {} tokens at {:.0f}/s, answer {} tokens at {:.1f}/s, first after {:.0f} ms",
      t.prompt_tokens, rate(t.prompt_tokens, t.prefill), t.answer_tokens, rate(decoded, t.decode),
      seconds(t.ttft()) * 1e3);
}

int chat_at_terminal(const ChatFacts& facts, ChatSession& session, ChatSettings& settings,
                     const Terminal& terminal) {
  return Chat(facts, session, settings, terminal).run();
}

}  // namespace weir::cli
