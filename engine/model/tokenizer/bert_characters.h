// BERT's rules for single characters, which come before the search for tokens (Devlin et al. 2018, arXiv:1810.04805).
// Control characters are removed. Ideographs and punctuation are parted from their neighbours. For vocabularies without
// upper case, letters are lowered and lose their accents.
//
// Contract: the tables have the values that PyPI's `tokenizers` gives, character by character. Decomposed Hangul
// follows from arithmetic. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::bert_characters {

struct Range {
  char32_t first, last;
};
// The characters first, first + step, ... last become themselves plus delta.
struct Fold {
  char32_t first, last;
  int32_t step, delta;
};
// One character becomes several.
struct Parts {
  char32_t character;
  std::u32string_view parts;
};

// Tables, each in ascending order.
const std::vector<Range>& removed();      // controls, formats, private use
const std::vector<Range>& ideographs();   // words of their own
const std::vector<Range>& punctuation();  // likewise, and ASCII's symbols
const std::vector<Range>& marks();        // accents, which lowering removes
const std::vector<Fold>& folds();         // lower case, without accents
const std::vector<Parts>& parts();

bool is_removed(char32_t c);
bool is_space(char32_t c);  // becomes a blank
bool is_ideograph(char32_t c);
bool is_punctuation(char32_t c);
// Appends the character in lower case without its accents: nothing for an accent alone.
void append_folded(std::u32string& text, char32_t c);

}  // namespace tandem::bert_characters
