// JSON that describes a model by shapes alone. Accepted small models are planned for a chip, as `tandem plan` does. The
// input is the number of tokens of the pass, then the file.
#include <cmath>
#include <string_view>

#include "engine/model/shapes.h"
#include "engine/plan/model_clock/modelled_pass.h"
#include "sync/error.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace tandem::fuzz {
namespace {

// Larger models are planned in the same way, but more slowly. Their memory is only address space, but the time grows
// with the layers.
bool is_small(const ModelConfig& config) {
  return config.layers <= 2 && config.hidden <= 4096 && config.feed_forward <= 4096 && config.vocabulary <= 4096 &&
         config.heads * config.head_dim <= 4096;
}

const SocProfile& chip() {
  static const SocProfile profile = tandem::soc_profile("snapdragon-8gen3");
  return profile;
}

}  // namespace

void model_shape(Bytes input) {
  if (input.empty()) return;
  const auto tokens = 1 + std::to_integer<int64_t>(input[0]);
  const std::string_view text(reinterpret_cast<const char*>(input.data()) + 1, input.size() - 1);
  try {
    const ModelConfig config = parse_shape(text, "fuzzed.json");
    if (!is_small(config)) return;
    const ShapeModel model(config, packed_format(StorageType::q4_0), tokens, tokens, false);
    const ModelledPass pass = model.pass(chip(), "tensor", tokens, {});
    must_hold(std::isfinite(pass.run.seconds) && pass.run.seconds > 0, "a pass takes time");
  } catch (const Error&) {
  }
}

}  // namespace tandem::fuzz
