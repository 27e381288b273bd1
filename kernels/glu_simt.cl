// The activation of a feed-forward block: y = activation(gate) * up, with the options of glu_options.cl.
//
// Layout: gate, up, y f32 at s*stride + i. Without GATED up is not read.
// Work: one work-item per element. Dimension 0 is i (rounded up to groups of 64), dimension 1 the token. `chunk` is 1.
// Limits: any width; y may be gate or up.
#include "glu_of.cl"

__kernel void glu_simt(BUFFER(gate), BUFFER(up), BUFFER(y), const int width, const int gate_stride, const int up_stride,
                          const int y_stride, const int chunk) {
  const size_t s = get_global_id(1), i = get_global_id(0) * chunk;
  if (i >= width) return;
  const float gate = PTR(const float, gate)[s * gate_stride + i];
  const float up = GATED ? PTR(const float, up)[s * up_stride + i] : 0.0f;
  PTR(float, y)[s * y_stride + i] = glu_of(gate, up);
}
