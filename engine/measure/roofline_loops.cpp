// Highway compiles this file once for each instruction set. roofline_loops() picks the best one that the processor has.
#include "engine/measure/roofline_loops.h"

#include <numeric>

// Arrays of vectors need vectors of a size that the compiler knows.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/measure/roofline_loops.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if defined(__clang__)
#define TANDEM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TANDEM_UNROLL _Pragma("GCC unroll 32")
#endif

// Latency times throughput is 8 on today's x86 cores (4 cycles, two a cycle) and up to 16 on Arm cores. With two
// constants, 12 chains fit into the 16 registers of AVX2.
constexpr int kChains = HWY_ARCH_ARM ? 20 : 12;
// Independent sums: additions must not wait for each other while lines arrive.
constexpr int kSums = 4;
// 8 KiB ahead, the same distance as in the loops that stream weights (npu_emu/fast_simd.cpp).
constexpr int64_t kPrefetchWords = 2048;

// The chains are independent, so their latency is hidden. No value leaves the registers before the end.
float fma(int64_t rounds) {
  const hn::ScalableTag<float> d;
  using Vec = hn::Vec<decltype(d)>;
  const Vec factor = hn::Set(d, 0.5f), addend = hn::Set(d, 1.0f);  // converges to 2: no denormals, no overflow
  Vec chain[kChains];
  TANDEM_UNROLL
  for (int i = 0; i < kChains; ++i) chain[i] = hn::Set(d, static_cast<float>(i));
  for (int64_t round = 0; round < rounds; ++round) {
    TANDEM_UNROLL
    for (int i = 0; i < kChains; ++i) chain[i] = hn::MulAdd(chain[i], factor, addend);
  }
  Vec sum = chain[0];
  TANDEM_UNROLL
  for (int i = 1; i < kChains; ++i) sum = hn::Add(sum, chain[i]);
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// Sums the words into independent sums. Every line is prefetched once, kPrefetchWords ahead of its use.
uint32_t read(const uint32_t* HWY_RESTRICT words, int64_t count) {
  const hn::ScalableTag<uint32_t> d;
  using Vec = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = hn::MaxLanes(d), kLineWords = 16;
  Vec sums[kSums];
  TANDEM_UNROLL
  for (int i = 0; i < kSums; ++i) sums[i] = hn::Zero(d);
  for (int64_t at = 0; at < count; at += kSums * kLanes) {
    if (at % kLineWords == 0) {
      for (int64_t line = 0; line < kSums * kLanes; line += kLineWords) {
        __builtin_prefetch(words + at + kPrefetchWords + line);
      }
    }
    TANDEM_UNROLL
    for (int i = 0; i < kSums; ++i) sums[i] = hn::Add(sums[i], hn::Load(d, words + at + i * kLanes));
  }
  HWY_ALIGN uint32_t lanes[kLanes];
  hn::Store(hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3])), d, lanes);
  return std::accumulate(lanes, lanes + kLanes,
                         uint32_t{0});  // compilers add lanes as signed numbers, which may overflow
}

const RooflineLoops* loops() {
  static const RooflineLoops kLoops = {hwy::TargetName(HWY_TARGET), HWY_NATIVE_FMA != 0,
                                       2 * kChains * static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<float>())), fma,
                                       read};
  return &kLoops;
}

#undef TANDEM_UNROLL

}  // namespace
}  // namespace tandem::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem {

HWY_EXPORT(loops);
const RooflineLoops& roofline_loops() { return *HWY_DYNAMIC_DISPATCH(loops)(); }

}  // namespace tandem
#endif
