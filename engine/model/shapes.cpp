#include "engine/model/shapes.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "engine/model/architecture.h"
#include "sync/error.h"
#include "sync/json_text.h"

namespace tandem {
namespace {

using Json = nlohmann::json;

// From the models' published configuration files.
constexpr PublishedShape kPublished[] = {
    // name, architecture, layers, H, I, heads, kv heads, head dim, vocabulary, context, rope base, tied, bias, qk norm
    {"llama-3-8b", "llama", 32, 4096, 14336, 32, 8, 128, 128256, 8192, 500000},
    {"llama-2-7b", "llama", 32, 4096, 11008, 32, 32, 128, 32000, 4096, 10000},
    {"llama-3.2-3b", "llama", 28, 3072, 8192, 24, 8, 128, 128256, 131072, 500000, true},
    {"llama-3.2-1b", "llama", 16, 2048, 8192, 32, 8, 64, 128256, 131072, 500000, true},
    {"internlm2-1.8b", "internlm2", 24, 2048, 8192, 16, 8, 128, 92544, 32768, 1000000},
    {"mistral-7b", "llama", 32, 4096, 14336, 32, 8, 128, 32768, 32768, 1000000},
    {"tinyllama-1.1b", "llama", 22, 2048, 5632, 32, 4, 64, 32000, 2048, 10000},
    {"smollm2-135m", "llama", 30, 576, 1536, 9, 3, 64, 49152, 8192, 100000, true},
    {"smollm2-360m", "llama", 32, 960, 2560, 15, 5, 64, 49152, 8192, 100000, true},
    {"smollm2-1.7b", "llama", 24, 2048, 8192, 32, 32, 64, 49152, 8192, 130000, true},
    {"qwen2.5-0.5b", "qwen2", 24, 896, 4864, 14, 2, 64, 151936, 32768, 1000000, true, true},
    {"qwen2.5-1.5b", "qwen2", 28, 1536, 8960, 12, 2, 128, 151936, 32768, 1000000, true, true},
    {"qwen2.5-7b", "qwen2", 28, 3584, 18944, 28, 4, 128, 152064, 32768, 1000000, false, true},
    {"qwen3-0.6b", "qwen3", 28, 1024, 3072, 16, 8, 128, 151936, 40960, 1000000, true, false, true},
};

constexpr int kSchema = 1;
// Bounds as those of a GGUF header: far above any published model.
constexpr int64_t kMaxLayers = 4096, kMaxWidth = int64_t{1} << 20, kMaxVocabulary = int64_t{1} << 24,
                  kMaxContext = int64_t{1} << 30;

// Reads keys of one JSON object; what was never asked for is unknown.
class Keys {
 public:
  Keys(const Json& json, const std::string& source) : json_(json), source_(source) {}

  [[noreturn]] void fail(const std::string& key, const std::string& expected) const {
    throw Error("bad model shape", source_ + ": " + key, "expected " + expected + "; docs/model_clock.md has the keys");
  }
  int64_t count(const char* key, int64_t largest, std::optional<int64_t> otherwise = {}) {
    const Json* value = find(key);
    if (value == nullptr && otherwise) return *otherwise;
    const std::string expected = "a whole number from 1 to " + std::to_string(largest);
    if (value == nullptr || !value->is_number_integer()) fail(key, expected);
    const bool fits = !value->is_number_unsigned() || value->get<uint64_t>() <= static_cast<uint64_t>(largest);
    if (!fits || value->get<int64_t>() < 1) fail(key, expected);
    return value->get<int64_t>();
  }
  float positive(const char* key, float otherwise) {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_number() || !(value->get<double>() > 0 && value->get<double>() <= 1e12)) {
      fail(key, "a number above 0, at most 1e12");
    }
    return value->get<float>();
  }
  bool flag(const char* key) {
    const Json* value = find(key);
    if (value != nullptr && !value->is_boolean()) fail(key, "true or false");
    return value != nullptr && value->get<bool>();
  }
  std::string text(const char* key, const std::string& otherwise) {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_string() || value->get<std::string>().empty()) fail(key, "a text that is not empty");
    return value->get<std::string>();
  }
  void finish() const {
    for (const auto& [key, value] : json_.items()) {
      if (std::ranges::find(asked_, key) == asked_.end()) fail(key, "another name: there is no such key");
    }
  }

