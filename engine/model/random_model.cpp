#include "engine/model/random_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "engine/model/architecture.h"
#include "engine/model/expert_keys.h"
#include "engine/model/rope_keys.h"
#include "engine/tensor/block_scales.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr size_t kRandomChunkBytes = size_t{1} << 20;
constexpr float kNormDeviation = 0.1f, kBiasDeviation = 0.3f;

void put_half(std::byte* block, size_t offset, float value) {
  const uint16_t half = float_to_half(value);
  std::memcpy(block + offset, &half, sizeof half);
}

// Each number of the generator gives eight bytes; the last one is cut where the span ends.
void fill(std::span<std::byte> bytes, std::mt19937_64& random) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
    const uint64_t word = random();
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, bytes.size() - at));
  }
}

// Random codes of whole blocks. No file has the fourth code of TQ2_0 and Q2_0, which would be 2; here it becomes 0.
void fill_blocks(std::span<std::byte> blocks, StorageType type, std::mt19937_64& random) {
  fill(blocks, random);
  if (type != StorageType::tq2_0 && type != StorageType::q2_0) return;
  for (std::byte& four : blocks) four &= ~((four & std::byte{0x55}) << 1);
}

// Writes the same scale and minimum into every block.
void set_scales(std::span<std::byte> blocks, size_t block_bytes, const BlockScales& at, float scale, float minimum) {
  for (size_t begin = 0; begin < blocks.size(); begin += block_bytes) {
    set_scale(at, blocks.data() + begin, scale);
    if (at.minimum) put_half(blocks.data() + begin, *at.minimum, minimum);
  }
}

struct Moments {
  double mean = 0, deviation = 0;
};
// Two passes: the mean first, then the deviation from it. The difference of two large sums of squares would
// lose digits.
Moments moments_of(std::span<const float> values) {
  Moments moments;
  for (const float value : values) moments.mean += value;
  moments.mean /= static_cast<double>(values.size());
  for (const float value : values) moments.deviation += (value - moments.mean) * (value - moments.mean);
  moments.deviation = std::sqrt(moments.deviation / static_cast<double>(values.size()));
  return moments;
}

// Scale and minimum for which random codes of a type have deviation 1, and mean 0 if the type has minima. Decoded
// values are linear in scale and minimum, so their moments with each of the two alone give both. A fixed seed makes the
// result the same everywhere.
struct Normal {
  float scale = 0, minimum = 0;
};
Normal normal_of(const BlockScales& at) {
  constexpr size_t kBlocks = 512;
  const StorageTypeInfo& type = info(at.type);
  std::vector<std::byte> blocks(kBlocks * type.block_bytes);
  std::mt19937_64 random(0);
  fill_blocks(blocks, at.type, random);
  std::vector<float> values(kBlocks * type.block_values);
  const auto moments = [&](float scale, float minimum) {
    set_scales(blocks, type.block_bytes, at, scale, minimum);
    decode_row(at.type, blocks.data(), values.data(), static_cast<int64_t>(values.size()));
    return moments_of(values);
  };
  // The minimum that cancels the mean of the scaled codes.
  const double minimum = at.minimum ? -moments(1, 0).mean / moments(0, 1).mean : 0;
  const double deviation = moments(1, static_cast<float>(minimum)).deviation;
  return {static_cast<float>(1 / deviation), static_cast<float>(minimum / deviation)};
}

// Uniform values from the generator's top 24 bits. The standard library's distributions differ between implementations.
void fill_floats(std::span<std::byte> bytes, StorageType type, float mean, float deviation, std::mt19937_64& random) {
  // Values uniform in [-a, a) have the deviation a / sqrt(3).
  const float amplitude = deviation * std::sqrt(3.0f);
  const size_t size = info(type).block_bytes;
  for (size_t at = 0; at < bytes.size(); at += size) {
    const float value = mean + amplitude * (static_cast<float>(random() >> 40) / 8388608.0f - 1.0f);
    const uint16_t half = type == StorageType::bf16 ? float_to_bf16(value) : float_to_half(value);
    std::memcpy(bytes.data() + at, type == StorageType::f32 ? static_cast<const void*>(&value) : &half, size);
  }
}

// The wanted type, or else Q8_0 or F16, whose blocks divide the row.
StorageType type_for(StorageType wanted, int64_t columns) {
  for (const StorageType type : {wanted, StorageType::q8_0})
    if (columns % info(type).block_values == 0) return type;
  return StorageType::f16;
}

