// The body of argmax_{simd,simt}.comp.
layout(local_size_x = LANES) in;

BUFFER(0, uint, x);
BUFFER(1, int, ids);
layout(push_constant) uniform Args { uint x_offset, ids_offset; int width, x_stride; };

shared int largest, lowest;

void main() {
  const int lane = int(gl_LocalInvocationID.x);
  const uint s = gl_WorkGroupID.x, xs = x_offset + s * uint(x_stride);
  if (lane == 0) {
    largest = LOWEST_KEY;
    lowest = NO_INDEX;
  }
  int best = LOWEST_KEY, best_at = NO_INDEX;
  // trips <= TANDEM_MAX_ROW / LANES
  for (int i = lane; i < width; i += LANES) {
    const int key = sort_key(x[xs + uint(i)]);
    if (key > best) {
      best = key;
      best_at = i;
    }
  }
  barrier();
  atomicMax(largest, best);
  barrier();
  if (best == largest) atomicMin(lowest, best_at);
  barrier();
  if (lane == 0) ids[ids_offset + s] = lowest == NO_INDEX ? 0 : lowest;  // no value is above -inf: the first of equals
}
