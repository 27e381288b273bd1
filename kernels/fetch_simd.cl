// Prefetches weights in the simd matmuls. Kernels for few tokens (option TOKENS) stream the weights once, so they
// prefetch one line for each line that they read. Kernels for many tokens prefetch shares on their own.
// Kernels include this file after their options are defined (common.cl comes before them); it is never built alone.
#ifdef TOKENS
#define PREFETCH_STREAM(pointer, bytes) PREFETCH(pointer, bytes)
#else
#define PREFETCH_STREAM(pointer, bytes)
#endif
