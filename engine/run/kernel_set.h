// Which of a GPU's kernels a model needs, as far as a model file's header tells: models for which these say the same
// run on the same kernels.
//
// All functions are pure.
#pragma once

#include <cstdint>
#include <string>

#include "engine/device/operator.h"
#include "engine/model/config.h"
#include "engine/model/gguf.h"

namespace tandem {

// "llama heads 64/64 3 a KV head, halves, types attn_q:Q4_1 ...": the same for every layer of a kind.
std::string kernel_set_of(const GgufFile& file, const ModelConfig& config);

// One text at a time needs a part of the kernels, which need not wait for those of many texts and of trees.
enum class KernelsFor { one_text, many_texts };

// The same for a model with a KV cache and activations of these types: what engine/run/warming.h marks.
std::string kernels_mark(const GgufFile& file, const ModelConfig& config, KvType kv_type, ActType act,
                         KernelsFor texts);

// The fewest first layers that have matrices of every type that any layer has, and one behind them: a pass ends its
// last layer for the tokens alone that get logits, so that other kernels run there.
int64_t layers_of_every_kind(const GgufFile& file, const ModelConfig& config);

}  // namespace tandem
