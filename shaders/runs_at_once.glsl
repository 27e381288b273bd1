// The runs of few tokens' products, AT_ONCE of them side by side (simt family). Other shaders include this file after
// matmul_args.glsl; it is never built alone. It is empty in the kernels of many tokens, and in
// those of matmul_rows.glsl.
//
// Work mapping: a group of 64 x AT_ONCE. Invocation (r, lane) computes row r in the runs lane, lane + AT_ONCE, ..., and
//   KEEPs the sum of each of TOKENS tokens. add_runs() then adds AT_ONCE runs to the totals, in ascending order.
// Limits: groups of 256 (wide: 1,024). Shared memory: 1.25 KiB * TOKENS (wide: 4.25 KiB * TOKENS).
#if defined(FEW) && !defined(IN_ROWS)
#ifdef WIDE
#define AT_ONCE 16
#else
#define AT_ONCE 4
#endif
layout(local_size_x = 64, local_size_y = AT_ONCE) in;
layout(constant_id = 10) const int TOKENS = 1;
shared float parts[AT_ONCE * TOKENS * 64], totals[TOKENS * 64];

#define KEEP(t) \
  if (t < TOKENS) parts[(lane * uint(TOKENS) + uint(t)) * 64u + r] = sum##t;

// Adds the sums of the runs `first` .. first + AT_ONCE - 1. All invocations of the group must call it, and they may
// keep the next sums at once. After the last call `totals` is the result. Invocation (r, lane) may read the elements of
// row r and of tokens lane, lane + AT_ONCE, ...
void add_runs(const uint first) {
  const uint r = gl_LocalInvocationID.x, lane = gl_LocalInvocationID.y;
  barrier();
  // trips <= 2   TOKENS / AT_ONCE
  for (uint t = lane; t < uint(TOKENS); t += uint(AT_ONCE)) {
    precise float sum = first == 0u ? 0.0 : totals[t * 64u + r];
    for (uint p = 0u; p < uint(AT_ONCE); ++p) sum += parts[(p * uint(TOKENS) + t) * 64u + r];
    totals[t * 64u + r] = sum;
  }
  barrier();
}
#endif
