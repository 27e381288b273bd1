// What the device proves at start: that it builds and runs a kernel, sees host memory in place, fuses fma, rounds quotients and roots
// once, and runs loops to their end.
//
// Layout: in, out: f32 [n][3] and f32 [n], of quotients f32 [n][2] both. Work mapping: one work-item per element. Limits: none.
__kernel void probe_fma(BUFFER(in), BUFFER(out)) {
  const int i = get_global_id(0);
  __global const float *v = AT(const float, in) + 3 * i;
  AT(float, out)[i] = fma(v[0], v[1], v[2]);
}

__kernel void probe_quotient(BUFFER(in), BUFFER(out)) {
  const int i = get_global_id(0);
  __global const float *v = AT(const float, in) + 2 * i;
  AT(float, out)[2 * i] = v[0] / v[1];
  AT(float, out)[2 * i + 1] = sqrt(v[0]);
}

// Counts its own iterations: some drivers end loops early, and say nothing.
__kernel void probe_loop(BUFFER(counted), const uint wanted) {
  uint count = 0;
  for (uint i = 0; i < wanted; ++i) count += (i ^ count) < 0xffffffffu ? 1 : 2;
  *AT(uint, counted) = count;
}

// Adds one to a word, so that the host can see whether its own store arrived and the kernel's came back.
__kernel void probe_increment(BUFFER(word)) {
  __global uint *p = AT(uint, word);
  PREFETCH(p, 64);
  *p += 1;
}
