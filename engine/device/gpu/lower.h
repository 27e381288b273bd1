// Lowering: pure functions that turn an operator into its kernel launches on a GPU. Tests need no device for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/device/device_info.h"
#include "engine/device/gpu/launch.h"
#include "engine/device/operator.h"
#include "engine/device/processor.h"

namespace tandem::gpu {

// How simd kernels add products of bytes (kernels/byte_products.cl).
enum class ByteProducts : uint8_t { plain, vpmaddubsw, vpdpbusd };
const char* byte_products_option(ByteProducts how);  // a build option; "" for plain C

// How simt kernels and shaders add four products of bytes in two words: one by one, by the interface's own extension,
// or by NVIDIA's instruction (kernels/packed_dot.cl).
enum class PackedDot : uint8_t { none, extension, dp4a };

// The matrix units that simt kernels use for many tokens with 8-bit activations.
//   ptx: NVIDIA's, by an instruction of PTX (OpenCL, kernels/matmul_units_simt.cl).
//   cooperative: any vendor's, by VK_KHR_cooperative_matrix (Vulkan, shaders/matmul_units.glsl).
//   emulated: the same by plain arithmetic, for tests.
enum class MatrixUnits : uint8_t { none, ptx, cooperative, emulated };

// One operation of a matrix unit multiplies rows x columns codes of weights with columns x tokens codes of activations.
// Each of a group's `subgroups` has its own operation.
struct MatrixShape {
  int64_t rows = 16, tokens = 16, columns = 32, subgroups = 4;
  bool operator==(const MatrixShape&) const = default;
};

struct LoweringContext {
  KernelFamily family = KernelFamily::simd;
  // The kernels are those of shaders/ (Vulkan). Their simd variants are cut in another way than those of kernels/.
  bool shaders = false;
  int compute_units = 1;
  size_t local_memory_bytes = 32768;
  size_t max_work_group = 256;
  int64_t vector_registers = 32;  // simd: vectors of 16 floats that the vector registers hold (AVX-512 32, AVX2 8)
  int64_t loop_budget = 0;        // loop iterations a work-item may run in total; 0: any number (lavapipe: 65,535)
  int64_t max_buffer_bytes = 0;   // the bytes that one kernel argument reaches; 0: no limit
  PackedDot packed_dot = PackedDot::none;            // proven for simt kernels and shaders
  MatrixUnits matrix_units = MatrixUnits::none;      // proven
  MatrixShape matrix_shape{};                        // of cooperative units
  ByteProducts byte_products = ByteProducts::plain;  // for 8-bit activations; the instructions were proven
  ProcessorTraits processor{};                       // traits of a CPU device's processor, for its simd kernels
  int64_t listed_tokens = 0;  // passes of up to this many tokens are lists; their kernel should know few variants
  // Whether the device keeps the weights of a slot in pieces of rows (row_pieces.h). The slot is nullptr where only
  // kernels are compiled. Empty: it keeps none.
  std::function<bool(const sync::Slot*)> has_row_pieces{};
};

// The features that the kernels of kernels/ and of shaders/ compute.
Support supports_features(const Operator& op);

// Error when the operator is malformed. The caller has asked the device's supports() before.
std::vector<KernelLaunch> lower(const Operator& op, const LoweringContext& context);

// One function per operator, each in its own lower_<operator>.cpp; lower() dispatches.
std::vector<KernelLaunch> lower_matmul(const MatMul& op, const LoweringContext& context);
// Products with 8-bit activations. small_batch: a matrix-vector product for each choice.
std::vector<KernelLaunch> lower_act_i8(const MatMul& op, const LoweringContext& context);  // op within reach
std::vector<KernelLaunch> lower_act_i8(const GroupedMatMul& op, bool small_batch, const LoweringContext& context);
// Dimensions 1 and 2 of the grid of a product's launch (product_kernels.h). tokens: that a choice's matrix is
// multiplied with at once, by kernels of small batches.
struct ProductKernel;
void set_tiles(const MatMul& op, const ProductKernel& kernel, KernelLaunch& launch);
void set_tiles(const GroupedMatMul& op, const ProductKernel& kernel, int64_t tokens, KernelLaunch& launch);
// Build options that say how a grouped product knows its choices: by ids or by lists.
void name_choices(const GroupedMatMul& op, const ProductKernel& kernel, const LoweringContext& context,
                  KernelLaunch& launch);
std::vector<KernelLaunch> lower_embed(const Embed& op, const LoweringContext& context);
std::vector<KernelLaunch> lower_rms_norm(const RmsNorm& op, const LoweringContext& context);
std::vector<KernelLaunch> lower_rope(const Rope& op, const LoweringContext& context);
std::vector<KernelLaunch> lower_kv_append(const KvAppend& op, const LoweringContext& context);
// The arguments of kernels that append to a cache: where tokens and pages lie, then head_dim_v and the other sizes.
struct CacheArguments {
  std::vector<Arg> buffers, sizes;
};
CacheArguments cache_arguments(const KvAppend& op);
std::vector<KernelLaunch> lower_attention(const Attention& op, const LoweringContext& context);
std::vector<KernelLaunch> lower_glu(const Glu& op, const LoweringContext& context);
std::string unit_options(const Glu& op);  // build options that select its kind of unit
std::vector<KernelLaunch> lower_add(const Add& op, const LoweringContext& context);
std::vector<KernelLaunch> lower_bias(const Bias& op, const LoweringContext& context);
std::vector<KernelLaunch> lower_scale(const Scale& op, const LoweringContext& context);
std::vector<KernelLaunch> lower_softmax(const Softmax& op, const LoweringContext& context);
std::vector<KernelLaunch> lower_argmax(const ArgMax& op, const LoweringContext& context);
std::vector<KernelLaunch> lower_top_k(const TopK& op, const LoweringContext& context);
std::vector<KernelLaunch> lower_route(const Route& op, const LoweringContext& context);
std::vector<KernelLaunch> lower_expert_lists(const ExpertLists& op, const LoweringContext& context);
std::vector<KernelLaunch> lower_grouped_matmul(const GroupedMatMul& op, const LoweringContext& context);
std::vector<KernelLaunch> lower_expert_sum(const ExpertSum& op, const LoweringContext& context);
std::vector<KernelLaunch> lower_copy(const Copy& op, const LoweringContext& context);

}  // namespace tandem::gpu