// Writes the keys that read_rope() reads; keys of a scaling only if the model has that scaling.
void set_rotation(GgufWriter& writer, const std::string& prefix, const ModelConfig& config) {
  if (config.rope.dim == 0) return;
  writer.set(prefix + "rope.dimension_count", static_cast<uint32_t>(config.rope.dim));
  writer.set(prefix + "rope.freq_base", config.rope.base);
  if (!config.rope.long_factors.empty()) {
    writer.set(prefix + "rope.scaling.original_context_length", static_cast<uint32_t>(config.rope.original_context));
    writer.set(prefix + "rope.scaling.attn_factor", config.rope.attention_factor);
  }
  if (config.rope.scaling != RopeScaling::linear && config.rope.scaling != RopeScaling::yarn) return;
  const bool yarn = config.rope.scaling == RopeScaling::yarn;
  writer.set(prefix + "rope.scaling.type", yarn ? "yarn" : "linear");
  writer.set(prefix + "rope.scaling.factor", config.rope.scale_factor);
  if (config.rope.original_context > 0)
    writer.set(prefix + "rope.scaling.original_context_length", static_cast<uint32_t>(config.rope.original_context));
  if (!yarn) return;
  if (config.rope.yarn_log_multiplier > 0)
    writer.set(prefix + "rope.scaling.yarn_log_multiplier", config.rope.yarn_log_multiplier);
  const bool whole = !config.rope.yarn_magnitude && config.rope.attention_factor != 1.0f;
  writer.set(prefix + (whole ? "rope.scaling.yarn_attn_factor" : "rope.scaling.attn_factor"),
             config.rope.attention_factor);
  writer.set(prefix + "rope.scaling.yarn_beta_fast", config.rope.yarn_beta_fast);
  writer.set(prefix + "rope.scaling.yarn_beta_slow", config.rope.yarn_beta_slow);
}

// Keys that only some architectures have. Only those that this architecture declares are written.
void set_variants(GgufWriter& writer, const std::string& prefix, const ModelConfig& config) {
  const Architecture& architecture = architecture_named(config.architecture, config.name);
  const auto set = [&](std::string_view key, auto value) {
    if (architecture.knows(key)) writer.set(prefix + std::string(key), value);
  };
  set("attention.scale", config.given_attention_scale);
  set("embedding_scale", config.embedding_scale);
  set("residual_scale", config.residual_scale);
  set("logit_scale", architecture.multiplies_logits ? config.logit_scale : 1.0f / config.logit_scale);
  if (config.alibi > 0) set("attention.max_alibi_bias", config.alibi);
  if (config.attention_cap > 0) set("attn_logit_softcapping", config.attention_cap);
  if (config.logit_cap > 0) set("final_logit_softcapping", config.logit_cap);
  set("attention.sliding_window", static_cast<uint32_t>(config.window));
  set("attention.layer_norm_epsilon", config.norm_eps);
  if (config.window_rope) set("rope.freq_base_swa", config.window_rope->base);
  if (config.temperature) set("attention.temperature_scale", config.temperature->scale);
  if (config.has_unrotated_temperature())
    set("attention.temperature_length", static_cast<uint32_t>(config.temperature->length));
}

// Keys with their default value are left out.
void set_experts(GgufWriter& writer, const std::string& prefix, const ExpertsConfig& experts, bool knows_step) {
  const std::pair<const char*, int64_t> sizes[] = {{"expert_count", experts.count},
                                                   {"expert_used_count", experts.used},
                                                   {"expert_feed_forward_length", experts.feed_forward},
                                                   {"expert_shared_feed_forward_length", experts.shared_feed_forward},
                                                   {"leading_dense_block_count", experts.dense_layers}};
  for (const auto& [key, value] : sizes)
    if (value > 0) writer.set(prefix + key, static_cast<uint32_t>(value));
  // Other engines want these keys too.
  if (knows_step) writer.set(prefix + kExpertStep, static_cast<uint32_t>(experts.step));
  if (experts.shared_feed_forward > 0 && experts.shared_feed_forward % experts.feed_forward == 0)
    writer.set(prefix + "expert_shared_count",
               static_cast<uint32_t>(experts.shared_feed_forward / experts.feed_forward));
  if (experts.groups > 1) {
    writer.set(prefix + "expert_group_count", static_cast<uint32_t>(experts.groups));
    writer.set(prefix + "expert_group_used_count", static_cast<uint32_t>(experts.groups_used));
  }
  if (experts.normalised) writer.set(prefix + "expert_weights_norm", true);
  if (experts.scale != 1.0f) writer.set(prefix + "expert_weights_scale", experts.scale);
  if (experts.gating == Gating::sigmoid) writer.set(prefix + "expert_gating_func", uint32_t{2});
}

