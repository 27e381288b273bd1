// Random models of encoders.
#pragma once

#include <span>

#include "tests/engine/run/made_models.h"

namespace tandem::testing {

inline std::span<const MadeModel> made_encoders() {
  static const MadeModel kEncoders[] = {
      {"bert",
       R"({"schema": 1, "architecture": "bert", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "vocabulary": 320, "context_length": 300, "pooling": "cls"})",
       [](ModelConfig&) {}},
      {"nomic-bert",
       R"({"schema": 1, "architecture": "nomic-bert", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "vocabulary": 320, "context_length": 512, "rope_base": 1000, "pooling": "mean"})",
       [](ModelConfig&) {}},
      // Six heads: the slopes of the last two are not those of four.
      {"jina-bert-v2",
       R"({"schema": 1, "architecture": "jina-bert-v2", "layers": 3, "hidden": 96, "feed_forward": 96, "heads": 6,
         "vocabulary": 320, "context_length": 512, "pooling": "mean"})",
       [](ModelConfig&) {}},
  };
  return kEncoders;
}

}  // namespace tandem::testing
