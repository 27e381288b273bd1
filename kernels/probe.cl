// Kernels of the device's start-up test. They show that the device builds and runs a kernel and sees host memory in
// place. They also show that it fuses fma, rounds quotients and roots once, and runs loops to their end.
//
// Layout: probe_fma: in f32 [n][3], out f32 [n]; probe_quotient: in and out f32 [n][2]. Work mapping: one work-item per
//   element. Limits: none.
__kernel void probe_fma(BUFFER(in), BUFFER(out)) {
  const int i = get_global_id(0);
  __global const float *v = PTR(const float, in) + 3 * i;
  PTR(float, out)[i] = fma(v[0], v[1], v[2]);
}

__kernel void probe_quotient(BUFFER(in), BUFFER(out)) {
  const int i = get_global_id(0);
  __global const float *v = PTR(const float, in) + 2 * i;
  PTR(float, out)[2 * i] = v[0] / v[1];
  PTR(float, out)[2 * i + 1] = sqrt(v[0]);
}

// Counts its own iterations, because some drivers end loops early without an error.
__kernel void probe_loop(BUFFER(counted), const uint wanted) {
  uint count = 0;
  for (uint i = 0; i < wanted; ++i) count += (i ^ count) < 0xffffffffu ? 1 : 2;
  *PTR(uint, counted) = count;
}

// Adds one to a word. The host then sees whether its own store arrived and whether the kernel's store came back.
__kernel void probe_increment(BUFFER(word)) {
  __global uint *p = PTR(uint, word);
  PREFETCH(p, 64);
  *p += 1;
}
