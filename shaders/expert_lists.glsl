// The body of expert_lists_{simd,simt}.comp: a counting sort.
//
// Work: one work-group of 64. Invocation w counts the choices w, w + 64, ...; the first invocation adds the counts up.
//   The group then places the choices, 64 at a time. A choice comes after its expert's choices that were placed
//   before, and after those of invocations before its own. The order is that of the choices, so the result does not
//   depend on timing.
// Limits: ids in [0, E), E <= TANDEM_MAX_EXPERTS; at most TANDEM_MAX_CHOICES choices on drivers that count loops.
layout(local_size_x = 64) in;

BUFFER(0, int, ids);
BUFFER(1, int, lists);
layout(push_constant) uniform Args { uint ids_offset, lists_offset; int count, E; };

shared int next[TANDEM_MAX_EXPERTS];  // per expert: first the number of its choices, then the place of its next one
shared int experts[64];               // the experts of the 64 choices at hand

void main() {
  const int lane = int(gl_LocalInvocationID.x);
  const uint begins = lists_offset + 1u + uint(E), choices = lists_offset + 2u + 2u * uint(E);
  // trips <= TANDEM_MAX_EXPERTS / 64
  for (int e = lane; e < E; e += 64) next[e] = 0;
  barrier();
  // trips <= TANDEM_MAX_CHOICES / 64
  for (int c = lane; c < count; c += 64) atomicAdd(next[ids[ids_offset + uint(c)]], 1);
  barrier();
  if (lane == 0) {
    int chosen = 0, begin = 0;
    // trips <= TANDEM_MAX_EXPERTS
    for (int e = 0; e < E; ++e) {
      const int own = next[e];
      next[e] = begin;
      if (own > 0) {
        lists[lists_offset + 1u + uint(chosen)] = e;
        lists[begins + uint(chosen)] = begin;
        chosen += 1;
      }
      begin += own;
    }
    lists[lists_offset] = chosen;
    lists[begins + uint(chosen)] = count;
  }
  barrier();
  // trips <= TANDEM_MAX_CHOICES / 64
  for (int first = 0; first < count; first += 64) {
    const int c = first + lane;
    const int own = c < count ? ids[ids_offset + uint(c)] : -1;
    experts[lane] = own;
    barrier();
    int before = 0;
    for (int i = 0; i < 64; ++i) before += i < lane && experts[i] == own ? 1 : 0;
    if (c < count) lists[choices + uint(next[own] + before)] = c;
    barrier();
    if (c < count) atomicAdd(next[own], 1);
    barrier();
  }
}
