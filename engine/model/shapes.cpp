#include "engine/model/shapes.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "engine/model/architecture.h"
#include "engine/model/expert_keys.h"
#include "engine/model/latent_keys.h"
#include "engine/model/limits.h"
#include "engine/model/pooling_names.h"
#include "sync/error.h"
#include "sync/json_text.h"

namespace tandem {
namespace {

using Json = nlohmann::json;

constexpr int kSchema = 1;
constexpr int64_t kMaxShapeHeadDim = 2048;

// Reads keys of one JSON object. finish() refuses the keys that were never read.
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
    // Large unsigned numbers would become negative as int64.
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
  // 0 if the key is absent.
  int64_t optional_count(const char* key, int64_t largest) { return find(key) ? count(key, largest) : 0; }
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

// Error unless the architecture can have these parts, and the shape has all parts that it must have.
void check_parts(const Architecture& architecture, const ModelConfig& config, const std::string& source) {
  const auto check = [&](const char* key, const char* parts, bool given, bool always, bool known) {
    // Three cases are right: a part that must be there and is, one that must not be there and is not, and an
    // optional part.
    if (given == always || (given && known)) return;
    throw Error("bad model shape", source + ": " + key,
                "expected " + std::string(given ? "no " : "") + parts + " in a model of the architecture " +
                    architecture.name + "; docs/model_clock.md has the keys");
  };
  check("experts", "experts", config.experts.has_value(), architecture.has_experts, architecture.knows("expert_count"));
  const bool groups = config.experts && config.experts->groups > 1, steps = config.experts && config.experts->step > 1;
  check("expert_groups", "groups of experts", groups, false, architecture.knows("expert_group_count"));
  check("expert_step", "layers without experts between those with experts", steps, false,
        architecture.knows(kExpertStep));
  check("expert_bias", "bias that chooses experts", config.experts && config.experts->choice_bias, false,
        architecture.may_have_choice_bias);
  check("kv_lora_rank", "latent attention", config.latent.has_value(), architecture.has_latent,
        architecture.knows("attention.kv_lora_rank"));
}

// Fills in what a shape leaves to its architecture.
void describe(ModelConfig& config, const std::string& source) {
  const Architecture& architecture = architecture_named(config.architecture, source);
  check_parts(architecture, config, source);
  // The architecture may replace these defaults: values as wide as keys, and heads that are rotated as a whole.
  config.head_dim_v = config.head_dim;
  if (config.rope.dim == 0) config.rope.dim = config.head_dim;
  config.rope.original_context = config.context_length;
  if (config.latent) set_latent(LatentConfig(*config.latent), config);
  architecture.describe(config);
}

ExpertsConfig experts_of(const PublishedExperts& published) {
  ExpertsConfig experts;
  experts.count = published.count;
  experts.used = published.used;
  experts.feed_forward = published.feed_forward;
  experts.shared_feed_forward = published.shared_feed_forward;
  experts.dense_layers = published.dense_layers;
  experts.choice_bias = experts.normalised = published.sigmoid_and_bias;
  if (published.sigmoid_and_bias) experts.gating = Gating::sigmoid;
  experts.scale = published.scale;
  experts.groups = published.groups, experts.groups_used = published.groups_used;
  experts.step = published.step;
  return experts;
}

// Copies the table's row. The rest follows from the architecture.
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
  config.rope.dim = shape.rotated;
  config.tied_output = shape.tied_output;
  config.qkv_bias = shape.qkv_bias;
  config.qk_norm = shape.qk_norm;
  if (shape.experts.count > 0) config.experts = experts_of(shape.experts);
  if (const PublishedLatent& latent = shape.latent; latent.rank > 0)
    config.latent = {latent.rank, latent.nope, latent.rope, latent.value, false, latent.query_rank};
  describe(config, shape.name);
  return config;
}

// A group of matrices that read the same input, one below the other. All have one format, so they are one part
// unless `separate`.
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

// The same for each expert or head. A transposed matrix has no blocks of the file, so it is as wide as f32.
MatrixStack stack_of(const PackedFormat& format, const StackSpec& spec, bool separate) {
  MatrixStack stack;
  stack.count = spec.count;
  for (const StackedSpec& weight : spec.weights) {
    if (separate || stack.parts.empty()) {
      const PackedFormat packed = weight.transposed && !format.dense() ? packed_format(StorageType::f32) : format;
      stack.parts.push_back({{packed, spec.count, 0, weight.columns, {}}, stack.rows});
    }
    stack.parts.back().stack.rows += weight.rows;
    stack.rows += weight.rows;
    stack.columns = weight.columns;
  }
  return stack;
}

// Absent if the shape has no experts.
std::optional<ExpertsConfig> parse_experts(Keys& keys, const ModelConfig& config) {
  ExpertsConfig experts;
  experts.count = keys.optional_count("experts", kMostExperts);
  if (experts.count == 0) return std::nullopt;  // the other keys are unknown then
  experts.used = keys.count("experts_used", std::min(experts.count, kMostExpertsUsed));
  experts.feed_forward = keys.count("expert_feed_forward", kMaxWidth, config.feed_forward);
  experts.shared_feed_forward = keys.optional_count("shared_feed_forward", kMaxWidth);
  experts.dense_layers = keys.optional_count("dense_layers", config.layers);
  experts.step = keys.count("expert_step", config.layers, 1);
  experts.scale = keys.positive("expert_scale", 1.0f);
  experts.groups = keys.count("expert_groups", kMostExpertGroups, 1);
  experts.groups_used = keys.count("expert_groups_used", experts.groups, experts.groups);
  // A group is weighed by two of its experts.
  if (experts.groups > 1 && (experts.count % experts.groups != 0 || experts.count < 2 * experts.groups))
    keys.fail("expert_groups", "groups of two and more experts each, all of one size");
  if (experts.groups_used * (experts.count / experts.groups) < experts.used)
    keys.fail("expert_groups_used", "groups with the experts of a token");
  if (keys.flag("expert_sigmoid")) experts.gating = Gating::sigmoid;
  experts.choice_bias = keys.flag("expert_bias");
  experts.normalised = keys.flag("expert_norm");
  return experts;
}

// Absent if the shape has no rank. The rotation turns pairs of values, so its width is even.
std::optional<LatentConfig> parse_latent(Keys& keys) {
  LatentConfig latent;
  latent.rank = keys.optional_count("kv_lora_rank", kMaxShapeHeadDim);
  if (latent.rank == 0) return std::nullopt;
  latent.nope = keys.count("nope_dim", kMaxShapeHeadDim);
  latent.rope = keys.count("rope_dim", kMaxShapeHeadDim);
  latent.value = keys.count("value_dim", kMaxShapeHeadDim);
  latent.query_rank = keys.optional_count("q_lora_rank", kMaxWidth);
  if (latent.rope % 2 != 0) keys.fail("rope_dim", "an even number");
  return latent;
}

// Absent if the shape names none.
std::optional<Pooling> parse_pooling(Keys& keys) {
  const std::string name = keys.text("pooling", "none");
  for (const auto& [text, pooling] : kPoolingNames)
    if (name == text) return pooling;
  if (name != "none") keys.fail("pooling", "mean, cls or last");
  return std::nullopt;
}

}  // namespace

