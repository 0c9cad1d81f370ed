#pragma once

/// The last stage of encoding: one piece of normalised, split text to tokens. One implementation
/// for each TokenizerKind; control tokens are never produced from a piece.
/// Thread safety: immutable after create; const functions may be called from any thread.

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "weir/base/ids.h"
#include "weir/base/result.h"
#include "weir/text/vocabulary.h"

namespace weir::text {

class PieceModel {
 public:
  /// The vocabulary must outlive the model. Errors name the token or merge at fault.
  [[nodiscard]] static Result<std::unique_ptr<PieceModel>> create(const Vocabulary& vocabulary);
  virtual ~PieceModel() = default;

  /// REQUIRES: piece is not empty, and valid UTF-8.
  virtual void encode(std::string_view piece, std::vector<TokenId>& out) const = 0;

  /// Bytes that are not UTF-8, where the vocabulary can write single bytes; see writes_bytes().
  virtual void encode_bytes(std::string_view bytes, std::vector<TokenId>& out) const = 0;
  [[nodiscard]] virtual bool writes_bytes() const = 0;

  /// Where the piece falls apart: encode(a + b) is encode(a) followed by encode(b) when a ends
  /// here. At least one character past `from`, at most piece.size().
  [[nodiscard]] virtual std::size_t next_cut(std::string_view piece, std::size_t from) const {
    (void)from;
    return piece.size();
  }
};

/// The ids of the 256 kByte tokens ("<0x00>" to "<0xFF>"), -1 where one is missing.
[[nodiscard]] std::array<TokenId, 256> byte_tokens(const Vocabulary& vocabulary);

/// Its byte, when a token's text is of the form "<0xAB>"; -1 otherwise.
[[nodiscard]] int byte_of_token(std::string_view text);

}  // namespace weir::text
