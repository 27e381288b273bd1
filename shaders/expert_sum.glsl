// The body of expert_sum_{simd,simt}.comp.
layout(local_size_x = LANES) in;
layout(constant_id = 0) const int SHARED = 0;

BUFFER(0, float, x);
BUFFER(1, float, weights);
BUFFER(2, float, added);
BUFFER(3, float, gate);
BUFFER(4, float, y);
layout(push_constant) uniform Args {
  uint x_offset, weights_offset, added_offset, gate_offset, y_offset;
  int width, k, gate_stride, chunk;
};

void main() {
  const uint s = gl_WorkGroupID.y;
  const uint xs = x_offset + s * uint(k) * uint(width), row = s * uint(width), factors = weights_offset + s * uint(k);
  precise float share = 1.0;
  if (SHARED == 2) share = quotient(1.0, 1.0 + exp1(-gate[gate_offset + s * uint(gate_stride)]));
  // trips <= TANDEM_MAX_SUM_CHUNK / 16   a run has at most that many elements, every invocation takes each 16th
  for (int e = run_begin(chunk); e < run_end(chunk, width); e += LANES) {
    precise float sum = 0.0;
    // trips <= TANDEM_MAX_CHOICES_OF_TOKEN
    for (int i = 0; i < k; ++i) sum = fma(weights[factors + uint(i)], x[xs + uint(i) * uint(width) + uint(e)], sum);
    if (SHARED == 1) sum = sum + added[added_offset + row + uint(e)];
    if (SHARED == 2) sum = fma(share, added[added_offset + row + uint(e)], sum);
    y[y_offset + row + uint(e)] = sum;
  }
}
