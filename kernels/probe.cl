// What the device proves at start: that it builds and runs a kernel, sees host memory in place, and fuses fma.
//
// Layout: in, out: f32 [n][3] and f32 [n]. Work mapping: one work-item per element. Limits: none.
__kernel void probe_fma(BUFFER(in), BUFFER(out)) {
  const int i = get_global_id(0);
  __global const float *v = AT(const float, in) + 3 * i;
  AT(float, out)[i] = fma(v[0], v[1], v[2]);
}

// Adds one to a word, so that the host can see whether its own store arrived and the kernel's came back.
__kernel void probe_increment(BUFFER(word)) {
  __global uint *p = AT(uint, word);
  PREFETCH(p, 64);
  *p += 1;
}
