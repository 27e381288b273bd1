// The fast path's loops for AVX-512 and AVX2. Highway compiles this file once for each instruction set.
//
// Figures behind the shape (feasibility study: Zen 5, one core): 64 x 64 tiles with 8 tokens x 2 zmm reach 1.0-1.1 x
// OpenBLAS, 32 x 32 tiles 0.8-0.9. Packed 4-bit weights stream at 24-28 GB/s with 64 rows in flight and a prefetch 8-16
// KiB ahead; without it they lose a third.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "npu_emu/fast_simd.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "npu_emu/fast_kernels.h"
#include "npu_emu/simd_decode-inl.h"
#include "npu_emu/simd_gemm-inl.h"
#include "npu_emu/simd_gemv-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::npu_emu {
namespace HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
namespace {

// The plain loop rounds the rest of a row. It gives the same bits as the vectors.
void round_half(const float* in, float* out, int64_t count) {
  const F d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(to_half_and_back(hn::LoadU(d, in + i)), d, out + i);
  if (i < count) plain_kernels().round_half(in + i, out + i, count - i);
}

}  // namespace

const FastKernels& kernels() {
  static constexpr FastKernels kKernels = {HWY_TARGET == HWY_AVX3 ? "avx512" : "avx2", multiply_tile, gemv_panel,
                                           round_half};
  return kKernels;
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace tandem::npu_emu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <vector>

namespace tandem::npu_emu {

// Lists the best instruction set first, and leaves out the ones that this processor lacks. The plain loops
// run anywhere.
std::span<const FastKernels* const> all_kernels() {
  static const std::vector<const FastKernels*> found = [] {
    std::vector<const FastKernels*> kernels;
    [[maybe_unused]] const auto targets = hwy::SupportedTargets();
#if HWY_TARGETS & HWY_AVX3
    if (targets & HWY_AVX3) kernels.push_back(&N_AVX3::kernels());
#endif
#if HWY_TARGETS & HWY_AVX2
    if (targets & HWY_AVX2) kernels.push_back(&N_AVX2::kernels());
#endif
    kernels.push_back(&plain_kernels());
    return kernels;
  }();
  return found;
}

const FastKernels& best_kernels() { return *all_kernels().front(); }

}  // namespace tandem::npu_emu
#endif
