#include "weir/model/forward.h"

#include <algorithm>

#include "weir/base/check.h"
#include "weir/compute/attention.h"
#include "weir/model/logit_scan.h"

namespace weir::model {

namespace {

/// Up to so many rows a barrier costs more than making their norms and codes once more: 0.3 us, if
/// nobody is late, against 0.17 us for a row of 576.
constexpr std::uint32_t kRowsForAll = 4;
/// Columns of the gate that one worker takes at a time: two panels, one block of codes.
constexpr std::size_t kStrip = 32;
/// Floats of gate and up, or of logits, that are in work before what follows: 128 KiB of gate and
/// up together.
constexpr std::size_t kStripFloats = 16384;
/// But no fewer: blocks are quantised four at a time.
constexpr std::size_t kLeastStrip = 128;

}  // namespace

std::uint32_t barriers_of_step(std::uint32_t layers, bool post_norms, std::uint32_t rows) {
  const bool few = rows <= kRowsForAll;
  // The embedding has one; the head's inputs as those of a layer.
  return layers * ((few ? 5 : 8) + (post_norms ? 2 : 0)) + (few ? 1 : 2);
}

Forward::Forward(const ModelShape& shape, const Weights& weights, const compute::RopeTable& rope,
                 const compute::RopeTable& local_rope, Workspace& work, const Batch& batch,
                 const compute::KvArena& arena)
    : shape_(shape),
      weights_(weights),
      rope_(rope),
      local_rope_(local_rope),
      work_(work),
      arena_(arena),
      qkv_width_(shape.q_width() + 2 * shape.kv_width()) {
  for (const SequenceRows& sequence : batch.sequences) {
    const auto rows = static_cast<std::uint32_t>(sequence.tokens.size());
    WEIR_CHECK(rows > 0 && sequence.logit_rows <= rows,
               "a sequence without rows, or with more logits than rows");
    WEIR_CHECK(all_rows_ + sequence.tokens.size() <= work_.places.size(),
               "more rows than the model was loaded for");
    WEIR_CHECK(kept_rows_ + sequence.logit_rows <= work_.kept.size(),
               "more logit rows than the model was loaded for");
    WEIR_CHECK((sequence.first_position + rows - 1) / kPageTokens < sequence.pages.size(),
               "the pages do not cover the rows");
    compute::AttentionRows attention{work_.qkv.data() + std::size_t{all_rows_} * qkv_width_,
                                     work_.mixed.data() + std::size_t{all_rows_} * shape.q_width(),
                                     qkv_width_,
                                     shape.q_width(),
                                     rows,
                                     sequence.first_position,
                                     sequence.pages};
    work_.attention[sequences_++] = attention;
    single_rows_ = single_rows_ && rows == 1 && sequence.logit_rows == 1;
    if (sequence.logit_rows > 0) {
      const std::uint32_t skipped = rows - sequence.logit_rows;
      attention.q += std::size_t{skipped} * qkv_width_;
      attention.out = work_.mixed.data() + std::size_t{kept_rows_} * shape.q_width();
      attention.rows = sequence.logit_rows;
      attention.first_position += skipped;
      work_.last_attention[kept_sequences_++] = attention;
      for (std::uint32_t i = skipped; i < rows; ++i) work_.kept[kept_rows_++] = all_rows_ + i;
    }
    for (std::uint32_t i = 0; i < rows; ++i) {
      const TokenId token = sequence.tokens[i];
      WEIR_CHECK(token >= 0 && static_cast<std::uint32_t>(token) < shape.vocabulary,
                 "a token outside the vocabulary");
      const std::uint32_t position = sequence.first_position + i;
      work_.places[all_rows_++] = {token, position, sequence.pages[position / kPageTokens],
                                   position % kPageTokens};
    }
  }
}

void Forward::run(const Team& team) {
  embed(team);
  for (std::uint32_t i = 0; i < shape_.layers; ++i) {
    project(team, i);
    const std::uint32_t rows = finished_rows(i);
    if (rows == 0)
      return;  // Mid-prompt: the last layer's keys and values were all that was wanted.
    attention_block(team, i, rows);
    mlp_block(team, weights_.layers()[i], rows);
  }
  head(team);
}

void Forward::embed(const Team& team) {
  const compute::Share mine = team.share(all_rows_);
  for (std::size_t row = mine.begin; row < mine.end; ++row) {
    const std::span<float> x = row_of(work_.residual, row, shape_.width);
    weights_.embed(static_cast<std::uint32_t>(work_.places[row].token), x);
    if (shape_.embedding_scale != 1.0F) compute::scale(shape_.embedding_scale, x);
  }
  team.barrier();
}

bool Forward::alone(std::uint32_t rows, std::uint64_t columns) const {
  return rows <= kRowsForAll &&
         rows * columns * sizeof(float) + compute::Activations::bytes(rows, columns) <=
             Team::kScratchBytes;
}

compute::Inputs Forward::normed_inputs(const Team& team, std::uint32_t rows,
                                       std::span<const float> norm, const compute::Linear& next) {
  const std::size_t width = shape_.width;
  const compute::Forms forms = next.forms();
  const bool for_all = alone(rows, width);
  float* normed = work_.normed.data();
  compute::Inputs inputs = work_.inputs.of(forms, normed, rows, width, width);
  if (for_all) {
    const std::span<std::byte> mine = team.own_scratch();
    normed = reinterpret_cast<float*>(mine.data());
    inputs = compute::inputs_in(mine.subspan(rows * width * sizeof(float)), forms, normed, rows,
                                width, width);
  }
  const compute::Share mine = for_all ? compute::Share{0, rows} : team.share(rows);
  for (std::size_t row = mine.begin; row < mine.end; ++row) {
    compute::rms_norm(row_of(work_.residual, row, width), norm, shape_.norm_epsilon,
                      {normed + row * width, width});
    inputs.fill(row, 0, width);
  }
  if (!for_all) team.barrier();
  return inputs;
}

compute::Inputs Forward::inputs_of(const Team& team, std::uint32_t rows, const float* x,
                                   std::uint64_t columns, const compute::Linear& next) {
  const compute::Forms forms = next.forms();
  const bool for_all = alone(rows, columns);
  const compute::Inputs inputs =
      for_all ? compute::inputs_in(team.own_scratch(), forms, x, rows, columns, columns)
              : work_.inputs.of(forms, x, rows, columns, columns);
  if (for_all) {
    for (std::uint32_t row = 0; row < rows; ++row) inputs.fill(row, 0, columns);
  } else {
    inputs.fill(team);
    team.barrier();
  }
  return inputs;
}

void Forward::add_product(const Team& team, const compute::Linear& w, const compute::Inputs& x,
                          std::span<const float> bias, std::span<const float> post_norm) {
  const std::size_t width = shape_.width;
  if (bias.empty() && post_norm.empty()) {
    compute::matmul(team, w, x, work_.residual.data(), width, compute::Into::kAdd);
    team.barrier();
    return;
  }
  compute::matmul(team, w, x, work_.projected.data(), width);
  team.barrier();
  const compute::Share rows = team.share(x.rows);
  for (std::size_t row = rows.begin; row < rows.end; ++row) {
    const std::span<float> y = row_of(work_.projected, row, width);
    if (!bias.empty()) compute::add(bias, y);
    if (!post_norm.empty()) compute::rms_norm(y, post_norm, shape_.norm_epsilon, y);
    compute::add(y, row_of(work_.residual, row, width));
  }
  team.barrier();
}

/// Each head is made alone and of its own values, so who makes it, and beside which others, does
/// not show.
class Forward::RowMaker final : public compute::AttentionRowMaker {
 public:
  RowMaker(const Forward& forward, std::uint32_t layer)
      : f_(forward), shape_(forward.shape_), weights_(f_.weights_.layers()[layer]), layer_(layer) {}

