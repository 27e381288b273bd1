// Builds the lists of tokens by expert (engine/device/operators/expert_lists.h) with a counting sort.
//
// Layout: ids int32 [S, k]; lists int32:
//   [0]                       A, the number of experts that have a choice.
//   [1, 1 + A)                these experts, ascending.
//   [1 + E, 1 + E + A + 1)    where each expert's choices begin, and where the last one's end.
//   [2 + 2 E, 2 + 2 E + S k)  the choices.
// Work: one work-group of 64. Work-item w owns the experts w, w + 64, ... For each 64 experts it reads all ids twice:
//   first it counts its own expert's choices, then it writes their numbers. The order is that of the choices, so the
//   result does not depend on timing.
// Limits: none beyond ids in [0, E).

// Sums over the work-items before this one: x counts those whose expert has choices, y counts the choices.
INLINE int2 sum_before(__local int2 *lanes, const int lane) {
  int2 sum = 0;
  for (int i = 0; i < lane; ++i) sum += lanes[i];
  return sum;
}

__kernel void expert_lists_simt(BUFFER(ids), BUFFER(lists), const int count, const int E) {
  __local int2 lanes[64];  // per work-item: 1 if its expert has choices, and their number
  const int lane = get_local_id(0);
  __global const int *ids = PTR(const int, ids);
  __global int *lists = PTR(int, lists), *begins = lists + 1 + E, *choices = lists + 2 + 2 * E;
  int2 before = 0;  // sums over all experts before these 64
  for (int first = 0; first < E; first += 64) {
    const int e = first + lane;
    int own = 0;
    for (int c = 0; c < count; ++c) own += ids[c] == e;
    lanes[lane] = (int2)(own > 0, own);
    barrier(CLK_LOCAL_MEM_FENCE);
    const int2 mine = before + sum_before(lanes, lane);
    before += sum_before(lanes, 64);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (own > 0) {
      lists[1 + mine.x] = e;
      begins[mine.x] = mine.y;
      for (int c = 0, at = mine.y; c < count; ++c) {
        if (ids[c] == e) choices[at++] = c;
      }
    }
  }
  if (lane == 0) {
    lists[0] = before.x;
    begins[before.x] = count;
  }
}
