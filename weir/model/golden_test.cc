// Logits of a tiny random-weight model of every family against Hugging Face transformers
// (tools/make_goldens), from GGUF and from safetensors.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <tuple>

#include "weir/model/testing/tiny_model.h"

namespace weir::model {
namespace {

using testing::expect;

template <class T>
std::vector<T> values_of(const format::TensorView& tensor) {
  std::vector<T> out(tensor.elements());
  std::memcpy(out.data(), tensor.data.data(), tensor.data.size());
  return out;
}

/// The largest error of any logit, relative to the largest logit of the reference.
double relative_error(const std::vector<float>& ours, const std::vector<float>& reference) {
  double error = 0, largest = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    error =
        std::max(error, std::abs(static_cast<double>(ours[i]) - static_cast<double>(reference[i])));
    largest = std::max(largest, std::abs(static_cast<double>(reference[i])));
  }
  return error / largest;
}

using Case = std::tuple<std::string, std::string, DType>;  // family, container, KV type

class Golden : public ::testing::TestWithParam<Case> {};

TEST_P(Golden, LogitsAreTheReferences) {
  const auto& [family, container, kv_type] = GetParam();
  compute::ThreadPool pool(2);
  ModelOptions options;
  options.max_rows = options.max_logit_rows = 96;
  options.kv_type = kv_type;
  const testing::TinyModel tiny = testing::load_tiny(family, pool, options, container);
  const auto reference =
      expect(format::open_model_file(testing::golden(family, "reference.safetensors")));
  // F16 keeps 11 bits of each key and value; the models' scores are peaky, so errors of it show.
  const double bound = kv_type == DType::kF32 ? 1e-3 : 5e-3;
  for (int i = 0; i < 2; ++i) {
    const auto tokens = values_of<TokenId>(*reference->tensor("tokens_" + std::to_string(i)));
    const auto wanted = values_of<float>(*reference->tensor("logits_" + std::to_string(i)));
    const std::vector<float> logits = testing::logits_of(*tiny.model, tokens);
    ASSERT_EQ(logits.size(), wanted.size());
    const double error = relative_error(logits, wanted);
    EXPECT_LE(error, bound) << "sequence " << i;
    RecordProperty("relative_error_" + std::to_string(i), std::to_string(error));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryFamily, Golden,
                         ::testing::Combine(::testing::ValuesIn(testing::families()),
                                            ::testing::Values("model.gguf", "hf"),
                                            ::testing::Values(DType::kF32, DType::kF16)),
                         [](const auto& test) {
                           return std::get<0>(test.param) +
                                  (std::get<1>(test.param) == "hf" ? "_safetensors_" : "_gguf_") +
                                  std::string(weir::info(std::get<2>(test.param)).name);
                         });

}  // namespace
}  // namespace weir::model