 private:
  const Json* find(const char* key) {
    asked_.emplace_back(key);
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  const Json& json_;
  const std::string& source_;
  std::vector<std::string> asked_;
};

// What a shape leaves to its architecture.
void describe(ModelConfig& config, const std::string& source) {
  config.head_dim_v = config.rope.dim = config.head_dim;
  architecture_named(config.architecture, source).describe(config);
}

ModelConfig config_of(const PublishedShape& shape) {
  ModelConfig config;
  config.architecture = shape.architecture;
  config.name = shape.name;
  config.layers = shape.layers;
  config.hidden = shape.hidden;
  config.feed_forward = shape.feed_forward;
  config.heads = shape.heads;
  config.kv_heads = shape.kv_heads;
  config.head_dim = shape.head_dim;
  config.vocabulary = shape.vocabulary;
  config.context_length = shape.context_length;
  config.rope.base = shape.rope_base;
  config.tied_output = shape.tied_output;
  config.qkv_bias = shape.qkv_bias;
  config.qk_norm = shape.qk_norm;
  describe(config, shape.name);
  return config;
}

// Matrices one below the other that read the same input.
MatrixGroup group_of(const PackedFormat& format, const GroupSpec& spec, bool separate) {
  MatrixGroup group;
  for (const MatrixSpec& weight : spec.weights) {
    if (separate || group.parts.empty()) group.parts.push_back({{format, 0, weight.columns, {}}, group.rows});
    group.parts.back().matrix.rows += weight.rows;
    group.rows += weight.rows;
    group.columns = weight.columns;
  }
  return group;
}

}  // namespace

std::span<const PublishedShape> published_shapes() { return kPublished; }

ModelConfig parse_shape(std::string_view text, const std::string& source) {
  const Json json = parse_json(text);
  if (!json.is_object()) {
    throw Error("bad model shape", source, "expected one JSON object; docs/model_clock.md has the keys");
  }
  Keys keys(json, source);
  if (keys.count("schema", kSchema) != kSchema) keys.fail("schema", std::to_string(kSchema));
  ModelConfig config;
  config.architecture = keys.text("architecture", "llama");
  config.name = keys.text("name", source);
  config.layers = keys.count("layers", kMaxLayers);
  config.hidden = keys.count("hidden", kMaxWidth);
  config.feed_forward = keys.count("feed_forward", kMaxWidth);
  config.heads = keys.count("heads", kMaxLayers);
  config.kv_heads = keys.count("kv_heads", kMaxLayers, config.heads);
  if (config.heads % config.kv_heads != 0) keys.fail("kv_heads", "a divisor of heads");
  const bool divides = config.hidden % config.heads == 0;
  config.head_dim =
      keys.count("head_dim", kMaxLayers, divides ? std::optional(config.hidden / config.heads) : std::nullopt);
  config.vocabulary = keys.count("vocabulary", kMaxVocabulary);
  config.context_length = keys.count("context_length", kMaxContext, 4096);
  config.rope.base = keys.positive("rope_base", 10000.0f);
  config.tied_output = keys.flag("tied_output");
  config.qkv_bias = keys.flag("qkv_bias");
  config.qk_norm = keys.flag("qk_norm");
  if (const int64_t window = keys.count("sliding_window", kMaxContext, 0); window > 0) config.window = window;
  keys.finish();
  describe(config, source);
  return config;
}

ModelConfig model_shape(const std::string& name_or_path) {
  if (name_or_path.ends_with(".gguf")) return read_config(GgufFile::open(name_or_path));
  if (name_or_path.ends_with(".json"))
    return parse_shape(read_json_file(name_or_path, "the model shape"), name_or_path);
  std::string names;
  for (const PublishedShape& shape : kPublished) {
    if (name_or_path == shape.name) return config_of(shape);
    names += (names.empty() ? "" : ", ") + std::string(shape.name);
  }
  throw Error("unknown model shape", name_or_path, "Use a .gguf or .json file, or one of: " + names);
}

Model shape_only_model(const ModelConfig& c, const PackedFormat& format, bool separate) {
  const ModelSpec spec = model_spec(architecture_named(c.architecture, c.name), c);
  Model model{c, {}};
  ModelWeights& weights = model.weights;
  weights.embedding = {format, spec.embedding.rows, spec.embedding.columns, {}};
  weights.bytes = weights.embedding.bytes();
  const Overloaded shape{[&](const GroupSpec& from, MatrixGroup& to) {
                           to = group_of(format, from, separate);
                           weights.bytes += to.bytes();
                         },
                         [](const VectorSpec&, Operand&) {}};
  weights.layers.resize(spec.layers.size());
  for (size_t i = 0; i < spec.layers.size(); ++i) each_part(shape, spec.layers[i], weights.layers[i]);
  if (c.tied_output)
    weights.output = {{{weights.embedding, 0}}, c.vocabulary, c.hidden, {}};
  else
    shape(spec.output, weights.output);
  return model;
}

}  // namespace tandem
