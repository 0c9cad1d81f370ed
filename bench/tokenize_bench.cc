// Encoding throughput, one thread:  tokenize_bench FILE.gguf|tokenizer.json TEXT [RUNS]
// Prints the median and the spread over RUNS (default 7) in MB/s; tools/bench_tokenizers compares
// with the reference packages on the same text.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "weir/format/model_file.h"
#include "weir/model/gguf_tokenizer.h"
#include "weir/text/tokenizer.h"
#include "weir/text/tokenizer_json.h"

namespace {

std::string read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

weir::Result<weir::text::Vocabulary> read_vocabulary(const std::string& path) {
  if (!path.ends_with(".gguf")) return weir::text::read_tokenizer_json(read_file(path.c_str()));
  WEIR_TRY(const auto file, weir::format::open_model_file(path));
  return weir::model::read_gguf_vocabulary(*file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: tokenize_bench FILE.gguf|tokenizer.json TEXT [RUNS]\n");
    return 2;
  }
  const int runs = argc > 3 ? std::max(1, std::atoi(argv[3])) : 7;
  auto vocabulary = read_vocabulary(argv[1]);
  if (!vocabulary) {
    fmt::print(stderr, "{}\n", vocabulary.error().message);
    return 1;
  }
  const auto started = std::chrono::steady_clock::now();
  const auto tokenizer = weir::text::Tokenizer::create(*std::move(vocabulary));
  if (!tokenizer) {
    fmt::print(stderr, "{}\n", tokenizer.error().message);
    return 1;
  }
  const std::chrono::duration<double> created = std::chrono::steady_clock::now() - started;
  const std::string text = read_file(argv[2]);
  std::vector<double> rates;
  std::size_t tokens = 0;
  for (int i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    tokens = (*tokenizer)->encode(text).size();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    rates.push_back(static_cast<double>(text.size()) / 1e6 / took.count());
  }
  std::sort(rates.begin(), rates.end());
  fmt::print(
      "weir: {:.1f} MB/s (min {:.1f}, max {:.1f}), {} tokens from {} bytes, made in {:.2f} s\n",
      rates[rates.size() / 2], rates.front(), rates.back(), tokens, text.size(), created.count());
  return 0;
}
