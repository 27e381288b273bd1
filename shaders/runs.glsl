// How element-wise shaders divide rows (gpu::cut_rows). A simd work-group takes a run of `chunk` elements, lane by
// lane; a simt invocation takes its one element. LANES is the work-group's size.
int run_begin(const int chunk) {
#if LANES == 16
  return int(gl_WorkGroupID.x) * chunk + int(gl_LocalInvocationID.x);
#else
  return int(gl_GlobalInvocationID.x) * chunk;
#endif
}
int run_end(const int chunk, const int width) {
#if LANES == 16
  return min(width, (int(gl_WorkGroupID.x) + 1) * chunk);
#else
  return min(width, (int(gl_GlobalInvocationID.x) + 1) * chunk);
#endif
}
