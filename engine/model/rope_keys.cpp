#include "engine/model/rope_keys.h"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "sync/error.h"

namespace tandem {
namespace {

constexpr double kMaxFactor = 1e6;  // largest factor of any scaling; published models stay below 100

// The key's value within [low, high], or the fallback if the key is absent.
double ranged(const ConfigKeys& keys, const char* key, double fallback, double low, double high) {
  const double value = keys.number(key).value_or(fallback);
  if (!(value >= low && value <= high)) {
    keys.fail(key,
              "found " + std::to_string(value) + ", expected " + std::to_string(low) + " to " + std::to_string(high));
  }
  return value;
}

// LongRoPE is no factor but two tensors, which the architectures that have it read later.
void require_long_factors(const GgufFile& file, const ConfigKeys& keys, double factor) {
  if (file.find(kShortRopeFactors) == nullptr || file.find(kLongRopeFactors) == nullptr)
    keys.fail("rope.scaling.type", std::string("found 'longrope' without the tensors '") + kShortRopeFactors +
                                       "' and '" + kLongRopeFactors + "'");
  if (factor != 1.0)
    keys.fail("rope.scaling.factor", "found " + printed(factor) + " beside 'longrope', whose factors are tensors");
}

// Published configurations state YaRN's whole magnitude, and converters write it in this key. 1 and 0 leave the
// magnitude to the factor, as files without the key do.
void read_yarn_magnitude(const ConfigKeys& keys, RopeConfig& rope) {
  const double magnitude = ranged(keys, "rope.scaling.yarn_attn_factor", 1.0, 0.0, 1e3);
  if (magnitude == 0.0 || magnitude == 1.0) return;
  const auto whole = static_cast<float>(magnitude);
  if (rope.attention_factor != 1.0f && rope.attention_factor != whole)
    keys.fail("rope.scaling.yarn_attn_factor", "found " + printed(magnitude) + " beside another attn_factor");
  rope.yarn_magnitude = false;
  rope.attention_factor = whole;
}

// Sets the kind of scaling and its factor. yarn_ext_factor must state the extrapolation that the kind implies.
void read_scaling(const GgufFile& file, const ConfigKeys& keys, ModelConfig& config) {
  // Older files have only scale_linear. A factor without a type means linear, too.
  const double legacy = ranged(keys, "rope.scale_linear", 1.0, 0.0, kMaxFactor);
  double factor = ranged(keys, "rope.scaling.factor", legacy, 0.0, kMaxFactor);
  if (factor == 0.0) factor = 1.0;  // converters write 0 for "no scaling"
  const std::string type = keys.text("rope.scaling.type").value_or("linear");
  // Below 0: the file leaves the mix to the kind of scaling.
  const double mix = keys.number("rope.scaling.yarn_ext_factor").value_or(-1.0);
  if (mix >= 0.0 && mix != (type == "yarn" ? 1.0 : 0.0)) {
    keys.fail("rope.scaling.yarn_ext_factor",
              std::string("a partial extrapolation mix is not supported, expected ") + (type == "yarn" ? "1" : "0"));
  }
  if (type == "none") return;
  if (type == "longrope") return require_long_factors(file, keys, factor);
  if (type == "linear") {
    if (factor == 1.0) return;
    config.rope.scaling = RopeScaling::linear;
  } else if (type == "yarn") {
    config.rope.scaling = RopeScaling::yarn;
    config.rope.yarn_beta_fast =
        static_cast<float>(ranged(keys, "rope.scaling.yarn_beta_fast", 32.0, 1e-3, kMaxFactor));
    config.rope.yarn_beta_slow = static_cast<float>(ranged(keys, "rope.scaling.yarn_beta_slow", 1.0, 1e-3, kMaxFactor));
  } else {
    keys.fail("rope.scaling.type", "found '" + type + "', expected none, linear, yarn or longrope");
  }
  config.rope.scale_factor = static_cast<float>(factor);
}

// Factors of the tensor, one for each rotated pair of values. Empty if the file does not have it.
std::vector<float> factors(const GgufFile& file, const std::string& name, const RopeConfig& rope) {
  const GgufTensor* tensor = file.find(name);
  if (tensor == nullptr) return {};
  const std::string at = file.path() + ": tensor '" + name + "'";
  std::vector<float> factors(static_cast<size_t>(rope.dim / 2));
  if (tensor->type != StorageType::f32 || tensor->bytes != factors.size() * sizeof(float)) {
    throw Error(
        "a tensor has the wrong shape or type: expected " + std::to_string(factors.size()) + " values of type F32", at);
  }
  std::memcpy(factors.data(), tensor->data, tensor->bytes);
  for (const float factor : factors) {
    if (!(factor > 0.0f) || !std::isfinite(factor)) {
      throw Error("a frequency factor of " + std::to_string(factor) + ", expected positive finite ones", at);
    }
  }
  return factors;
}

// Factors alone are a scaling of their own kind. With linear scaling or YaRN they apply in addition.
void take_factors(RopeConfig& rope) {
  if (!rope.frequency_factors.empty() && rope.scaling == RopeScaling::none)
    rope.scaling = RopeScaling::frequency_factors;
}

}  // namespace

// Without keys the rotation covers whole heads with base 10000, and the original context is the trained one.
void read_rope(const GgufFile& file, const ConfigKeys& keys, ModelConfig& config) {
  config.rope.dim = keys.size("rope.dimension_count", config.head_dim).value_or(config.head_dim);
  if (config.rope.dim % 2 != 0) {
    keys.fail("rope.dimension_count", "found " + std::to_string(config.rope.dim) + ", expected an even number");
  }
  config.rope.base = static_cast<float>(keys.number("rope.freq_base").value_or(10000.0));
  if (!(config.rope.base > 1.0f && config.rope.base <= 1e12f)) {
    keys.fail("rope.freq_base",
              "found " + std::to_string(config.rope.base) + ", expected more than 1 and at most 1e12");
  }
  read_scaling(file, keys, config);
  config.rope.original_context =
      keys.size("rope.scaling.original_context_length", int64_t{1} << 30).value_or(config.context_length);
  config.rope.attention_factor = static_cast<float>(ranged(keys, "rope.scaling.attn_factor", 1.0, 1e-3, 1e3));
  if (config.rope.scaling == RopeScaling::yarn) read_yarn_magnitude(keys, config.rope);
  config.rope.yarn_log_multiplier = static_cast<float>(ranged(keys, "rope.scaling.yarn_log_multiplier", 0.0, 0.0, 1e3));
}

void read_rope_factors(const GgufFile& file, ModelConfig& config) {
  config.rope.frequency_factors = factors(file, kRopeFactors, config.rope);
  take_factors(config.rope);
}

// The short factors serve contexts up to the original length, the long ones serve longer contexts. With one tensor
// alone, one of the two would be rotated wrongly.
void read_long_rope_factors(const GgufFile& file, ModelConfig& config) {
  config.rope.frequency_factors = factors(file, kShortRopeFactors, config.rope);
  config.rope.long_factors = factors(file, kLongRopeFactors, config.rope);
  if (config.rope.frequency_factors.empty() != config.rope.long_factors.empty()) {
    throw Error("factors of short contexts without those of long ones, or the reverse", file.path(),
                std::string("expected the tensors '") + kShortRopeFactors + "' and '" + kLongRopeFactors +
                    "', or none of them");
  }
  take_factors(config.rope);
}

}  // namespace tandem
