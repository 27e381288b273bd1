// Trees over the LANES invocations of a work-group. Each step folds one half onto the other, LANES / 2 -> ... -> 1, as
// sum_lanes (16) and group_sum (64) of kernels/common.cl do. The order of sums is part of the bit rules. Every
// invocation must call them, and every one receives the result.
shared float tree_lanes[LANES];

float larger(const float a, const float b) { return b > a ? b : a; }

float tree_sum(const float value) {
  const int lane = int(gl_LocalInvocationID.x);
  tree_lanes[lane] = value;
  barrier();
  for (int width = LANES / 2; width > 0; width /= 2) {
    if (lane < width) {
      precise const float sum = tree_lanes[lane] + tree_lanes[lane + width];
      tree_lanes[lane] = sum;
    }
    barrier();
  }
  const float result = tree_lanes[0];
  barrier();  // the caller may reuse tree_lanes at once
  return result;
}

float tree_largest(const float value) {
  const int lane = int(gl_LocalInvocationID.x);
  tree_lanes[lane] = value;
  barrier();
  for (int width = LANES / 2; width > 0; width /= 2) {
    if (lane < width) tree_lanes[lane] = larger(tree_lanes[lane], tree_lanes[lane + width]);
    barrier();
  }
  const float result = tree_lanes[0];
  barrier();
  return result;
}
