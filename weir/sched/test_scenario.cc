#include "weir/sched/test_scenario.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace weir::sched {
namespace {

/// The words of one line, taken one by one.
class Words {
 public:
  explicit Words(std::string_view line) : line_(line.substr(0, line.find('#'))) {}

  /// The next word; empty at the end.
  std::string_view next() {
    const auto begin = std::min(line_.find_first_not_of(' '), line_.size());
    const auto end = std::min(line_.find(' ', begin), line_.size());
    const std::string_view word = line_.substr(begin, end - begin);
    line_.remove_prefix(end);
    return word;
  }
  [[nodiscard]] bool done() const { return line_.find_first_not_of(' ') == std::string_view::npos; }

  Status expect(std::string_view word) {
    if (const auto got = next(); got != word) return wrong(got, word);
    return {};
  }
  Result<std::uint32_t> number() {
    const auto word = next();
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) return wrong(word, "a number");
    return value;
  }
  Result<Range> range() {
    const auto word = next();
    const auto dots = std::min(word.find(".."), word.size());
    WEIR_TRY(const std::uint32_t least, Words(word.substr(0, dots)).number());
    if (dots == word.size()) return Range{least, least};
    WEIR_TRY(const std::uint32_t most, Words(word.substr(dots + 2)).number());
    if (most < least) return wrong(word, "a range that rises");
    return Range{least, most};
  }
  Result<Duration> time() {
    const auto word = next();
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const std::string_view unit = word.substr(static_cast<std::size_t>(end - word.data()));
    if (error != std::errc() || !(value >= 0) || value > 1e9 || (unit != "ms" && unit != "s"))
      return wrong(word, "a time like 20ms or 1.5s");
    return Duration(std::llround(value * (unit == "s" ? 1e9 : 1e6)));
  }
  Result<Priority> priority() {
    const auto word = next();
    if (word == "critical") return Priority::kCritical;
    if (word == "standard") return Priority::kStandard;
    if (word == "background") return Priority::kBackground;
    return wrong(word, "critical, standard or background");
  }
  static std::unexpected<Error> wrong(std::string_view got, std::string_view wanted) {
    return fail(Code::kInvalidArgument,
                "'" + std::string(got) + "' where " + std::string(wanted) + " is expected");
  }

 private:
  std::string_view line_;
};

Status parse_chat_word(std::string_view word, Words& words, Chats& chats) {
  if (word == "named") {
    chats.name = words.next();
  } else if (word == "of") {
    WEIR_TRY_STATUS(words.expect("tenant"));
    WEIR_TRY(const std::uint32_t tenant, words.number());
    chats.tenant = policy::TenantId{tenant};
  } else if (word == "in") {
    WEIR_TRY_STATUS(words.expect("space"));
    WEIR_TRY(const std::uint32_t space, words.number());
    chats.space = kv::Namespace{space};
  } else if (word == "prompt") {
    WEIR_TRY(chats.prompt, words.range());
  } else if (word == "shared") {
    WEIR_TRY(chats.shared, words.number());
  } else if (word == "answer") {
    WEIR_TRY(chats.answer, words.range());
  } else if (word == "max") {
    WEIR_TRY(chats.max_tokens, words.number());
  } else if (word == "priority") {
    WEIR_TRY(chats.priority, words.priority());
  } else if (word == "deadline") {
    WEIR_TRY(chats.deadline, words.time());
  } else if (word == "every") {
    WEIR_TRY(chats.every, words.time());
  } else {
    return Words::wrong(word, "a property of chats");
  }
  return {};
}

Result<Statement> parse_line(Words words) {
  const auto verb = words.next();
  if (verb == "until") {
    Words rest = words;
    if (rest.next() == "idle" && rest.done()) return Until{};
    WEIR_TRY(const Duration at, words.time());
    if (!words.done()) return Words::wrong(words.next(), "the end of the line");
    return Until{at};
  }
  if (verb != "at") return Words::wrong(verb, "at or until");
  WEIR_TRY(const Duration at, words.time());
  Words rest = words;
  if (rest.next() == "cancel") {
    const auto whom = rest.next();
    if (whom.empty() || !rest.done()) return Words::wrong(whom, "all, half or one name");
    return Cancel{at, std::string(whom)};
  }
  Chats chats;
  chats.at = at;
  WEIR_TRY(chats.count, words.number());
  WEIR_TRY_STATUS(words.expect("chats"));
  while (!words.done()) WEIR_TRY_STATUS(parse_chat_word(words.next(), words, chats));
  if (chats.prompt.least == 0 || chats.answer.least == 0)
    return fail(Code::kInvalidArgument, "a prompt and an answer have at least one token");
  return chats;
}

}  // namespace

Result<std::vector<Statement>> parse_scenario(std::string_view script) {
  std::vector<Statement> statements;
  for (int number = 1; !script.empty(); ++number) {
    const auto end = std::min(script.find('\n'), script.size());
    const Words words(script.substr(0, end));
    script.remove_prefix(std::min(end + 1, script.size()));
    if (words.done()) continue;
    auto statement = parse_line(words);
    if (!statement) {
      return fail(Code::kInvalidArgument,
                  "line " + std::to_string(number) + ": " + statement.error().message);
    }
    statements.push_back(*std::move(statement));
  }
  return statements;
}

