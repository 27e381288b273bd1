#include "engine/model/missing_operators.h"

#include <algorithm>
#include <iterator>

namespace tandem {
namespace {

struct Missing {
  const char* architecture;
  const char* what;
};

constexpr const char* kStateSpace = "state-space layers (Mamba)";
constexpr const char* kRwkv = "linear attention (RWKV)";
constexpr const char* kDelta = "linear attention (gated delta rule)";
constexpr const char* kConvolution = "layers of convolutions";
constexpr const char* kEncoder = "attention to another sequence (an encoder)";
constexpr const char* kDiffusion = "decoding by diffusion, which is no left-to-right text";
constexpr const char* kPictures = "pictures, or positions of three dimensions";
constexpr const char* kSparse = "an indexer that chooses positions (sparse attention)";

// The architectures' names are those of the package gguf (0.19.0).
constexpr Missing kMissing[] = {
    {"mamba", kStateSpace},
    {"mamba2", kStateSpace},
    {"jamba", kStateSpace},
    {"falcon-h1", kStateSpace},
    {"granitehybrid", kStateSpace},
    {"nemotron_h", kStateSpace},
    {"nemotron_h_moe", kStateSpace},
    {"plamo2", kStateSpace},
    {"rwkv6", kRwkv},
    {"rwkv6qwen2", kRwkv},
    {"rwkv7", kRwkv},
    {"arwkv7", kRwkv},
    {"qwen3next", kDelta},
    {"qwen35", kDelta},
    {"qwen35moe", kDelta},
    {"kimi-linear", kDelta},
    {"lfm2", kConvolution},
    {"lfm2moe", kConvolution},
    {"wavtokenizer-dec", kConvolution},
    {"t5", kEncoder},
    {"t5encoder", kEncoder},
    {"dream", kDiffusion},
    {"llada", kDiffusion},
    {"llada-moe", kDiffusion},
    {"rnd1", kDiffusion},
    {"paddleocr", kPictures},
    {"hunyuan_vl", kPictures},
    {"cogvlm", kPictures},
    {"glm-dsa", kSparse},
};

}  // namespace

const char* missing_operator(std::string_view architecture) {
  const auto* found = std::ranges::find(kMissing, architecture,
                                        [](const Missing& entry) { return std::string_view(entry.architecture); });
  return found == std::end(kMissing) ? nullptr : found->what;
}

}  // namespace tandem
