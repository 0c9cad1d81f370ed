#include "weir/model/architectures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "weir/model/testing/fake_file.h"
#include "weir/model/testing/tiny_model.h"
#include "weir/model/weights.h"

namespace weir::model {
namespace {

using testing::expect;
using testing::FakeFile;
using ::testing::HasSubstr;

using Strings = std::vector<std::string>;
using Numbers = std::vector<double>;

/// A GGUF file of `layers` layers of width 64, with an embedding and nothing else.
FakeFile gguf(const std::string& arch, std::int64_t layers = 2) {
  FakeFile f;
  f.set("general.architecture", arch);
  f.set(arch + ".block_count", layers).set(arch + ".embedding_length", std::int64_t{64});
  f.set(arch + ".attention.head_count", std::int64_t{4})
      .set(arch + ".attention.head_count_kv", std::int64_t{2});
  f.set(arch + ".feed_forward_length", std::int64_t{96})
      .set(arch + ".context_length", std::int64_t{256});
  f.set(arch + ".attention.layer_norm_rms_epsilon", 1e-5);
  f.add("token_embd.weight", {128, 64});
  return f;
}

FakeFile hf(const std::string& type, std::int64_t layers = 2) {
  FakeFile f("safetensors");
  f.set("model_type", type).set("num_hidden_layers", layers).set("hidden_size", std::int64_t{64});
  f.set("num_attention_heads", std::int64_t{4}).set("num_key_value_heads", std::int64_t{2});
  f.set("intermediate_size", std::int64_t{96}).set("max_position_embeddings", std::int64_t{256});
  f.set("rms_norm_eps", 1e-5);
  f.add("model.embed_tokens.weight", {128, 64});
  return f;
}

std::string error_of(const FakeFile& file) {
  const auto shape = read_shape(file);
  return shape ? std::string("no error") : shape.error().message;
}

TEST(Architectures, AnUnknownOneIsNamedAndTheKnownAreListed) {
  const auto shape = read_shape(gguf("mamba"));
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().code, Code::kUnsupported);
  EXPECT_EQ(shape.error().message,
            "fake: architecture \"mamba\" is not supported (known: llama, qwen2, qwen3, gemma2, "
            "gemma3, phi3)");
  EXPECT_THAT(error_of(hf("t5")), HasSubstr("architecture \"t5\" is not supported"));
  EXPECT_THAT(error_of(FakeFile()), HasSubstr("general.architecture is missing"));
  EXPECT_THAT(error_of(FakeFile("safetensors")), HasSubstr("model_type is missing"));
}

TEST(Architectures, BothContainersOfAGoldenGiveTheSameShape) {
  for (const std::string& family : testing::families()) {
    SCOPED_TRACE(family);
    const auto a =
        expect(read_shape(*expect(format::open_model_file(testing::golden(family, "model.gguf")))));
    const auto b =
        expect(read_shape(*expect(format::open_model_file(testing::golden(family, "hf")))));
    EXPECT_EQ(a.layers, b.layers);
    EXPECT_EQ(a.heads, b.heads);
    EXPECT_EQ(a.kv_heads, b.kv_heads);
    EXPECT_EQ(a.head_dim, b.head_dim);
    EXPECT_EQ(a.mlp_width, b.mlp_width);
    EXPECT_EQ(a.vocabulary, b.vocabulary);
    EXPECT_EQ(a.context, b.context);
    EXPECT_EQ(a.window, b.window);
    EXPECT_EQ(a.local_layer, b.local_layer);
    EXPECT_EQ(a.tied_head, b.tied_head);
    EXPECT_EQ(a.qkv_bias, b.qkv_bias);
    EXPECT_FLOAT_EQ(a.attention_scale, b.attention_scale);
    EXPECT_EQ(a.rope.dims, b.rope.dims);
    EXPECT_EQ(a.rope.theta, b.rope.theta);
    EXPECT_EQ(a.rope.local_theta, b.rope.local_theta);
    EXPECT_EQ(a.rope.position_scale, b.rope.position_scale);
    EXPECT_FLOAT_EQ(a.rope.magnitude, b.rope.magnitude);
    ASSERT_EQ(a.rope.frequency_divisors.size(), b.rope.frequency_divisors.size());
    for (std::size_t i = 0; i < a.rope.frequency_divisors.size(); ++i) {
      EXPECT_FLOAT_EQ(a.rope.frequency_divisors[i], b.rope.frequency_divisors[i]);
    }
  }
}

TEST(Architectures, MissingAndMistypedKeysAreNamed) {
  EXPECT_EQ(error_of(gguf("llama").unset("llama.block_count")),
            "fake: llama.block_count is missing");
  EXPECT_EQ(error_of(gguf("llama").set("llama.block_count", "two")),
            "fake: llama.block_count is not a whole number");
  EXPECT_THAT(error_of(gguf("llama").set("llama.block_count", std::int64_t{1} << 40)),
              HasSubstr("llama.block_count is 1099511627776, outside 1 to 4096"));
  EXPECT_EQ(error_of(hf("llama").unset("hidden_size")), "fake: hidden_size is missing");
  EXPECT_THAT(error_of(gguf("llama").set("llama.rope.freq_base", 1e300)),
              HasSubstr("not a finite number"));
  EXPECT_THAT(error_of(gguf("llama").set("llama.attention.head_count_kv", std::int64_t{3})),
              HasSubstr("4 heads cannot share 3 KV heads evenly"));
  EXPECT_THAT(error_of(gguf("llama").set("llama.rope.dimension_count", std::int64_t{7})),
              HasSubstr("an odd number of dimensions cannot rotate"));
}

TEST(Architectures, ValuesThatDifferFromLayerToLayerAreRefused) {
  using Counts = std::vector<std::int64_t>;
  EXPECT_EQ(
      expect(read_shape(gguf("llama").set("llama.feed_forward_length", Counts{96, 96}))).mlp_width,
      96U);
  EXPECT_THAT(error_of(gguf("llama").set("llama.feed_forward_length", Counts{96, 64})),
              HasSubstr("llama.feed_forward_length differs from layer to layer"));
}

TEST(Architectures, RopeScalingOfOlderConfigsIsRead) {
  const auto linear = expect(read_shape(hf("llama")
                                            .set("rope_theta", 5e5)
                                            .set("rope_scaling.type", "linear")
                                            .set("rope_scaling.factor", 4.0)));
  EXPECT_EQ(linear.rope.theta, 5e5F);
  EXPECT_EQ(linear.rope.position_scale, 0.25F);

  const auto llama3 = expect(
      read_shape(hf("llama")
                     .set("rope_theta", 10000.0)
                     .set("rope_scaling.rope_type", "llama3")
                     .set("rope_scaling.factor", 8.0)
                     .set("rope_scaling.low_freq_factor", 1.0)
                     .set("rope_scaling.high_freq_factor", 4.0)
                     .set("rope_scaling.original_max_position_embeddings", std::int64_t{64})));
  ASSERT_EQ(llama3.rope.frequency_divisors.size(), 8U);
  EXPECT_EQ(llama3.rope.frequency_divisors.front(), 1.0F);  // Fast pairs are left alone,
  EXPECT_EQ(llama3.rope.frequency_divisors.back(), 8.0F);   // slow ones are stretched whole.

  const auto long_rope =
      expect(read_shape(hf("phi3")
                            .set("partial_rotary_factor", 0.5)
                            .set("original_max_position_embeddings", std::int64_t{64})
                            .set("rope_scaling.type", "su")
                            .set("rope_scaling.short_factor", Numbers{1, 1.1, 1.2, 1.3})
                            .set("rope_scaling.long_factor", Numbers{2, 3, 4, 5})));
  EXPECT_EQ(long_rope.rope.dims, 8U);
  EXPECT_EQ(long_rope.rope.original_context, 64U);
  EXPECT_FLOAT_EQ(long_rope.rope.magnitude,
                  static_cast<float>(std::sqrt(1 + std::log(4.0) / std::log(64.0))));
}

TEST(Architectures, AScalingThatWeirLacksIsNamed) {
  EXPECT_THAT(
      error_of(hf("qwen2").set("rope_scaling.type", "yarn").set("rope_scaling.factor", 4.0)),
      HasSubstr("RoPE scaling \"yarn\" is not supported"));
  EXPECT_THAT(error_of(gguf("qwen2").set("qwen2.rope.scaling.type", "yarn")),
              HasSubstr("RoPE scaling \"yarn\" is not supported"));
  EXPECT_THAT(error_of(hf("llama").set("rope_scaling.type", "linear")),
              HasSubstr("rope_scaling.factor is missing"));
}

TEST(Architectures, WindowsFollowEachFamilysPattern) {
  const auto locals = [](const FakeFile& f) {
    const ModelShape s = expect(read_shape(f));
    std::string out;
    for (std::uint32_t i = 0; i < s.layers; ++i) out += s.is_local(i) ? 'w' : '.';
    return out;
  };
  EXPECT_EQ(locals(gguf("gemma2", 4)), "w.w.");
  EXPECT_EQ(locals(gguf("gemma3", 8).set("gemma3.attention.sliding_window", std::int64_t{512})),
            "wwwww.ww");
  EXPECT_EQ(locals(gguf("gemma3", 4)
                       .set("gemma3.attention.sliding_window", std::int64_t{512})
                       .set("gemma3.attention.sliding_window_pattern",
                            std::vector<bool>{false, true, true, false})),
            ".ww.");
  EXPECT_EQ(locals(hf("mistral").set("sliding_window", std::int64_t{32})), "ww");
  EXPECT_EQ(locals(hf("qwen2").set("sliding_window", std::int64_t{32})), "..");
  EXPECT_EQ(locals(hf("qwen2", 4)
                       .set("sliding_window", std::int64_t{32})
                       .set("use_sliding_window", true)
                       .set("max_window_layers", std::int64_t{3})),
            "...w");
  EXPECT_EQ(locals(hf("gemma3_text")
                       .set("sliding_window", std::int64_t{32})
                       .set("layer_types", Strings{"full_attention", "sliding_attention"})),
            ".w");
  EXPECT_THAT(error_of(hf("gemma3_text")
                           .set("sliding_window", std::int64_t{32})
                           .set("layer_types", Strings{"full_attention", "chunked_attention"})),
              HasSubstr("layer type \"chunked_attention\" is not supported"));
}

TEST(Architectures, TheLargestGemmasScaleQueriesByWidthOverHeads) {
  const auto s =
      expect(read_shape(gguf("gemma2", 46).set("gemma2.attention.key_length", std::int64_t{128})));
  EXPECT_FLOAT_EQ(s.attention_scale, 1.0F / std::sqrt(16.0F));
  const auto small =
      expect(read_shape(gguf("gemma2", 26).set("gemma2.attention.key_length", std::int64_t{128})));
  EXPECT_FLOAT_EQ(small.attention_scale, 1.0F / std::sqrt(128.0F));
}

TEST(Architectures, AModelWithAVisionTowerIsReadThroughItsTextConfig) {
  FakeFile f("safetensors");
  f.set("model_type", "gemma3").set("text_config.num_hidden_layers", std::int64_t{6});
  f.set("text_config.hidden_size", std::int64_t{64})
      .set("text_config.num_attention_heads", std::int64_t{4});
  f.set("text_config.num_key_value_heads", std::int64_t{1})
      .set("text_config.head_dim", std::int64_t{32});
  f.set("text_config.intermediate_size", std::int64_t{96})
      .set("text_config.sliding_window", std::int64_t{512});
  f.set("text_config.max_position_embeddings", std::int64_t{1024});
  f.set("text_config.rope_scaling.rope_type", "linear").set("text_config.rope_scaling.factor", 8.0);
  f.add("language_model.model.embed_tokens.weight", {128, 64});
  const ModelShape s = expect(read_shape(f));
  EXPECT_EQ(s.layers, 6U);
  EXPECT_EQ(s.rope.position_scale, 0.125F);
  EXPECT_TRUE(s.tied_head);
}

TEST(Weights, AMissingTensorAWrongShapeAndAStrangerAreNamed) {
  const auto bind_error = [](const FakeFile& f) {
    const auto bound = bind_weights(f, expect(read_shape(f)));
    return bound ? std::string("no error") : bound.error().message;
  };
  FakeFile f = gguf("llama", 1);
  f.add("output_norm.weight", {64})
      .add("blk.0.attn_norm.weight", {64})
      .add("blk.0.ffn_norm.weight", {64});
  f.add("blk.0.attn_q.weight", {64, 64}).add("blk.0.attn_k.weight", {32, 64});
  f.add("blk.0.attn_output.weight", {64, 64}).add("blk.0.ffn_gate.weight", {96, 64});
  f.add("blk.0.ffn_down.weight", {64, 96});
  EXPECT_EQ(bind_error(f), "fake: tensor blk.0.attn_v.weight is missing");
  f.add("blk.0.attn_v.weight", {32, 64});
  f.add("blk.0.ffn_up.weight", {64, 96});
  EXPECT_EQ(bind_error(f),
            "fake: tensor blk.0.ffn_up.weight is [64, 96], but this model's sizes need [96, 64]");
}

TEST(Weights, AnExpertAmongTheLayersIsNotSilentlyIgnored) {
  FakeFile f = gguf("llama", 1);
  f.add("output_norm.weight", {64})
      .add("blk.0.attn_norm.weight", {64})
      .add("blk.0.ffn_norm.weight", {64});
  f.add("blk.0.attn_q.weight", {64, 64})
      .add("blk.0.attn_k.weight", {32, 64})
      .add("blk.0.attn_v.weight", {32, 64});
  f.add("blk.0.attn_output.weight", {64, 64}).add("blk.0.ffn_gate.weight", {96, 64});
  f.add("blk.0.ffn_up.weight", {96, 64}).add("blk.0.ffn_down.weight", {64, 96});
  ASSERT_TRUE(bind_weights(f, expect(read_shape(f))));
  f.add("blk.0.ffn_gate_inp.weight", {8, 64});
  const auto bound = bind_weights(f, expect(read_shape(f)));
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, Code::kUnsupported);
  EXPECT_EQ(
      bound.error().message,
      "fake: tensor blk.0.ffn_gate_inp.weight has no place in a llama model as Weir knows it");
}

}  // namespace
}  // namespace weir::model
