// Sums and maxima over the LANES invocations of a work-group. Every invocation must call them, and every one receives
// the result.
//
// Order of a row's sum, in both families (docs/numbers.md): it has SUM_LANES = 64 sums, and sum i adds the elements i,
//   i + 64, ... in ascending order. If the last part has fewer than 64 elements, the others add nothing. Then the upper
//   half of the sums is added to the lower one, 64 -> 32 -> ... -> 1. kernels/common.cl has the same order.
// Layout: the sums of an invocation are the variables sum0, sum1, ... Variable sum##n of invocation i is sum i + n *
//   LANES. In the simt family that is one variable, in the simd family it is four.
#define SUM_LANES 64
#if LANES == 16
#define EACH_SUM(DO) DO(0) DO(1) DO(2) DO(3)
#define TREE_SUM(sum) tree_sum(folded(sum##0, sum##1, sum##2, sum##3))
#else
#define EACH_SUM(DO) DO(0)
#define TREE_SUM(sum) tree_sum(sum##0)
#endif

shared float tree_lanes[LANES];

float larger(const float a, const float b) { return b > a ? b : a; }

// The steps of the tree within an invocation, 64 -> 32 -> 16.
float folded(const float a, const float b, const float c, const float d) {
  precise const float even = a + c, odd = b + d, sum = even + odd;
  return sum;
}

// The steps over the invocations.
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
