// A helper of tests/test_tokenizers.py: encodes records from standard input and answers with ids
// and with what they decode to.
//   weir_tokenize FILE [--trusted] [--special]
// FILE is a .gguf file, or a tokenizer.json (its neighbours tokenizer_config.json and
// generation_config.json are read if they are there).
// In:  records of a little-endian uint32 length and that many bytes.
// Out: for each, uint32 count, int32 ids, uint32 length, the decoded bytes.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "weir/base/utf8.h"
#include "weir/format/model_file.h"
#include "weir/model/gguf_tokenizer.h"
#include "weir/text/detokenizer.h"
#include "weir/text/tokenizer.h"
#include "weir/text/tokenizer_json.h"

namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

weir::Result<weir::text::Vocabulary> read_vocabulary(const std::string& path) {
  if (path.ends_with(".gguf")) {
    WEIR_TRY(const auto file, weir::format::open_model_file(path));
    return weir::model::read_gguf_vocabulary(*file);
  }
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  return weir::text::read_tokenizer_json(read_file(path),
                                         read_file(folder + "tokenizer_config.json"),
                                         read_file(folder + "generation_config.json"));
}

void put(std::uint32_t n) { std::cout.write(reinterpret_cast<const char*>(&n), sizeof n); }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  bool trusted = false;
  bool special = false;
  for (int i = 2; i < argc; ++i) {
    trusted = trusted || std::strcmp(argv[i], "--trusted") == 0;
    special = special || std::strcmp(argv[i], "--special") == 0;
  }
  auto vocabulary = read_vocabulary(argv[1]);
  if (!vocabulary) {
    std::cerr << vocabulary.error().message << "\n";
    return 1;
  }
  const auto tokenizer = weir::text::Tokenizer::create(*std::move(vocabulary));
  if (!tokenizer) {
    std::cerr << tokenizer.error().message << "\n";
    return 1;
  }
  std::ios::sync_with_stdio(false);
  std::uint32_t size = 0;
  while (std::cin.read(reinterpret_cast<char*>(&size), sizeof size)) {
    std::string text(size, '\0');
    std::cin.read(text.data(), size);
    const auto ids = (*tokenizer)->encode(text, trusted, {.add_special = special});
    put(static_cast<std::uint32_t>(ids.size()));
    std::cout.write(reinterpret_cast<const char*>(ids.data()),
                    static_cast<std::streamsize>(ids.size() * sizeof(weir::TokenId)));
    const std::string decoded = (*tokenizer)->decode(ids);
    put(static_cast<std::uint32_t>(decoded.size()));
    std::cout.write(decoded.data(), static_cast<std::streamsize>(decoded.size()));
    weir::text::Detokenizer detokenizer(**tokenizer, false);
    std::string streamed;
    for (const auto id : ids) streamed += detokenizer.push(id);
    streamed += detokenizer.finish();
    if (streamed != weir::utf8::sanitize(decoded)) {
      std::cerr << "the detokenizer and decode() differ\n";
      return 1;
    }
  }
  return 0;
}
