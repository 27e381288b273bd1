// EXAONE 3: a Llama whose rotation pairs halves, with frequency factors in some files.
#include "engine/model/architectures/dense.h"
#include "engine/model/rope_keys.h"

namespace tandem {
namespace {

void describe(ModelConfig& config) { config.rope.halves = true; }

}  // namespace

extern const Architecture exaone_architecture;
const Architecture exaone_architecture = {
    .name = "exaone", .keys = {}, .describe = describe, .layer = dense_layer, .read = read_rope_factors};

}  // namespace tandem