// Reads every key once, each with its range, then refuses the rest. Order matters only for defaults that follow
// from other keys.
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
  config.rope.dim = keys.count("rotated", config.head_dim, config.head_dim);
  if (config.rope.dim % 2 != 0) keys.fail("rotated", "an even number");
  config.tied_output = keys.flag("tied_output");
  config.qkv_bias = keys.flag("qkv_bias");
  config.qk_norm = keys.flag("qk_norm");
  config.window = keys.optional_count("sliding_window", kMaxContext);
  config.experts = parse_experts(keys, config);
  config.latent = parse_latent(keys);
  config.pooling = parse_pooling(keys);
  keys.finish();
  describe(config, source);
  return config;
}

// The ending decides: a model's file, a shape in JSON, or else the name of a published shape.
ModelConfig model_shape(const std::string& name_or_path) {
  if (name_or_path.ends_with(".gguf")) return read_config(GgufFile::open(name_or_path));
  if (name_or_path.ends_with(".json"))
    return parse_shape(read_json_file(name_or_path, "the model shape"), name_or_path);
  std::string names;
  for (const PublishedShape& shape : published_shapes()) {
    if (name_or_path == shape.name) return config_of(shape);
    names += (names.empty() ? "" : ", ") + std::string(shape.name);
  }
  throw Error("unknown model shape", name_or_path, "Use a .gguf or .json file, or one of: " + names);
}

// Builds the weights part by part from the specification, as the loader does, and adds their sizes up.
Model shape_only_model(const ModelConfig& c, const PackedFormat& format, bool separate) {
  const ModelSpec spec = model_spec(architecture_named(c.architecture, c.name), c);
  Model model{c, {}};
  ModelWeights& weights = model.weights;
  weights.embedding = {format, spec.embedding.rows, spec.embedding.columns, {}};
  weights.bytes = weights.embedding.bytes();
  if (const MatrixSpec& positions = spec.position_embedding; !positions.name.empty()) {
    weights.position_embedding = {format, positions.rows, positions.columns, {}};
    weights.bytes += weights.position_embedding.bytes();
  }
  const Overloaded shape{[&](const GroupSpec& from, MatrixGroup& to) {
                           to = group_of(format, from, separate);
                           weights.bytes += to.bytes();
                         },
                         [&](const StackSpec& from, MatrixStack& to) {
                           to = stack_of(format, from, separate);
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
