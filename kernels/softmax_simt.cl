// Softmax over each row, in place: x = exp(x - max) / sum exp(x - max).
//
// Layout: x f32 at s*x_stride + i.
// Work: one work-group of 64 per row; neighbours take neighbouring elements.
// Order: the sum is 64 lane sums (lane i takes elements i, i+64, ...), then the tree of group_sum. exp is exp1
//   of common.cl.
// Limits: any width >= 1. A row in which all values are -inf gives NaN, as the formula does.

__kernel void softmax_simt(BUFFER(x), const int width, const int x_stride) {
  __local float lanes[64];
  const int lane = get_local_id(0);
  __global float *x = PTR(float, x) + get_group_id(0) * x_stride;
  float top = -INFINITY;
  for (int i = lane; i < width; i += 64) top = larger(top, x[i]);
  const float largest = group_largest(lanes, top);
  float part = 0.0f;
  for (int i = lane; i < width; i += 64) {
    const float e = exp1(x[i] - largest);
    x[i] = e;
    part += e;
  }
  const float sum = group_sum(lanes, part);
  for (int i = lane; i < width; i += 64) x[i] /= sum;
}
