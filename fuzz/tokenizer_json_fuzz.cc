// Any bytes as a tokenizer.json: an error or a tokenizer that encodes.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weir/text/tokenizer.h"
#include "weir/text/tokenizer_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto vocabulary = weir::text::read_tokenizer_json({reinterpret_cast<const char*>(data), size});
  if (!vocabulary) return 0;
  const auto tokenizer = weir::text::Tokenizer::create(*std::move(vocabulary));
  if (!tokenizer) return 0;
  const auto ids = (*tokenizer)->encode("Hello  w\xC3\xB6rld 123\n\xFF<s>", true);
  (void)(*tokenizer)->decode(ids);
  return 0;
}
