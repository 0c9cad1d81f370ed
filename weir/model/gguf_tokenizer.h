#pragma once

/// tokenizer.ggml.* metadata of a GGUF file as a text::Vocabulary.
/// Models: gpt2 (byte-level BPE, cut as tokenizer.ggml.pre says), llama (SentencePiece BPE), t5
/// (SentencePiece unigram), bert (WordPiece).
/// Thread safety: pure functions.

#include "weir/base/result.h"
#include "weir/format/model_file.h"
#include "weir/text/vocabulary.h"

namespace weir::model {

/// Names the key that is missing, of the wrong type or of the wrong length; an unknown
/// tokenizer.ggml.model or tokenizer.ggml.pre is Code::kUnsupported and named.
[[nodiscard]] Result<text::Vocabulary> read_gguf_vocabulary(const format::ModelFile& file);

}  // namespace weir::model
