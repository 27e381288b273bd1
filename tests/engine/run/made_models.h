// Random models of architectures without golden files from elsewhere.
#pragma once

#include <fstream>
#include <functional>
#include <span>
#include <string>

#include "engine/model/random_model.h"
#include "engine/model/shapes.h"
#include "tests/support/scratch_folder.h"

namespace tandem::testing {

struct MadeModel {
  const char* name;
  const char* shape;
  std::function<void(ModelConfig&)> change;

  // The path of the model's file, which is made once.
  std::string file() const {
    static const ScratchFolder folder;
    const std::string path = folder.file(std::string(name) + "-F32.gguf");
    if (std::ifstream(path)) return path;
    ModelConfig config = parse_shape(shape, name);
    change(config);
    std::ofstream out(path, std::ios::binary);
    RandomModel(config, StorageType::f32, 7).write([&](std::span<const std::byte> bytes) {
      out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    });
    return path;
  }
};

// Seven layers cut off the last period of Gemma's windows. The windows begin to exclude positions in the middle of the
// text, one of them within the first tile of queries.
inline std::span<const MadeModel> made_models() {
  static const MadeModel kModels[] = {
      {"gemma2",
       R"({"schema": 1, "architecture": "gemma2", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "head_dim": 24, "vocabulary": 300, "context_length": 256, "sliding_window": 7,
         "tied_output": true})",
       [](ModelConfig& config) {
         config.attention_cap = 1.5f;
         config.logit_cap = 2;
       }},
      {"gemma3",
       R"({"schema": 1, "architecture": "gemma3", "layers": 7, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "head_dim": 24, "vocabulary": 300, "context_length": 256, "rope_base": 1000000,
         "sliding_window": 5, "tied_output": true})",
       [](ModelConfig& config) {
         config.rope.scaling = RopeScaling::linear;
         config.rope.scale_factor = 8;
       }},
      {"granite",
       R"({"schema": 1, "architecture": "granite", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256})",
       [](ModelConfig& config) {
         config.embedding_scale = 12;
         config.residual_scale = 0.22f;
         config.given_attention_scale = 0.1f;
         config.logit_scale = 1 / 3.0f;
       }},
      {"phi3",
       R"({"schema": 1, "architecture": "phi3", "layers": 3, "hidden": 96, "feed_forward": 160, "heads": 3,
         "kv_heads": 3, "vocabulary": 300, "context_length": 256, "sliding_window": 20})",
       [](ModelConfig&) {}},
  };
  return kModels;
}

}  // namespace tandem::testing