// Overwrites the widths that the cache keeps with the heads' own widths.
void set_latent_keys(GgufWriter& writer, const std::string& prefix, const LatentConfig& latent) {
  const int64_t key = latent.nope + latent.rope;
  writer.set(prefix + "attention.kv_lora_rank", static_cast<uint32_t>(latent.rank));
  if (latent.query_rank > 0) writer.set(prefix + "attention.q_lora_rank", static_cast<uint32_t>(latent.query_rank));
  writer.set(prefix + "attention.key_length", static_cast<uint32_t>(key));
  writer.set(prefix + "attention.value_length", static_cast<uint32_t>(latent.value));
}

// A WordPiece vocabulary in the form of other converters: special tokens, ASCII's characters at a word's beginning and
// within it, then reserved tokens.
void set_words(GgufWriter& writer, const ModelConfig& config) {
  std::vector<std::string> tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  const auto special = static_cast<int64_t>(tokens.size());
  for (char c = '!'; c <= '~'; ++c)
    if (c < 'A' || c > 'Z') tokens.push_back("\xe2\x96\x81" + std::string(1, c));
  for (char c = '0'; c <= 'z'; ++c)
    if (c <= '9' || c >= 'a') tokens.emplace_back(1, c);
  for (int64_t i = 0; std::ssize(tokens) < config.vocabulary; ++i)
    tokens.push_back("[unused" + std::to_string(i) + "]");
  tokens.resize(static_cast<size_t>(config.vocabulary));
  constexpr int32_t kNormal = 1, kControl = 3;
  std::vector<int32_t> types(tokens.size(), kNormal);
  std::fill_n(types.begin(), std::min(special, config.vocabulary), kControl);
  writer.set("tokenizer.ggml.model", "bert").set("tokenizer.ggml.tokens", tokens);
  writer.set("tokenizer.ggml.token_type", types).set("tokenizer.ggml.pre", "jina-v2-en");
  writer.set("tokenizer.ggml.token_type_count", static_cast<uint32_t>(config.token_types));
  const std::pair<const char*, uint32_t> ids[] = {
      {"padding_token_id", 0},   {"unknown_token_id", 1}, {"cls_token_id", 2}, {"bos_token_id", 2},
      {"seperator_token_id", 3}, {"eos_token_id", 3},     {"mask_token_id", 4}};
  for (const auto& [key, id] : ids)
    if (id < tokens.size()) writer.set(std::string("tokenizer.ggml.") + key, id);
}

// Everything of the file but the tensors: the configuration's keys and the vocabulary.
GgufWriter keys_of(const ModelConfig& config) {
  GgufWriter writer;
  const std::string prefix = config.architecture + ".";
  writer.set("general.architecture", config.architecture).set("general.name", config.name + ", random weights");
  const std::pair<const char*, int64_t> sizes[] = {{"block_count", config.layers},
                                                   {"embedding_length", config.hidden},
                                                   {"feed_forward_length", config.feed_forward},
                                                   {"context_length", config.context_length},
                                                   {"attention.head_count", config.heads},
                                                   {"attention.head_count_kv", config.kv_heads},
                                                   {"attention.key_length", config.head_dim},
                                                   {"attention.value_length", config.head_dim_v},
                                                   {"vocab_size", config.vocabulary}};
  for (const auto& [key, value] : sizes) writer.set(prefix + key, static_cast<uint32_t>(value));
  writer.set(prefix + (config.layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon"),
             config.norm_eps);
  set_rotation(writer, prefix, config);
  set_variants(writer, prefix, config);
  if (config.sees_all) writer.set(prefix + "attention.causal", false);
  if (config.pooling) writer.set(prefix + "pooling_type", static_cast<uint32_t>(*config.pooling));
  if (config.experts)
    set_experts(writer, prefix, *config.experts,
                architecture_named(config.architecture, config.name).knows(kExpertStep));
  // Comes after the common widths, because it replaces two of them.
  if (config.latent) set_latent_keys(writer, prefix, *config.latent);
  if (config.sees_all) {
    set_words(writer, config);
    return writer;
  }
  const MadeUpVocabulary vocabulary = made_up_vocabulary(config.vocabulary);
  writer.set("tokenizer.ggml.model", "llama").set("tokenizer.ggml.tokens", vocabulary.tokens);
  writer.set("tokenizer.ggml.scores", vocabulary.scores).set("tokenizer.ggml.token_type", vocabulary.types);
  writer.set("tokenizer.ggml.bos_token_id", uint32_t{1}).set("tokenizer.ggml.eos_token_id", uint32_t{2});
  return writer;
}

}  // namespace

