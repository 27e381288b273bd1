#include "tests/fuzz/targets.h"

namespace tandem::fuzz {

std::span<const Target> targets() {
  static constexpr Target kTargets[] = {{"gguf", gguf},
                                        {"gguf_split", gguf_split},
                                        {"vocabulary", vocabulary},
                                        {"tokenizer", tokenizer},
                                        {"chat_template", chat_template}};
  return kTargets;
}

}  // namespace tandem::fuzz
