// Decides whether a first text waits until a card's kernels are compiled, or begins on the host.
//
// The kernels take a second or two to compile. A text that begins on the host continues on the card when they are
// there. All functions are pure.
#pragma once

#include <cstdint>
#include <string>

#include "tandem/types.h"

namespace tandem {

struct FirstText {
  double host_seconds = 0, card_seconds = 0;  // of the text alone, without compiling
  double compile_seconds = 0;
  bool endless = false;  // the text's length is unknown
  // Only half of the compile time counts against this text, because later texts use the kernels too.
  bool waits() const { return endless || compile_seconds / 2 + card_seconds <= host_seconds; }
};

// weight_bytes, parameters: of the model. A mixture of experts counts as if each token used all experts.
// compile_seconds: the time that compiling took before; 0: unknown.
FirstText predict_first_text(const TextAsked& asked, double weight_bytes, double parameters, int host_cores,
                             int compute_units, double compile_seconds);

// A note for the user: the decision, and why.
std::string describe(const FirstText& text, const std::string& card);

}  // namespace tandem
