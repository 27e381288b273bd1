#include "engine/run/machine/kernel_set.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/model/layer_names.h"
#include "engine/tensor/types.h"

namespace tandem {
namespace {

// The tensor's name without its layer, and its type.
std::string role_of(const GgufTensor& tensor) {
  return std::string(name_in_layer(tensor.name)) + ":" + info(tensor.type).name;
}

}  // namespace

// Names what the kernels of a model depend on: the architecture, the widths and groups of heads, the rotation, and the
// types of all tensors. Two models with one text share their compiled kernels.
std::string kernel_set_of(const GgufFile& file, const ModelConfig& config) {
  std::set<std::string> roles;
  for (const GgufTensor& tensor : file.tensors()) roles.insert(role_of(tensor));
  std::string text = config.architecture + " heads " + std::to_string(config.head_dim) + "/" +
                     std::to_string(config.head_dim_v) + " " +
                     std::to_string(config.kv_heads > 0 ? config.heads / config.kv_heads : 0) + " a KV head, " +
                     (config.rope.halves ? "halves" : "interleaved") + ", rotated " + std::to_string(config.rope.dim) +
                     (config.logit_scale != 1 ? ", scaled logits" : "") + ", types";
  for (const std::string& role : roles) text += " " + role;
  return text;
}

std::string kernels_mark(const GgufFile& file, const ModelConfig& config, KvType kv_type, ActType act,
                         KernelsFor texts) {
  return kernel_set_of(file, config) + ", cache " + (kv_type == KvType::f16 ? "f16" : "f32") + ", activations " +
         to_string(act) + (texts == KernelsFor::many_texts ? ", many texts" : "");
}

// Finds the first layer of each role. The last one of these layers, and one layer behind it, are needed.
int64_t layers_of_every_kind(const GgufFile& file, const ModelConfig& config) {
  std::map<std::string, int64_t> first;  // the first layer with each role
  for (const GgufTensor& tensor : file.tensors()) {
    const auto layer = layer_of(tensor.name);
    if (!layer) continue;
    const auto [at, is_new] = first.try_emplace(role_of(tensor), *layer);
    if (!is_new) at->second = std::min(at->second, *layer);
  }
  int64_t last = 0;
  for (const auto& [role, layer] : first) last = std::max(last, layer);
  return std::min(last + 2, std::max<int64_t>(1, config.layers));
}

}  // namespace tandem