// Pieces come in the order of the header's comment, until there are `size` of them. Scores fall, so that earlier pieces
// merge first.
MadeUpVocabulary made_up_vocabulary(int64_t size) {
  MadeUpVocabulary vocabulary;
  // Ignores the pieces beyond `size`.
  const auto add = [&](const std::string& token, float score, int32_t type) {
    if (static_cast<int64_t>(vocabulary.tokens.size()) == size) return;
    vocabulary.tokens.push_back(token);
    vocabulary.scores.push_back(score);
    vocabulary.types.push_back(type);
  };
  constexpr int32_t kNormal = 1, kUnknown = 2, kControl = 3, kByte = 6;
  add("<unk>", 0, kUnknown);
  add("<s>", 0, kControl);
  add("</s>", 0, kControl);
  for (int byte = 0; byte < 256; ++byte) {
    const char* digits = "0123456789ABCDEF";
    add(std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">", 0, kByte);
  }
  float score = 0;
  const std::string blank = "\xe2\x96\x81";
  for (const std::string& piece : {blank + "t", std::string("he"), blank + "the", std::string("in"), blank + "a"})
    add(piece, --score, kNormal);
  add(blank, --score, kNormal);
  for (char letter = 'a'; letter <= 'z'; ++letter) add(std::string(1, letter), --score, kNormal);
  for (int i = 0; static_cast<int64_t>(vocabulary.tokens.size()) < size; ++i)
    add(blank + "w" + std::to_string(i), --score, kNormal);
  return vocabulary;
}

uint64_t RandomModel::Tensor::bytes() const {
  return row_bytes(type, columns) * static_cast<uint64_t>(rows) * static_cast<uint64_t>(count);
}

RandomModel::RandomModel(const ModelConfig& config, StorageType type, uint64_t seed)
    : seed_(seed), writer_(keys_of(config)) {
  add_tensors(config, type);
  for (const Tensor& tensor : tensors_) {
    // Files leave out trailing dimensions of 1.
    std::vector<int64_t> shape{tensor.columns};
    if (tensor.rows > 1 || tensor.count > 1) shape.push_back(tensor.rows);
    if (tensor.count > 1) shape.push_back(tensor.count);
    writer_.tensor(tensor.name, shape, tensor.type);
  }
}

void RandomModel::add_matrix(const std::string& name, int64_t columns, int64_t rows, StorageType type, int64_t count) {
  const StorageType taken = type_for(type, columns);
  if (taken != type) replaced_.push_back(name + ": " + info(taken).name);
  tensors_.push_back({name, columns, rows, taken, 0, 1 / std::sqrt(static_cast<float>(columns)), {}, count});
}

void RandomModel::add_vector(const VectorSpec& one, float mean, float deviation) {
  if (!one.name.empty()) tensors_.push_back({one.name, one.length, one.count, StorageType::f32, mean, deviation});
}

void RandomModel::add_values(const std::string& name, const std::vector<float>& values) {
  if (!values.empty())
    tensors_.push_back({name, static_cast<int64_t>(values.size()), 1, StorageType::f32, 0, 0, values});
}

// Two stacks may share one tensor, which is then added once. A stack that is a part of its tensor becomes one matrix,
// as files have it.
void RandomModel::add_stack(const StackSpec& stack, StorageType type) {
  for (const StackedSpec& one : stack.weights) {
    if (std::ranges::find(tensors_, one.name, &Tensor::name) != tensors_.end()) continue;
    // The tensor has more rows for each head than this stack uses.
    const bool parts = one.file_pitch() != one.file_rows();
    add_matrix(one.name, one.file_columns(), parts ? stack.count * one.file_pitch() : one.file_rows(), type,
               parts ? 1 : stack.count);
  }
}

