// The exact loops for AVX-512 and AVX2. Highway compiles this file once for each instruction set.
//
// Figures behind the shape (feasibility study: Zen 5, one core): 64 x 64 tiles with 8 tokens x 2 zmm reach 1.0-1.1 x
// OpenBLAS, 32 x 32 tiles 0.8-0.9. Packed 4-bit weights stream at 24-28 GB/s with 64 rows in flight and a prefetch 8-16
// KiB ahead; without it they lose a third.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "packed/loops/exact_simd.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "packed/loops/decode-inl.h"
#include "packed/loops/exact_loops.h"
#include "packed/loops/gemm-inl.h"
#include "packed/loops/gemv-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem {
namespace HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
namespace {

// The plain loop rounds the rest of a row. It gives the same bits as the vectors.
void round_half(const float* in, float* out, int64_t count) {
  const F d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(to_half_and_back(hn::LoadU(d, in + i)), d, out + i);
  if (i < count) plain_exact_loops().round_half(in + i, out + i, count - i);
}

}  // namespace

template <bool kOffsets>
const ExactLoops& exact_loops() {
  static constexpr ExactLoops kLoops = {HWY_TARGET == HWY_AVX3 ? InstructionSet::avx512 : InstructionSet::avx2,
                                        kDenseTokens,
                                        kCodeTokens,
                                        multiply_tile,
                                        gemv_panel<kOffsets>,
                                        round_half};
  return kLoops;
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace tandem
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <utility>
#include <vector>

#include "packed/loops/zen.h"

namespace tandem {

// Lists the best instruction set first, and leaves out the ones that this processor lacks. The plain loops
// run anywhere. AVX-512 has two tables, the faster one first: where joins of bits cost products, offsets are
// the slower way, and one token of Q4_0 takes 1.2 times as long with them.
std::span<const ExactLoops* const> all_exact_loops() {
  static const std::vector<const ExactLoops*> found = [] {
    std::vector<const ExactLoops*> loops;
    [[maybe_unused]] const auto targets = hwy::SupportedTargets();
#if HWY_TARGETS & HWY_AVX3
    if (targets & HWY_AVX3) loops = {&N_AVX3::exact_loops<true>(), &N_AVX3::exact_loops<false>()};
    if (loops.size() == 2 && joins_cost_products()) std::swap(loops[0], loops[1]);
#endif
#if HWY_TARGETS & HWY_AVX2
    if (targets & HWY_AVX2) loops.push_back(&N_AVX2::exact_loops<false>());
#endif
    loops.push_back(&plain_exact_loops());
    return loops;
  }();
  return found;
}

}  // namespace tandem
#endif
