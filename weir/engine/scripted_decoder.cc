#include "weir/engine/scripted_decoder.h"

#include <algorithm>

#include "weir/base/check.h"
#include "weir/base/random.h"

namespace weir::engine {

void Script::hold() {
  const std::lock_guard lock(mutex_);
  allowed_ = begun_;
}

void Script::let(std::uint64_t steps) {
  const std::lock_guard lock(mutex_);
  allowed_ += std::min(steps, std::numeric_limits<std::uint64_t>::max() - allowed_);
  changed_.notify_all();
}

void Script::await(std::uint64_t steps) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return begun_ >= steps; });
}

std::uint64_t Script::begun() const {
  const std::lock_guard lock(mutex_);
  return begun_;
}

void Script::begin_step() {
  std::unique_lock lock(mutex_);
  const std::uint64_t mine = ++begun_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return mine <= allowed_; });
}

ScriptedDecoder::ScriptedDecoder(ScriptOptions options, std::shared_ptr<Script> script)
    : options_(options),
      script_(std::move(script)),
      arena_(std::size_t{options.facts.kv_units} * kPageTokens, -1) {}

std::size_t ScriptedDecoder::slot(std::span<const PageId> pages, std::size_t position,
                                  std::uint32_t unit) const {
  const std::size_t entry =
      std::size_t{index(pages[position / kPageTokens])} * options_.facts.kv.of_page() + unit;
  const std::size_t at = table_.empty() ? entry : index(table_[entry]);
  WEIR_CHECK(at < options_.facts.kv_units, "what is read or written is there");
  return at * kPageTokens + position % kPageTokens;
}

std::span<const float> ScriptedDecoder::forward(const model::Batch& batch) {
  if (script_) script_->begin_step();
  logits_.clear();
  std::size_t all_rows = 0;
  for (const model::SequenceRows& rows : batch.sequences) {
    all_rows += rows.tokens.size();
    for (std::size_t i = 0; i < rows.tokens.size(); ++i) {
      const std::size_t position = rows.first_position + i;
      WEIR_CHECK(position / kPageTokens < rows.pages.size(), "pages cover every row");
      WEIR_CHECK(position < options_.facts.context, "positions stay within the context");
      for (std::uint32_t unit = 0; unit < options_.facts.kv.of_page(); ++unit)
        arena_[slot(rows.pages, position, unit)] = rows.tokens[i];
    }
    for (std::uint32_t left = rows.logit_rows; left > 0; --left) {
      const std::size_t at = logits_.size();
      logits_.resize(at + static_cast<std::size_t>(options_.facts.vocabulary));
      logits_after(rows,
                   rows.first_position + static_cast<std::uint32_t>(rows.tokens.size()) - left + 1,
                   logits_.data() + at);
    }
  }
  WEIR_CHECK(logits_.size() <= std::size_t{options_.facts.max_logit_rows} *
                                   static_cast<std::size_t>(options_.facts.vocabulary),
             "a step has no more rows of logits than were planned for");
  WEIR_CHECK(all_rows > 0 && all_rows <= options_.facts.max_rows, "a step has 1 to max_rows rows");
  if (options_.clock != nullptr)
    options_.clock->advance(options_.row_time * static_cast<int>(all_rows));
  return logits_;
}

void ScriptedDecoder::copy(std::span<const kv::PageCopy> copies) {
  for (const kv::PageCopy& copy : copies) {
    for (std::uint32_t unit = 0; unit < options_.facts.kv.of_page(); ++unit) {
      std::copy_n(&arena_[slot({&copy.from, 1}, 0, unit)], kPageTokens,
                  &arena_[slot({&copy.to, 1}, 0, unit)]);
    }
  }
}

void ScriptedDecoder::logits_after(const model::SequenceRows& rows, std::uint32_t positions,
                                   float* out) const {
  std::uint64_t story = 0;
  bool poisoned = false;
  for (std::uint32_t p = 0; p < positions; ++p) {
    const KvUnits& kv = options_.facts.kv;
    const TokenId token = arena_[slot(rows.pages, p, 0)];
    for (std::uint32_t unit = kv.whole; unit < kv.of_page() && p + kv.window >= positions; ++unit)
      WEIR_CHECK(arena_[slot(rows.pages, p, unit)] == token, "windows show what was written");
    poisoned |= options_.poison == token;
    const auto r = philox(story, static_cast<std::uint64_t>(token), p);
    story = std::uint64_t{r[0]} << 32 | r[1];
  }
  for (std::int32_t i = 0; i < options_.facts.vocabulary; ++i) {
    const auto u = static_cast<float>(uniform(story, static_cast<std::uint64_t>(i)));
    out[i] = poisoned ? std::numeric_limits<float>::quiet_NaN() : (2 * u - 1) * options_.scale;
  }
}

}  // namespace weir::engine
