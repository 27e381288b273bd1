// The body of top_k_{simd,simt}.comp.
//
// Work: one work-group of 64 per row. Invocation w owns the elements i with i % 64 == w. It holds the first of them in
//   falling order (equals by rising index) that no round has taken yet. A round takes the first of the 64 held
//   elements. All invocations together then search its owner's elements for the next one. So every element is read
//   once, and 1/64 of them again in each round.
// Limits: 1 <= k <= 64, k <= width, and width <= TANDEM_MAX_ROW on drivers that count loops; NaN sorts as -inf.
#define LANES 64
#define MAX_TOP_K 64
layout(local_size_x = LANES) in;

BUFFER(0, uint, x);
BUFFER(1, int, ids);
BUFFER(2, uint, values);
layout(push_constant) uniform Args { uint x_offset, ids_offset, values_offset; int width, k, x_stride; };

shared int largest, lowest, next_largest, next_lowest;

void main() {
  const int lane = int(gl_LocalInvocationID.x);
  const uint s = gl_WorkGroupID.x, xs = x_offset + s * uint(x_stride);
  int best = LOWEST_KEY, best_at = NO_INDEX;  // NO_INDEX: this invocation's elements are used up
  // trips <= TANDEM_MAX_ROW / LANES
  for (int i = lane; i < width; i += LANES) {
    const int key = sort_key(x[xs + uint(i)]);
    if (key > best || best_at == NO_INDEX) {
      best = key;
      best_at = i;
    }
  }
  // trips <= MAX_TOP_K
  for (int round = 0; round < k; ++round) {
    if (lane == 0) {
      largest = next_largest = LOWEST_KEY;
      lowest = next_lowest = NO_INDEX;
    }
    barrier();
    if (best_at != NO_INDEX) atomicMax(largest, best);
    barrier();
    if (best == largest) atomicMin(lowest, best_at);
    barrier();
    const int taken = largest, taken_at = lowest;
    if (lane == 0) {
      const uint bits = x[xs + uint(taken_at)], at = s * uint(k) + uint(round);
      ids[ids_offset + at] = taken_at;
      values[values_offset + at] = is_nan(bits) ? 0xff800000u : bits;
    }
    const int owner = taken_at % LANES;
    int next = LOWEST_KEY, next_at = NO_INDEX;
    // trips <= TANDEM_MAX_ROW / LANES / LANES
    for (int i = owner + lane * LANES; i < width; i += LANES * LANES) {
      const int key = sort_key(x[xs + uint(i)]);
      const bool after = key < taken || (key == taken && i > taken_at);
      if (after && (key > next || next_at == NO_INDEX)) {
        next = key;
        next_at = i;
      }
    }
    if (next_at != NO_INDEX) atomicMax(next_largest, next);
    barrier();
    if (next == next_largest) atomicMin(next_lowest, next_at);
    barrier();
    if (lane == owner) {
      best = next_largest;
      best_at = next_lowest;
    }
    barrier();
  }
}
