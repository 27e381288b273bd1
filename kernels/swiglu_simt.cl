// The gated activation of a feed-forward block: y = gate / (1 + exp(-gate)) * up (Shazeer 2020, arXiv:2002.05202, "SwiGLU").
//
// Layout: gate, up, y f32 at s*stride + i.
// Work: one work-item per element: dimension 0 is i (rounded up to groups of 64), dimension 1 the token. `chunk` is 1.
// Limits: any width; y may be gate or up. exp is exp1 of common.cl; -DROUND_F16=1 rounds y.
#ifndef ROUND_F16
#define ROUND_F16 0
#endif

__kernel void swiglu_simt(BUFFER(gate), BUFFER(up), BUFFER(y), const int width, const int gate_stride, const int up_stride,
                          const int y_stride, const int chunk) {
  const size_t s = get_global_id(1), i = get_global_id(0) * chunk;
  if (i >= width) return;
  const float gate = AT(const float, gate)[s * gate_stride + i];
  const float y = gate / (1.0f + exp1(-gate)) * AT(const float, up)[s * up_stride + i];
#if ROUND_F16
  AT(float, y)[s * y_stride + i] = round_f16(y);
#else
  AT(float, y)[s * y_stride + i] = y;
#endif
}
