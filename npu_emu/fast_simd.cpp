// The fast path's loops for AVX-512 and AVX2. Highway compiles this file once for each instruction set.
//
// Numbers behind the shape (feasibility: Zen 5, one core): 64 x 64 tiles with 8 tokens x 2 zmm reach 1.0-1.1 x
// OpenBLAS, 32 x 32 tiles 0.8-0.9; packed 4-bit weights stream at 24-28 GB/s with 64 rows in flight and a prefetch 8-16
// KiB ahead (without: a third less).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "npu_emu/fast_simd.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "npu_emu/fast_kernels.h"
#include "npu_emu/simd_decode-inl.h"
#include "npu_emu/simd_gemv-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::npu_emu {
namespace HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
namespace {

constexpr int kTokens = HWY_TARGET == HWY_AVX3 ? 8 : 4;  // tokens in flight in stream_tile: 16 or 8 accumulators

// kTokens tokens against 2 vectors of rows: the register block. Fetches the next block's sums and inputs, which lie in
// L2 or L3 at hundreds of tokens (512 x 2048 x 2048: 0.86 of OpenBLAS without, 0.96 with).
HWY_INLINE void stream_block(const float* HWY_RESTRICT tile, int64_t count, const float* HWY_RESTRICT x,
                             float* HWY_RESTRICT acc) {
  const F d;
  Vec a0[kTokens], a1[kTokens];
  TANDEM_UNROLL
  for (int s = 0; s < kTokens; ++s) {
    a0[s] = hn::Load(d, acc + s * kPanelRows);
    a1[s] = hn::Load(d, acc + s * kPanelRows + kLanes);
    __builtin_prefetch(acc + (kTokenBlock + s) * kPanelRows);
    __builtin_prefetch(acc + (kTokenBlock + s) * kPanelRows + kLanes);
  }
  for (int64_t k = 0; k < count; ++k) {
    const Vec w0 = hn::Load(d, tile + k * kPanelRows), w1 = hn::Load(d, tile + k * kPanelRows + kLanes);
    TANDEM_UNROLL
    for (int s = 0; s < kTokens; ++s) {
      const Vec value = hn::Set(d, x[s * kTileColumns + k]);
      a0[s] = hn::MulAdd(w0, value, a0[s]);
      a1[s] = hn::MulAdd(w1, value, a1[s]);
    }
  }
  TANDEM_UNROLL
  for (int s = 0; s < kTokens; ++s) {
    hn::Store(a0[s], d, acc + s * kPanelRows);
    hn::Store(a1[s], d, acc + s * kPanelRows + kLanes);
  }
}

void stream_tile(const float* tile, int64_t count, const float* x, int64_t blocks, float* acc) {
  for (int64_t block = 0; block < blocks; ++block) {
    const float* tokens = x + block * kTileColumns * kTokenBlock;
    for (int64_t s = 0; s < kTokenBlock; s += kTokens)
      for (int64_t row = 0; row < kPanelRows; row += 2 * kLanes)
        stream_block(tile + row, count, tokens + s * kTileColumns, acc + (block * kTokenBlock + s) * kPanelRows + row);
  }
}

void round_half(const float* in, float* out, int64_t count) {
  const F d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(to_half_and_back(hn::LoadU(d, in + i)), d, out + i);
  if (i < count) plain_kernels().round_half(in + i, out + i, count - i);
}

}  // namespace

const FastKernels& kernels() {
  static constexpr FastKernels kKernels = {HWY_TARGET == HWY_AVX3 ? "avx512" : "avx2", decode_tile, stream_tile,
                                           gemv_panel, round_half};
  return kKernels;
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace tandem::npu_emu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <vector>

namespace tandem::npu_emu {

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