// All tensors that the architecture names. Norms are near 1, biases near 0.
void RandomModel::add_tensors(const ModelConfig& config, StorageType type) {
  const ModelSpec spec = model_spec(architecture_named(config.architecture, config.name), config);
  const auto norm = [&](const VectorSpec& one) { add_vector(one, 1, kNormDeviation); };
  const auto bias = [&](const VectorSpec& one) { add_vector(one, 0, kBiasDeviation); };
  const auto group = [&](const GroupSpec& one, StorageType taken) {
    for (const MatrixSpec& matrix : one.weights) add_matrix(matrix.name, matrix.columns, matrix.rows, taken);
    for (const VectorSpec& each : one.biases) bias(each);
  };
  const auto stack = [&](const StackSpec& one) { add_stack(one, type); };
  add_matrix(spec.embedding.name, spec.embedding.columns, spec.embedding.rows, type);
  for (const LayerSpec& layer : spec.layers) {
    const GroupSpec* router = &layer.router;  // F32 in files of every type
    const auto matrices = [&](const GroupSpec& one) { group(one, &one == router ? StorageType::f32 : type); };
    const auto vectors = [&](const VectorSpec& one) {
      const VectorSpec* const biases[] = {
          &layer.attention_norm_bias, &layer.ffn_norm_bias,  &layer.router_bias,      &layer.attention_sinks,
          &layer.expert_gate_bias,    &layer.expert_up_bias, &layer.expert_down_bias, &layer.attention_post_norm_bias,
          &layer.ffn_post_norm_bias};
      const bool is_bias = std::ranges::find(biases, &one) != std::end(biases);
      is_bias ? bias(one) : norm(one);
    };
    each_part(Overloaded{vectors, matrices, stack}, layer);
  }
  if (const MatrixSpec& positions = spec.position_embedding; !positions.name.empty())
    add_matrix(positions.name, positions.columns, positions.rows, type);
  bias(spec.token_types);
  norm(spec.embedding_norm);
  bias(spec.embedding_norm_bias);
  norm(spec.output_norm);
  bias(spec.output_norm_bias);
  group(spec.output, type);
  const RopeConfig& rope = config.rope;
  add_values(rope.long_factors.empty() ? kRopeFactors : kShortRopeFactors, rope.frequency_factors);
  add_values(kLongRopeFactors, rope.long_factors);
}

int64_t RandomModel::parameters() const {
  int64_t sum = 0;
  for (const Tensor& tensor : tensors_) sum += tensor.columns * tensor.rows * tensor.count;
  return sum;
}

// Counts as write() does: each tensor begins at the next aligned offset.
uint64_t RandomModel::file_bytes() const {
  uint64_t bytes = writer_.header().size();
  for (const Tensor& tensor : tensors_) bytes = writer_.aligned(bytes) + tensor.bytes();
  return bytes;
}

// Streams the tensors in the order of the header. One generator runs through the whole file, so the bytes depend only
// on shape, type and seed. Block types get random codes first and then their scales.
void RandomModel::write(const std::function<void(std::span<const std::byte>)>& take) const {
  const std::vector<std::byte> header = writer_.header();
  take(header);
  std::mt19937_64 random(seed_);
  uint64_t written = header.size();
  std::vector<std::byte> chunk;
  for (const Tensor& tensor : tensors_) {
    chunk.assign(writer_.aligned(written) - written, std::byte{0});
    if (!chunk.empty()) take(chunk);
    written += chunk.size() + tensor.bytes();
    if (!tensor.values.empty()) {
      take(std::as_bytes(std::span(tensor.values)));
      continue;
    }
    const size_t block = info(tensor.type).block_bytes;
    const BlockScales* scales = block_scales(tensor.type);
    const Normal normal = scales == nullptr ? Normal{} : normal_of(*scales);
    // A chunk consists of whole blocks, so the scales of every block are inside it.
    for (uint64_t left = tensor.bytes(); left > 0; left -= chunk.size()) {
      chunk.resize(std::min<uint64_t>(left, kRandomChunkBytes / block * block));
      if (scales == nullptr) {
        fill_floats(chunk, tensor.type, tensor.mean, tensor.deviation, random);
      } else {
        fill_blocks(chunk, tensor.type, random);
        set_scales(chunk, block, *scales, normal.scale * tensor.deviation, normal.minimum * tensor.deviation);
      }
      take(chunk);
    }
  }
}

}  // namespace tandem
