// Any bytes through every kind of tokenizer: ids in range, no control token from untrusted text,
// byte-level BPE and byte fallback give the bytes back, and the streamed text is the decoded text.
// The first byte chooses the tokenizer, the second where trusted text begins and how.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "weir/base/utf8.h"
#include "weir/text/detokenizer.h"
#include "weir/text/testing_vocabularies.h"
#include "weir/text/tokenizer.h"

namespace {

using weir::text::Tokenizer;

void require(bool law) {
  if (!law) std::abort();
}

std::vector<std::unique_ptr<Tokenizer>> make_all() {
  using namespace weir::text;
  std::vector<Vocabulary> vocabularies = {
      byte_bpe_vocabulary({{"a", "b"}, {"Ġ", "ab"}, {"a", "a"}, {"aa", "aa"}, {"Ġ", "Ġ"}}),
      scored_vocabulary(), unigram_vocabulary(), word_piece_vocabulary()};
  vocabularies.push_back(vocabularies[0]);
  NormalizerStep nfkc;
  nfkc.kind = NormalizerStep::Kind::kNfkc;
  vocabularies.back().normalizer = {nfkc};
  std::vector<std::unique_ptr<Tokenizer>> all;
  for (Vocabulary& v : vocabularies) {
    auto tokenizer = Tokenizer::create(std::move(v));
    require(tokenizer.has_value());
    all.push_back(*std::move(tokenizer));
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto tokenizers = make_all();
  if (size < 2) return 0;
  const std::size_t which = data[0] % tokenizers.size();
  const Tokenizer& t = *tokenizers[which];
  const std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t border = text.empty() ? 0 : data[1] % (text.size() + 1);

  const auto plain = t.encode(text, false, {.add_special = false});
  for (const auto id : plain) {
    require(id >= 0 && id < t.size());
    require(!t.is_control(id) || id == t.vocabulary().unknown);
  }
  if (which == 0) require(t.decode(plain) == text);
  if (which == 1 && text.find("\xE2\x96\x81") == std::string::npos)
    require(t.decode(plain) == text);

  const std::vector<weir::text::Span> spans = {{text.substr(0, border), false},
                                               {text.substr(border), true}};
  const auto mixed = t.encode(spans, {});
  weir::text::Detokenizer stream(t, false);
  std::string streamed;
  for (const auto id : mixed) {
    require(id >= 0 && id < t.size());
    const std::string shown = stream.push(id);
    require(weir::utf8::find_invalid(shown) == std::string::npos);
    streamed += shown;
  }
  streamed += stream.finish();
  require(streamed == weir::utf8::sanitize(t.decode(mixed)));
  return 0;
}