void Scenario::run(std::string_view script) {
  const auto statements = parse_scenario(script);
  ASSERT_TRUE(statements.has_value()) << statements.error().message;
  for (const Statement& statement : *statements) {
    if (const auto* until = std::get_if<Until>(&statement)) {
      advance(until->at);
    } else if (const auto* c = std::get_if<Cancel>(&statement)) {
      events_.emplace(c->at, [this, whom = c->whom] { cancel(whom); });
    } else {
      const auto& chats = std::get<Chats>(statement);
      for (std::uint32_t i = 0; i < chats.count; ++i) {
        const Instant at = chats.at + i * chats.every;
        events_.emplace(at, [this, at, chats] { arrive(at, chats); });
      }
    }
  }
}

void Scenario::advance(std::optional<Instant> until) {
  while (true) {
    while (!events_.empty() && events_.begin()->first <= drive.now) {
      events_.extract(events_.begin()).mapped()();
    }
    if (until && drive.now >= *until) return;
    if (step()) continue;
    if (!until && events_.empty() && drive.scheduler.idle()) return;
    // Nothing to do: time passes to whatever comes next.
    std::optional<Instant> next = until;
    if (!events_.empty()) next = std::min(next.value_or(Instant::max()), events_.begin()->first);
    if (const auto deadline = drive.scheduler.next_deadline())
      next = std::min(next.value_or(Instant::max()), *deadline);
    ASSERT_TRUE(next.has_value()) << "requests are stuck";
    drive.now = std::max(drive.now, *next);
  }
}

bool Scenario::step() {
  const bool did = drive.step();
  on_plan(drive.last);
  return did && !testing::Test::HasFatalFailure();
}

std::uint32_t Scenario::draw(Range range, std::uint64_t stream) const {
  const std::uint32_t width = range.most - range.least + 1;
  return range.least + philox(seed_, records.size(), stream)[0] % width;
}

void Scenario::arrive(Instant at, const Chats& chats) {
  const std::uint64_t number = records.size();
  const std::uint32_t length = draw(chats.prompt, 1);
  std::vector<TokenId> prompt =
      prompt_of(std::min(chats.shared, length), std::hash<std::string>{}(chats.name));
  const std::vector<TokenId> own =
      prompt_of(length - static_cast<std::uint32_t>(prompt.size()), seed_ * 1'000'003 + number);
  prompt.insert(prompt.end(), own.begin(), own.end());
  Request request = ask(number, std::move(prompt));
  request.tenant = chats.tenant;
  request.space = chats.space;
  request.priority = chats.priority;
  const std::uint32_t answer = draw(chats.answer, 2);
  request.max_tokens = std::max(answer, chats.max_tokens);
  if (chats.deadline) request.deadline = at + *chats.deadline;
  records.push_back({SequenceId{number}, chats.name, at, false});
  records.back().accepted = drive.submit(std::move(request), answer);
}

void Scenario::cancel(const std::string& whom) {
  bool second = false;
  for (const Record& r : records) {
    if (!r.accepted || story(r).end) continue;
    second = !second;
    if (whom == "all" || (whom == "half" && second) || whom == r.name) drive.scheduler.cancel(r.id);
  }
}

std::vector<const Scenario::Record*> Scenario::named(std::string_view name) const {
  std::vector<const Record*> found;
  for (const Record& r : records)
    if (r.accepted && r.name == name) found.push_back(&r);
  return found;
}

std::vector<Duration> Scenario::first_tokens(std::string_view name) const {
  std::vector<Duration> times;
  for (const Record* r : named(name))
    if (!story(*r).token_times.empty()) times.push_back(story(*r).token_times.front() - r->at);
  return times;
}

std::vector<Duration> Scenario::gaps(std::string_view name) const {
  std::vector<Duration> gaps;
  for (const Record* r : named(name)) {
    const auto& t = story(*r).token_times;
    for (std::size_t i = 1; i < t.size(); ++i) gaps.push_back(t[i] - t[i - 1]);
  }
  return gaps;
}

std::vector<Duration> Scenario::totals(std::string_view name) const {
  std::vector<Duration> times;
  for (const Record* r : named(name))
    if (!story(*r).token_times.empty()) times.push_back(story(*r).token_times.back() - r->at);
  return times;
}

std::size_t Scenario::ended(std::string_view name, End how) const {
  const auto of_name = named(name);
  return static_cast<std::size_t>(std::count_if(
      of_name.begin(), of_name.end(), [&](const Record* r) { return story(*r).end == how; }));
}

Duration percentile(std::vector<Duration> values, double part) {
  EXPECT_FALSE(values.empty());
  if (values.empty()) return {};
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(values.size())));
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

Duration mean(const std::vector<Duration>& values) {
  EXPECT_FALSE(values.empty());
  const Duration sum = std::accumulate(values.begin(), values.end(), Duration{});
  return values.empty() ? sum : sum / static_cast<std::int64_t>(values.size());
}

}  // namespace weir::sched
