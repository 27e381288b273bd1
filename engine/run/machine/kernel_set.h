// Describes the GPU kernels that a model needs, from the header of its file. Models with equal descriptions run
// on the same kernels.
//
// All functions are pure.
#pragma once

#include <cstdint>
#include <string>

#include "engine/device/operator.h"
#include "engine/model/config.h"
#include "engine/model/gguf.h"

namespace tandem {

// "llama heads 64/64 3 a KV head, halves, types attn_q:Q4_1 ...". Each kind of tensor stands there once, not
// once for each layer.
std::string kernel_set_of(const GgufFile& file, const ModelConfig& config);

// One text at a time needs only a part of the kernels, and need not wait for those of many texts and of trees.
enum class KernelsFor { one_text, many_texts };

// The description with the types of the KV cache and of activations, and the use. The class Warming marks
// it as compiled.
std::string kernels_mark(const GgufFile& file, const ModelConfig& config, KvType kv_type, ActType act,
                         KernelsFor texts);

// The smallest number of first layers that need all kernels of the model. They have matrices of every type that any
// layer has, and one more layer follows them. A pass ends its last layer only for tokens that get logits, and this
// needs other kernels.
int64_t layers_of_every_kind(const GgufFile& file, const ModelConfig& config);

}  // namespace tandem
