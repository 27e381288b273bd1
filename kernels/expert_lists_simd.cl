// Builds the lists of tokens by expert (engine/device/operators/expert_lists.h) with a counting sort.
//
// Layout: ids int32 [S, k]; lists int32:
//   [0]                       A, the number of experts that have a choice.
//   [1, 1 + A)                these experts, ascending.
//   [1 + E, 1 + E + A + 1)    where each expert's choices begin, and where the last one's end.
//   [2 + 2 E, 2 + 2 E + S k)  the choices.
// Work: one work-item. It first counts the choices of all E experts in the words that later hold where choices begin.
//   It then places the choices from the last to the first, and counts each expert's word down. In the end the word says
//   where the expert's choices begin.
// Limits: ids in [0, E).

__kernel void expert_lists_simd(BUFFER(ids), BUFFER(lists), const int count, const int E) {
  __global const int *ids = PTR(const int, ids);
  __global int *lists = PTR(int, lists), *begins = lists + 1 + E, *choices = lists + 2 + 2 * E;
  for (int e = 0; e < E; ++e) begins[e] = 0;
  for (int c = 0; c < count; ++c) ++begins[ids[c]];
  for (int e = 0, end = 0; e < E; ++e) begins[e] = end += begins[e];
  for (int c = count - 1; c >= 0; --c) choices[--begins[ids[c]]] = c;
  int active = 0;
  for (int e = 0; e < E; ++e) {  // active <= e: each word is read before it is overwritten
    const int begin = begins[e], end = e + 1 < E ? begins[e + 1] : count;
    if (begin == end) continue;
    lists[1 + active] = e;
    begins[active++] = begin;
  }
  lists[0] = active;
  begins[active] = count;
}
