// How the matmul kernels of the simt family add up runs of columns (runs.cl). They include this file. No program is
// built of it alone.
//
// Few tokens (option TOKENS): a group of 64 x AT_ONCE. Work-item (r, lane) computes row r in the runs lane, lane +
//   AT_ONCE, ..., and add_runs() adds AT_ONCE runs at a time to the totals.
//     -DWIDE=1 computes all runs at once, on devices with groups of 1,024, because a few panels alone do not fill a
//     large GPU.
// Many tokens: a work-item has sums of one run, and end_run() adds them to its totals.
#include "runs.cl"

#ifdef TOKENS
#ifdef WIDE
#define AT_ONCE 16
#else
#define AT_ONCE 4
#endif

// Adds the runs `first` .. first + AT_ONCE - 1 in ascending order. sums: this work-item's, of each token. All work-items
// of the group must call it. After the last call work-item (r, lane) may read the totals of row r and of tokens lane,
// lane + AT_ONCE, ...
INLINE void add_runs(__local float *parts, __local float *totals, const float *sums, const int first) {
  const int r = get_local_id(0), lane = get_local_id(1);
  for (int t = 0; t < TOKENS; ++t) parts[(lane * TOKENS + t) * 64 + r] = sums[t];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int t = lane; t < TOKENS; t += AT_ONCE) {
    float total = first == 0 ? 0.0f : totals[t * 64 + r];
    for (int p = 0; p < AT_ONCE; ++p) total += parts[(p * TOKENS + t) * 64 + r];
    totals[t * 64 + r] = total;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}
#else
// Adds the `count` sums of a run to the totals, and begins the next run.
INLINE void end_run(float *total, float *run, const int count) {
#pragma unroll
  for (int i = 0; i < count; ++i) {
    total[i] += run[i];
    run[i] = 0.0f;
  }
}
INLINE void end_run_of_vectors(float4 *total, float4 *run, const int count) {
#pragma unroll
  for (int i = 0; i < count; ++i) {
    total[i] += run[i];
    run[i] = 0.0f;
  }
}
#endif
