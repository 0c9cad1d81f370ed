#pragma once

/// Which tokens end an answer: the end of text, and the ends of turns that the known chat formats
/// use.

#include "weir/text/vocabulary.h"

namespace weir::text {

/// Fills vocabulary.end_of_generation, after what it holds: eos, then every token with a known
/// end-of-turn text. One of those that a file calls user-defined becomes a control token, or a user
/// could end a turn by typing it.
void find_end_of_generation(Vocabulary& vocabulary);

}  // namespace weir::text
