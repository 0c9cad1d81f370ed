#include "weir/sched/test_traffic.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <unordered_map>

#include "weir/base/check.h"
#include "weir/base/random.h"

namespace weir::sched {
namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const auto h = philox(a, b);
  return std::uint64_t{h[0]} << 32 | h[1];
}

/// Takes a number and the separator after it off the front of the line.
std::optional<std::uint64_t> take_number(std::string_view& line) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return value;
}

std::optional<Arrival> parse_arrival(std::string_view line) {
  const auto skip = [&line](char separator) {
    if (!line.starts_with(separator)) return false;
    line.remove_prefix(1);
    return true;
  };
  const auto at = take_number(line);
  if (!at || !skip(',')) return std::nullopt;
  const auto prompt = take_number(line);
  if (!prompt || !skip(',')) return std::nullopt;
  const auto answer = take_number(line);
  if (!answer || *prompt == 0 || *prompt > 1'000'000 || *answer > 1'000'000) return std::nullopt;
  Arrival a{std::chrono::milliseconds(*at),
            static_cast<std::uint32_t>(*prompt),
            std::max<std::uint32_t>(1, static_cast<std::uint32_t>(*answer)),
            {}};
  while (skip(a.blocks.empty() ? ',' : ' ')) {
    const auto first = take_number(line);
    if (!first) return std::nullopt;
    const auto last = skip('-') ? take_number(line) : first;
    if (!last || *last < *first || *last - *first > 10'000) return std::nullopt;
    for (std::uint64_t block = *first; block <= *last; ++block) a.blocks.push_back(block);
  }
  if (!line.empty()) return std::nullopt;
  return a;
}

}  // namespace

Result<Excerpt> read_excerpt(const std::string& name) {
  const std::string path = "weir/sched/testdata/" + name + ".csv";
  std::ifstream file(path);
  if (!file) return fail(Code::kNotFound, path + ": cannot be opened", path);
  Excerpt excerpt;
  for (std::string line; std::getline(file, line);) {
    auto arrival = parse_arrival(line);
    if (!arrival) return fail(Code::kCorrupt, path + ": '" + line + "' is no arrival", path);
    excerpt.arrivals.push_back(*std::move(arrival));
  }
  if (excerpt.arrivals.size() < 2) return fail(Code::kCorrupt, path + ": is empty", path);
  return excerpt;
}

Excerpt scaled_to_an_eighth(Excerpt excerpt) {
  excerpt.block_tokens /= 8;
  for (Arrival& a : excerpt.arrivals) {
    a.prompt = (a.prompt + 7) / 8;
    a.answer = (a.answer + 7) / 8;
  }
  return excerpt;
}

std::vector<Arrival> repeat(const Excerpt& excerpt, std::size_t count, double rate,
                            std::uint64_t common, std::uint64_t seed) {
  const auto& all = excerpt.arrivals;
  // As long as its requests take at the rate; the first of the next repetition follows at once.
  const double stretch = static_cast<double>(all.size()) / rate / seconds(all.back().at);
  std::vector<Arrival> arrivals;
  arrivals.reserve(count);
  for (std::uint64_t round = 0; arrivals.size() < count; ++round) {
    const double begin = static_cast<double>(round * all.size()) / rate;
    for (std::size_t i = 0; i < all.size() && arrivals.size() < count; ++i) {
      Arrival a = all[i];
      a.at = from_seconds(begin + seconds(a.at) * stretch);
      if (a.blocks.empty()) {
        const auto vary = [&](std::uint32_t n, std::uint64_t stream) {
          const double factor = 0.9 + 0.2 * uniform(seed, arrivals.size(), stream);
          return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(n * factor));
        };
        a.prompt = vary(a.prompt, 1);
        a.answer = vary(a.answer, 2);
      }
      for (std::uint64_t& block : a.blocks)
        if (block >= common) block += round * 1'000'000;
      arrivals.push_back(std::move(a));
    }
  }
  return arrivals;
}

