// Fetching weights ahead in the simd matmuls: of few tokens (option TOKENS) a line for each line that is read, since they stream the weights
// once; those of many tokens fetch in shares of their own. Not a source of its own; included where the options are known (common.cl is not).
#ifdef TOKENS
#define PREFETCH_STREAM(pointer, bytes) PREFETCH(pointer, bytes)
#else
#define PREFETCH_STREAM(pointer, bytes)
#endif
