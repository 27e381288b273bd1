#include "engine/model/architecture.h"

#include <algorithm>

#include "engine/model/architectures/dense.h"
#include "engine/model/common_keys.h"
#include "engine/model/config_keys.h"
#include "engine/model/expert_keys.h"
#include "engine/model/known_keys.h"
#include "engine/model/missing_operators.h"
#include "sync/error.h"

namespace tandem {

// Every architecture, by the name of its source file.
#define TANDEM_ARCHITECTURES(EACH) \
  EACH(arcee)                      \
  EACH(bailingmoe)                 \
  EACH(bert)                       \
  EACH(cohere2)                    \
  EACH(command_r)                  \
  EACH(deepseek)                   \
  EACH(deepseek2)                  \
  EACH(ernie4_5)                   \
  EACH(ernie4_5_moe)               \
  EACH(exaone)                     \
  EACH(exaone4)                    \
  EACH(gemma)                      \
  EACH(gemma2)                     \
  EACH(gemma3)                     \
  EACH(glm4)                       \
  EACH(glm4_moe)                   \
  EACH(gpt_oss)                    \
  EACH(granite)                    \
  EACH(granitemoe)                 \
  EACH(hunyuan_dense)              \
  EACH(hunyuan_moe)                \
  EACH(internlm2)                  \
  EACH(jina_bert_v2)               \
  EACH(llama)                      \
  EACH(llama4)                     \
  EACH(minicpm)                    \
  EACH(mistral3)                   \
  EACH(nemotron)                   \
  EACH(nomic_bert)                 \
  EACH(olmo2)                      \
  EACH(olmoe)                      \
  EACH(phi2)                       \
  EACH(phi3)                       \
  EACH(phimoe)                     \
  EACH(qwen2)                      \
  EACH(qwen2moe)                   \
  EACH(qwen2vl)                    \
  EACH(qwen3)                      \
  EACH(qwen3moe)                   \
  EACH(qwen3vl)                    \
  EACH(qwen3vlmoe)                 \
  EACH(seed_oss)                   \
  EACH(smollm3)                    \
  EACH(stablelm)                   \
  EACH(starcoder2)

#define TANDEM_DECLARE(name) extern const Architecture name##_architecture;
TANDEM_ARCHITECTURES(TANDEM_DECLARE)

bool Architecture::knows(std::string_view key) const { return std::ranges::find(keys, key) != keys.end(); }

std::span<const Architecture* const> architectures() {
#define TANDEM_LIST(name) &name##_architecture,
  static const Architecture* const all[] = {TANDEM_ARCHITECTURES(TANDEM_LIST)};
  return all;
}

const Architecture& architecture_named(const std::string& name, const std::string& where) {
  std::string supported;
  for (const Architecture* architecture : architectures()) {
    if (name == architecture->name) return *architecture;
    supported += (supported.empty() ? "" : ", ") + std::string(architecture->name);
  }
  if (name == "clip")
    throw Error("the file is a projector of pictures or sound, and has no language model", where,
                "open the model's file instead; its text part runs");
  if (const char* missing = missing_operator(name))
    throw Error("the architecture '" + name + "' is not supported: it needs " + missing, where,
                "use a model of another architecture; supported are " + supported);
  throw Error("the architecture '" + name + "' is not supported", where, "supported are " + supported);
}

const Architecture& find_architecture(const GgufFile& file) {
  return architecture_named(file.require_string("general.architecture"),
                            file.path() + ": metadata key 'general.architecture'");
}

// Embedding, last norm and output are the same in all architectures; only the layers differ. The list of a tied output
// stays empty, because its matrix is the embedding's.
ModelSpec model_spec(const Architecture& architecture, const ModelConfig& config) {
  ModelSpec spec;
  spec.embedding = {"token_embd.weight", config.vocabulary, config.hidden};
  for (int64_t i = 0; i < config.layers; ++i) spec.layers.push_back(architecture.layer(config, i));
  if (config.position_rows > 0) spec.position_embedding = {"position_embd.weight", config.position_rows, config.hidden};
  if (config.token_types > 0) spec.token_types = {"token_types.weight", config.hidden, config.token_types};
  if (config.sum_norms) {
    spec.embedding_norm = {"token_embd_norm.weight", config.hidden};
    spec.embedding_norm_bias = {"token_embd_norm.bias", config.hidden};
  }
  if (config.sees_all) return spec;  // an encoder ends with its last layer
  spec.output_norm = {"output_norm.weight", config.hidden};
  if (config.has_norm_bias()) spec.output_norm_bias = {"output_norm.bias", config.hidden};
  if (!config.tied_output) spec.output.weights = {{"output.weight", config.vocabulary, config.hidden}};
  if (config.logits_bias) spec.output.biases = {{"output.bias", config.vocabulary}};
  return spec;
}

namespace {

// The first half of such a tensor is the gate.
void join(const GgufFile& file, std::vector<MatrixSpec>& weights) {
  if (weights.size() != 2 || file.find(weights.front().name) != nullptr) return;
  weights = {{weights.back().name, weights.front().rows + weights.back().rows, weights.back().columns}};
}

void join_experts(const GgufFile& file, const std::string& name, LayerSpec& layer) {
  std::vector<StackedSpec>& weights = layer.expert_gate_up.weights;
  if (weights.size() == 2 && file.find(name + ".weight") != nullptr)
    weights = {{name + ".weight", weights.front().rows + weights.back().rows, weights.back().columns}};
  VectorSpec &gate = layer.expert_gate_bias, &up = layer.expert_up_bias;
  if (gate.name.empty() || file.find(name + ".bias") == nullptr) return;
  gate = {name + ".bias", gate.length + up.length, gate.count};
  up = {};
}

}  // namespace

// Converters of Jina Embeddings 2 wrote gate and up apart until 2025. Since then they write one tensor with the name of
// the second. Converters of mixtures write one tensor for gates and ups of all experts if they are asked to.
ModelSpec model_spec(const Architecture& architecture, const ModelConfig& config, const GgufFile& file) {
  ModelSpec spec = model_spec(architecture, config);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    LayerSpec& layer = spec.layers[i];
    if (config.sees_all && config.gated) join(file, layer.gate_up.weights);
    join_experts(file, "blk." + std::to_string(i) + ".ffn_gate_up_exps", layer);
  }
  return spec;
}

// The order matters. Common keys give the numbers, and describe() adds what the architecture fixes. Only then can
// require_known_keys() compare values with what is computed.
ModelConfig read_config(const GgufFile& file) {
  const Architecture& architecture = find_architecture(file);
  ModelConfig config = read_common_keys(file, architecture.keys);
  const ConfigKeys keys(file, config.architecture);
  if (architecture.has_experts && !config.experts) keys.fail("expert_count", "found none, expected 1 to 4096");
  if (architecture.multiplies_logits && config.logit_scale != 1)
    config.logit_scale = static_cast<float>(keys.require_number("logit_scale"));
  architecture.describe(config);
  require_known_keys(file, config, architecture.keys);
  if (architecture.takes_expert_norm) take_expert_norm(keys, config);
  check_expert_weights(keys, config);
  if (architecture.may_have_choice_bias && config.experts) read_choice_bias(file, config);
  if (architecture.read != nullptr) architecture.read(file, config);
  return config;
}

}  // namespace tandem
