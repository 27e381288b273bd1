// Lowering: the kernel launches of an operator on a GPU, by pure functions that are tested without any device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/device/device_info.h"
#include "engine/device/gpu/launch.h"
#include "engine/device/operator.h"
#include "engine/device/processor.h"

namespace tandem::gpu {

// How simd kernels add products of bytes (kernels/byte_products.cl).
enum class ByteProducts : uint8_t { plain, vpmaddubsw, vpdpbusd };
const char* byte_products_option(ByteProducts how);  // of a kernel's build; "" of plain C

struct LoweringContext {
  KernelFamily family = KernelFamily::simd;
  bool shaders = false;  // of shaders/ (Vulkan), whose simd variants are cut otherwise than those of kernels/ (OpenCL)
  int compute_units = 1;
  size_t local_memory_bytes = 32768;
  size_t max_work_group = 256;
  int64_t vector_registers = 32;  // simd: how often 16 floats fit the vector registers (AVX-512 32, AVX2 8)
  int64_t loop_budget = 0;        // loop iterations a work-item may run in total; 0: any number (lavapipe: 65,535)
  int64_t max_buffer_bytes = 0;   // one kernel argument reaches no further; 0: any size
  bool packed_dot = false;        // simt and shaders: sums of four products of bytes in words, proven
  ByteProducts byte_products = ByteProducts::plain;  // of 8-bit activations, by instructions that were proven
  ProcessorTraits processor{};                       // of a CPU device, whose simd kernels are for it
  int64_t listed_tokens = 0;  // passes of up to so many tokens are lists; their kernel should know few variants
};

// What the kernels of kernels/ and of shaders/ compute.
Support supports_features(const Operator& op);

// Error when the operator is malformed; the device's supports() has been asked before.
std::vector<KernelLaunch> lower(const Operator& op, const LoweringContext& context);

// One function per operator, each in its own lower_<operator>.cpp; lower() dispatches.
std::vector<KernelLaunch> lower_matmul(const MatMul& op, const LoweringContext& context);
KernelLaunch lower_matmul_simt(const MatMul& op, const LoweringContext& context);  // family simt, within reach
void require_matmul_groups(const LoweringContext& context);  // simt matmuls; Error where the device has too small ones
// Of the simt kernels of `tokens` tokens: how many of the 16 runs of K (of 8-bit activations: tiles of 32 columns) a
// group computes at once, into the launch's kernel and options; 16 where the device's groups are large enough, and its
// local memory, of which they take `local_bytes` then.
size_t choose_runs_at_once(int64_t tokens, size_t local_bytes, const LoweringContext& context, KernelLaunch& launch);
size_t partial_sums_bytes(int64_t tokens);  // what it is for f32 activations: matmul_simt.cl
// Dimensions 1 and 2 of the grid of kernels that know their tile of `size` choices by its number
// (kernels/grouped_gemm.cl).
void set_tiles(const GroupedMatMul& op, int64_t size, KernelLaunch& launch);
// Of 8-bit activations; few: matrix-vector products for each choice.
std::vector<KernelLaunch> lower_act_i8(const MatMul& op, const LoweringContext& context);  // within reach
std::vector<KernelLaunch> lower_act_i8(const GroupedMatMul& op, bool few, const LoweringContext& context);
std::vector<KernelLaunch> lower_embed(const Embed& op, const LoweringContext& context);
std::vector<KernelLaunch> lower_rms_norm(const RmsNorm& op, const LoweringContext& context);
std::vector<KernelLaunch> lower_rope(const Rope& op, const LoweringContext& context);
std::vector<KernelLaunch> lower_kv_append(const KvAppend& op, const LoweringContext& context);
std::vector<KernelLaunch> lower_attention(const Attention& op, const LoweringContext& context);
std::vector<KernelLaunch> lower_glu(const Glu& op, const LoweringContext& context);
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