std::vector<TokenId> tokens_of(const Arrival& arrival, std::uint32_t block_tokens,
                               std::uint64_t number) {
  std::vector<TokenId> tokens(arrival.prompt);
  std::uint64_t block = 0;
  for (std::uint32_t i = 0; i < arrival.prompt; ++i) {
    if (i % block_tokens == 0) {
      const std::uint64_t which = i / block_tokens;
      block = which < arrival.blocks.size() ? mix(1, arrival.blocks[which])
                                            : mix(2, number << 16 | which);
    }
    // An odd stride through 2^16 values: tokens of two blocks agree no oftener than by chance.
    tokens[i] = static_cast<TokenId>((block + i * (block >> 32 | 1)) % 65'536);
  }
  return tokens;
}

std::uint64_t ideal_hits(const std::vector<Arrival>& arrivals, std::uint32_t block_tokens) {
  std::unordered_map<std::uint64_t, std::uint32_t> seen;  // Tokens of the last block, by the path.
  std::uint64_t hits = 0;
  for (const Arrival& a : arrivals) {
    std::uint64_t path = 0;
    std::uint32_t found = 0;
    for (std::uint32_t i = 0; i < a.blocks.size() && i * block_tokens < a.prompt; ++i) {
      path = mix(path, a.blocks[i]);
      const std::uint32_t here = std::min(block_tokens, a.prompt - i * block_tokens);
      std::uint32_t& known = seen[path];
      if (found == i * block_tokens) found += std::min(known, here);
      known = std::max(known, here);
    }
    hits += std::min(found, a.prompt - 1);  // One token at least is computed.
  }
  return hits;
}

namespace {

/// What is known of a request on its way.
struct OnTheWay {
  std::size_t stream = 0;
  Instant at{};
  std::uint32_t left = 0;  ///< Answer tokens to come.
  bool started = false;
};

class Server {
 public:
  Server(Scheduler& scheduler, const policy::StepCost& truth, const std::vector<Stream>& streams)
      : scheduler_(scheduler), truth_(truth), streams_(streams), next_(streams.size(), 0) {
    report_.streams.resize(streams.size());
  }

  TrafficReport run(std::uint64_t check_every) {
    while (true) {
      submit_until(report_.end);
      if (!step()) {
        const auto next = next_arrival();
        if (!next) break;
        report_.end = std::max(report_.end, streams_[*next].arrivals[next_[*next]].at);
      } else if (++report_.steps % check_every == 0) {
        scheduler_.check();
      }
    }
    WEIR_CHECK(scheduler_.idle(), "all were served");
    return std::move(report_);
  }

 private:
  [[nodiscard]] std::optional<std::size_t> next_arrival() const {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (next_[i] == streams_[i].arrivals.size()) continue;
      if (!first || streams_[i].arrivals[next_[i]].at < streams_[*first].arrivals[next_[*first]].at)
        first = i;
    }
    return first;
  }

  void submit_until(Instant now) {
    for (auto i = next_arrival(); i && streams_[*i].arrivals[next_[*i]].at <= now;
         i = next_arrival()) {
      const Arrival& a = streams_[*i].arrivals[next_[*i]++];
      Request r;
      r.id = SequenceId{number_};
      r.tenant = streams_[*i].tenant;
      r.space = kv::Namespace{static_cast<std::uint64_t>(r.tenant)};
      r.prompt = tokens_of(a, streams_[*i].block_tokens, number_);
      r.max_tokens = a.answer;
      ++number_;
      const SequenceId id = r.id;
      if (!scheduler_.arrived(std::move(r), now)) {
        ++report_.streams[*i].refused;
        continue;
      }
      report_.streams[*i].prompt_tokens += a.prompt;
      on_the_way_[id] = {*i, a.at, a.answer, false};
    }
  }

  bool step() {
    const StepPlan& plan = scheduler_.plan(report_.end);
    for (const Admitted& a : plan.admitted) {
      if (!a.resumed) report_.streams[on_the_way_.at(a.id).stream].hit_tokens += a.cached_tokens;
    }
    if (plan.empty()) return false;
    const Duration took = truth_.estimate(plan.work);
    report_.end += took;
    results_.clear();
    for (const StepRow& row : plan.rows)
      if (row.wants_logits) sample(row);
    scheduler_.step_done(results_, took);
    return true;
  }

  void sample(const StepRow& row) {
    const auto it = on_the_way_.find(row.id);
    OnTheWay& request = it->second;
    StreamReport& stream = report_.streams[request.stream];
    if (!request.started) stream.first_tokens.push_back(report_.end - request.at);
    request.started = true;
    ++stream.answer_tokens;
    const auto token =
        static_cast<TokenId>((static_cast<std::uint64_t>(row.id) * 31 + row.first) % 65'536);
    RowResult result{row.id, token, std::nullopt};
    if (--request.left == 0) {
      result.end = End::kFinished;
      on_the_way_.erase(it);
    }
    results_.push_back(result);
  }

  Scheduler& scheduler_;
  const policy::StepCost& truth_;
  const std::vector<Stream>& streams_;
  std::vector<std::size_t> next_;  ///< By stream, the arrival that comes next.
  std::uint64_t number_ = 0;
  std::unordered_map<SequenceId, OnTheWay> on_the_way_;
  std::vector<RowResult> results_;
  TrafficReport report_;
};

}  // namespace

TrafficReport serve(Scheduler& scheduler, const policy::StepCost& truth,
                    const std::vector<Stream>& streams, std::uint64_t check_every) {
  return Server(scheduler, truth, streams).run(check_every);
}

}  // namespace weir::sched
