#include "engine/model/architecture.h"

#include "engine/model/architectures/dense.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr Architecture kArchitectures[] = {
    {"llama", read_llama, dense_layer},
    {"internlm2", read_internlm2, dense_layer},
    {"qwen2", read_qwen2, dense_layer},
    {"qwen3", read_qwen3, dense_layer},
};

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

const Architecture& find_architecture(const GgufFile& file) {
  const std::string name = file.require_string("general.architecture");
  std::string supported;
  for (const Architecture& architecture : kArchitectures) {
    if (name == architecture.name) return architecture;
    supported += (supported.empty() ? "" : ", ") + std::string(architecture.name);
  }
  throw Error("the architecture '" + name + "' is not supported", file.path() + ": metadata key 'general.architecture'",
              "supported are " + supported);
}

ModelSpec model_spec(const Architecture& architecture, const ModelConfig& config) {
  ModelSpec spec;
  spec.embedding = {"token_embd.weight", config.vocabulary, config.hidden};
  for (int64_t i = 0; i < config.layers; ++i) spec.layers.push_back(architecture.layer(config, i));
  spec.output_norm = {"output_norm.weight", config.hidden};
  if (!config.tied_output) spec.output.weights = {{"output.weight", config.vocabulary, config.hidden}};
  return spec;
}

ModelConfig read_config(const GgufFile& file) { return find_architecture(file).read_config(file); }

}  // namespace tandem