  void make_queries(std::size_t row, std::uint32_t first, std::uint32_t heads,
                    float* q) const override {
    for (std::uint32_t i = 0; i < heads; ++i, q += shape_.head_dim)
      turn(row, first + i, weights_.q_norm, {q, shape_.head_dim});
  }
  void store_keys_and_values(std::size_t row, std::uint32_t kv_head) const override {
    const std::uint32_t head = shape_.heads + kv_head;
    const std::span<float> k = head_of(f_.row_of(f_.work_.qkv, row, f_.qkv_width_), head);
    const std::span<float> v{k.data() + shape_.kv_width(), k.size()};
    turn(row, head, weights_.k_norm, k);
    add_bias(head + shape_.kv_heads, v);
    const RowPlace& place = f_.work_.places[row];
    f_.arena_.write_head(layer_, place.page, place.slot, kv_head, k.data(), v.data());
  }
  /// All heads of the row, the queries in place.
  void make(std::size_t row) const {
    make_queries(row, 0, shape_.heads, f_.row_of(f_.work_.qkv, row, f_.qkv_width_).data());
    for (std::uint32_t i = 0; i < shape_.kv_heads; ++i) store_keys_and_values(row, i);
  }

 private:
  /// Heads are counted through q, k and v.
  template <class T>
  [[nodiscard]] std::span<T> head_of(std::span<T> row, std::uint32_t head) const {
    return row.subspan(std::size_t{head} * shape_.head_dim, shape_.head_dim);
  }
  void add_bias(std::uint32_t head, std::span<float> x) const {
    if (!weights_.qkv_bias.empty()) compute::add(head_of(weights_.qkv_bias, head), x);
  }
  void turn(std::size_t row, std::uint32_t head, std::span<const float> norm,
            std::span<float> x) const {
    add_bias(head, x);
    if (shape_.qk_norm) compute::rms_norm(x, norm, shape_.norm_epsilon, x);
    const compute::RopeTable& table = shape_.is_local(layer_) ? f_.local_rope_ : f_.rope_;
    const std::uint32_t position = f_.work_.places[row].position;
    compute::rope(shape_.rope, table.cosines(position), table.sines(position), 1, shape_.head_dim,
                  x.data());
  }

