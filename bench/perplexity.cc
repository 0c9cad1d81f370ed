// Perplexity of a text file under a model, in llama.cpp's convention (weir/model/perplexity.h).
//
//   perplexity MODEL TEXT [--window 512] [--threads 2] [--kv-type bf16]

#include "weir/model/perplexity.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "weir/model/model.h"
#include "weir/model/open.h"
#include "weir/spec/kv_type.h"
#include "weir/sys/mapped_file.h"

namespace {

using namespace weir;

Result<model::Perplexity> measure(const std::string& path, const std::string& text_path,
                                  std::uint32_t window, std::size_t threads, DType kv_type) {
  WEIR_TRY(const auto opened, model::open_model(path));
  WEIR_TRY(const std::string text, sys::read_file(text_path, std::size_t{64} << 20));
  compute::ThreadPool pool(threads);
  model::ModelOptions options;
  options.context = window;
  options.max_rows = 256;
  options.max_logit_rows = 64;
  options.kv_type = kv_type;
  WEIR_TRY(const auto model, model::Model::load(*opened.file, opened.shape, options, pool));
  const text::Vocabulary& vocabulary = opened.tokenizer->vocabulary();
  return model::measure_perplexity(*model, opened.tokenizer->encode(text),
                                   vocabulary.add_bos ? vocabulary.bos : std::nullopt, window);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Perplexity of a text under a model");
  std::string path, text;
  std::uint32_t window = 512;
  std::size_t threads = 2;
  std::string kv_type = "bf16";
  app.add_option("model", path, "A model file or directory")->required();
  app.add_option("text", text, "A text file")->required();
  app.add_option("--window", window, "Tokens of a window")->capture_default_str();
  app.add_option("--threads", threads, "Workers of the kernel pool")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  app.add_option("--kv-type", kv_type,
                 fmt::format("How keys and values are kept: {}", kKvTypeNames))
      ->capture_default_str()
      ->check([](const std::string& name) {
        return kv_type_named(name) ? "" : fmt::format("must be {}", kKvTypeNames);
      });
  CLI11_PARSE(app, argc, argv);
  const auto result = measure(path, text, window, threads, *kv_type_named(kv_type));
  if (!result) {
    fmt::print(stderr, "perplexity: {}\n", result.error().message);
    return 1;
  }
  fmt::print("{:.4f} over {} tokens\n", result->value(), result->scored);
  return 0;
}
