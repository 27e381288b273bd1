#include "engine/model/expert_keys.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "engine/model/limits.h"

namespace tandem {
namespace {

std::string range(int64_t found, const std::string& expected) {
  return "found " + std::to_string(found) + ", expected " + expected;
}

// Gating by its number in the file format; absent if the file does not state it.
std::optional<Gating> gating(const ConfigKeys& keys) {
  // The softmax of the chosen scores alone is the softmax of all, normalised.
  constexpr int64_t kSoftmax = 1, kSigmoid = 2, kSoftmaxOfChosen = 3;
  switch (keys.count("expert_gating_func", int64_t{1} << 30)) {
    case 0:
      return std::nullopt;
    case kSoftmax:
      return Gating::softmax;
    case kSoftmaxOfChosen:
      return Gating::softmax;
    case kSigmoid:
      return Gating::sigmoid;
    default:
      keys.fail("expert_gating_func", "another function of the router's scores than softmax (1) and sigmoid (2)");
  }
}

// Width of the experts that every token uses, all of them together. Files state this width, or the number of shared
// experts. With a number, each of them is as wide as one that the router chooses.
int64_t shared_width(const ConfigKeys& keys, const ExpertsConfig& experts) {
  if (const int64_t width = keys.count("expert_shared_feed_forward_length", kMaxWidth); width > 0) return width;
  const int64_t width = keys.count("expert_shared_count", kMostExperts) * experts.feed_forward;
  if (width > kMaxWidth)
    keys.fail("expert_shared_count", range(width, "a width of at most " + std::to_string(kMaxWidth) + " together"));
  return width;
}

// A token's groups must have as many experts as it uses. A group is weighed by two of its experts, so it has two.
void read_groups(const ConfigKeys& keys, ExpertsConfig& experts) {
  experts.groups = std::max<int64_t>(1, keys.count("expert_group_count", kMostExperts));
  if (experts.groups == 1) return;
  if (experts.groups > kMostExpertGroups || experts.count % experts.groups != 0 || experts.count < 2 * experts.groups)
    keys.fail("expert_group_count",
              range(experts.groups, "at most " + std::to_string(kMostExpertGroups) + ", of two and more experts each"));
  experts.groups_used = keys.require_size("expert_group_used_count", experts.groups);
  if (experts.groups_used * (experts.count / experts.groups) < experts.used)
    keys.fail("expert_group_used_count",
              range(experts.groups_used, "groups with the " + std::to_string(experts.used) + " experts of a token"));
}

float scale(const ConfigKeys& keys) {
  const double value = keys.number("expert_weights_scale").value_or(0.0);
  if (value == 0.0) return 1.0f;  // converters write 0 for "none"
  if (!(value > 0.0 && value < 1e6))
    keys.fail("expert_weights_scale", "found " + std::to_string(value) + ", expected 0 to 1e6");
  return static_cast<float>(value);
}

}  // namespace

// Reads the keys in the order in which their ranges depend on each other.
void read_experts(const ConfigKeys& keys, ModelConfig& config) {
  ExpertsConfig experts;
  experts.count = keys.count("expert_count", kMostExperts);
  if (experts.count == 0) return;
  experts.used = keys.require_size("expert_used_count", kMostExpertsUsed);
  if (experts.used > experts.count) {
    keys.fail("expert_used_count",
              range(experts.used, "at most the " + std::to_string(experts.count) + " experts that there are"));
  }
  // Some files state an expert's width as feed_forward_length.
  experts.feed_forward = keys.size("expert_feed_forward_length", kMaxWidth).value_or(config.feed_forward);
  experts.shared_feed_forward = shared_width(keys, experts);
  experts.dense_layers = keys.count("leading_dense_block_count", config.layers);
  experts.gating = gating(keys).value_or(Gating::softmax);
  experts.normalised = keys.flag("expert_weights_norm").value_or(false);
  experts.scale = scale(keys);
  config.experts = experts;
}

void read_expert_places(const ConfigKeys& keys, std::span<const char* const> known, ModelConfig& config) {
  if (!config.experts) return;
  const auto is_known = [known](std::string_view key) { return std::ranges::find(known, key) != known.end(); };
  if (is_known("expert_group_count"))
    read_groups(keys, *config.experts);
  else if (keys.count("expert_group_count", kMostExperts) > 1)
    keys.fail("expert_group_count", "experts that are chosen in groups are not supported in this architecture");
  if (const int64_t step = is_known(kExpertStep) ? keys.count(kExpertStep, config.layers) : 0; step > 0)
    config.experts->step = step;
}

void take_expert_norm(const ConfigKeys& keys, ModelConfig& config) {
  if (!config.experts) return;
  if (const auto of_file = keys.flag("expert_weights_norm")) config.experts->normalised = *of_file;
}

// Runs after the architecture has set its own rule for the weights. A file that states another rule would be computed
// wrongly, so it is refused.
void check_expert_weights(const ConfigKeys& keys, const ModelConfig& config) {
  if (!config.experts) return;
  if (keys.flag("expert_weights_norm").value_or(config.experts->normalised) != config.experts->normalised)
    keys.fail("expert_weights_norm", "the weights of this architecture's experts add up to 1, found that they do not");
  if (keys.count("expert_gating_func", int64_t{1} << 30) == 3 && !config.experts->normalised)
    keys.fail("expert_gating_func", "the weights of this architecture's experts do not add up to 1");
  if (gating(keys).value_or(config.experts->gating) != config.experts->gating)
    keys.fail("expert_gating_func", "another function of the router's scores than this architecture has");
}

}  // namespace tandem
