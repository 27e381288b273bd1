// Whether a first text had better wait until a card's kernels are compiled, or be written without the card.
//
// A card with memory of its own has other sums than the host (docs/numbers.md), so it cannot join in the middle of a
// text. Its kernels take a second or two to compile. All functions are pure.
#pragma once

#include <cstdint>
#include <string>

namespace tandem {

// The text that a user wants, as far as it is known before the model is loaded.
struct TextAsked {
  int64_t prompt_tokens = 0;
  int64_t tokens = -1;  // most to be written; < 0: nobody knows how many
};

struct FirstText {
  double host_seconds = 0, card_seconds = 0;  // of the text alone
  double compile_seconds = 0;
  bool endless = false;  // nobody knows how long it is
  // Half of the time to compile counts against this text: what is compiled is kept for all others.
  bool waits() const { return endless || compile_seconds / 2 + card_seconds <= host_seconds; }
};

// weight_bytes and parameters: of the model; a mixture of experts is taken to use all of them. compile_seconds: what
// it took before; 0: it is not known.
FirstText predict_first_text(const TextAsked& asked, double weight_bytes, double parameters, int host_cores,
                             int compute_units, double compile_seconds);

// For people: what is done, and why.
std::string describe(const FirstText& text, const std::string& card);

}  // namespace tandem
