// ERNIE 4.5, its dense sizes: a Llama by other names.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

void describe(ModelConfig& config) { config.rope.halves = false; }

}  // namespace

extern const Architecture ernie4_5_architecture;
const Architecture ernie4_5_architecture = {
    .name = "ernie4_5", .keys = {}, .describe = describe, .layer = dense_layer, .read = read_biases};

}  // namespace tandem