  const Forward& f_;
  const ModelShape& shape_;
  const Layer& weights_;
  std::uint32_t layer_;
};

void Forward::keep_logit_rows() {
  for (std::size_t i = 0; i < kept_rows_; ++i) {
    // Rows are kept in order, so each moves forward over rows already moved or dropped.
    const std::span<float> from = row_of(work_.residual, work_.kept[i], shape_.width);
    if (work_.kept[i] != i)
      std::ranges::copy(from, row_of(work_.residual, i, shape_.width).begin());
  }
}

void Forward::project(const Team& team, std::uint32_t layer) {
  const Layer& weights = weights_.layers()[layer];
  const compute::Inputs x = normed_inputs(team, all_rows_, weights.attention_norm, weights.qkv);
  compute::matmul(team, weights.qkv, x, work_.qkv.data(), qkv_width_);
  team.barrier();
  if (single_rows_) return;  // Made where they are attended.
  const RowMaker maker(*this, layer);
  const compute::Share mine = team.share(all_rows_);
  for (std::size_t row = mine.begin; row < mine.end; ++row) maker.make(row);
  team.barrier();
}

void Forward::attention_block(const Team& team, std::uint32_t layer, std::uint32_t rows) {
  const Layer& weights = weights_.layers()[layer];
  const bool last = layer + 1 == shape_.layers;
  if (last && team.index() == 0)
    keep_logit_rows();  // Nobody reads residuals until the next barrier.
  const compute::AttentionShape shape{layer, shape_.heads, shape_.attention_scale,
                                      shape_.attention_soft_cap,
                                      shape_.is_local(layer) ? shape_.window : 0};
  // Of single rows all are kept, so a sequence's number is its row's in the last layer too.
  const RowMaker maker(*this, layer);
  compute::attend(team, arena_, shape,
                  last ? std::span(work_.last_attention).first(kept_sequences_)
                       : std::span(work_.attention).first(sequences_),
                  single_rows_ ? &maker : nullptr);
  team.barrier();
  const compute::Inputs x =
      inputs_of(team, rows, work_.mixed.data(), shape_.q_width(), weights.out);
  add_product(team, weights.out, x, weights.out_bias, weights.post_attention_norm);
}

void Forward::mlp_block(const Team& team, const Layer& weights, std::uint32_t rows) {
  const std::size_t mlp = shape_.mlp_width;
  const compute::Inputs x = normed_inputs(team, rows, weights.mlp_norm, weights.gate_up);
  const compute::Inputs gated =
      work_.gated.of(weights.down.forms(), work_.gate_up.data(), rows, mlp, 2 * mlp);
  // The same columns of gate and up, a strip at a time, so that they are still in a near cache when
  // they become one.
  const std::size_t strip = std::max(kStripFloats / rows / kStrip * kStrip, kLeastStrip);
  const compute::Share mine = team.share(mlp, kStrip);
  for (std::size_t begin = mine.begin; begin < mine.end; begin += strip) {
    const std::size_t end = std::min(begin + strip, mine.end);
    float* const gate = work_.gate_up.data() + begin;
    compute::matmul_outputs(weights.gate_up, x, begin, end, gate, 2 * mlp);
    compute::matmul_outputs(weights.gate_up, x, mlp + begin, mlp + end, gate + mlp, 2 * mlp);
    for (std::size_t row = 0; row < rows; ++row) {
      float* const g = gate + row * 2 * mlp;
      compute::gated(shape_.activation, {g, end - begin}, {g + mlp, end - begin}, {g, end - begin});
      gated.fill(row, begin, end - begin);
    }
  }
  team.barrier();
  add_product(team, weights.down, gated, {}, weights.post_mlp_norm);
}

void Forward::head(const Team& team) {
  const std::size_t vocabulary = shape_.vocabulary;
  const compute::Inputs x =
      normed_inputs(team, kept_rows_, weights_.output_norm(), weights_.head());
  // A strip is scaled, and its peaks are found, while it is in a near cache.
  const std::size_t strip =
      std::max(kStripFloats / kept_rows_ / kPeakBlock * kPeakBlock, kPeakBlock);
  const compute::Share mine = team.share(vocabulary, kPeakBlock);
  for (std::size_t begin = mine.begin; begin < mine.end; begin += strip) {
    const std::size_t count = std::min(strip, mine.end - begin);
    compute::matmul_outputs(weights_.head(), x, begin, begin + count, work_.logits.data() + begin,
                            vocabulary);
    for (std::size_t row = 0; row < kept_rows_; ++row) {
      const std::span<float> logits = row_of(work_.logits, row, vocabulary).subspan(begin, count);
      if (shape_.logit_scale != 1.0F) compute::scale(shape_.logit_scale, logits);
      if (shape_.logit_soft_cap != 0.0F) compute::soft_cap(shape_.logit_soft_cap, logits);
      find_peaks(logits, row_of(work_.peaks, row, peak_blocks(vocabulary))
                             .subspan(begin / kPeakBlock, peak_blocks(count)));
    }
  }
}

}  // namespace weir::model
