// Routes each token to its experts: from each row of scores it takes the k largest. It writes their experts in
// ascending order of index, and their weights. One source serves both families.
//
// Layout: x f32 at s*x_stride + e; ids int32 [S, k]; weights f32 [S, k].
// Options: GATING 0 softmax, 1 sigmoid, 2 sparse mixer (Liu et al. 2023, arXiv:2310.00811); NORMALISED; BIASED; GROUPS.
// Order of experts: by falling key, equal keys by rising index. The key is the score, or -inf for NaN. BIASED: the key is
// gating(score) + bias. GROUPS > 1: experts outside the best groups have the key -inf. With either, an array holds the
// keys of EXPERTS experts. Round r picks
// the first expert after the one picked before, so it marks no experts. Afterwards the picked experts are those that do
// not come after the last picked one.
// Weights: every sum is ascending by expert (docs/numbers.md); exp is exp1 of common.cl. A NaN among a token's scores
// makes all its weights NaN (0x7fc00000), so the fault shows in the results.
// Work: one work-item per token (local size 1, or groups of 64 on a GPU).
// Limits: 1 <= k <= E.
#ifndef GATING
#define GATING 0
#endif
#ifndef NORMALISED
#define NORMALISED 0
#endif
#ifndef BIASED
#define BIASED 0
#endif
#ifndef GROUPS
#define GROUPS 1
#endif
#if BIASED || GROUPS > 1
#define KEYS float
#else
#define KEYS __global const float
#endif

INLINE float score_key(const float score) { return isnan(score) ? -INFINITY : score; }

// True if expert e comes after the other expert in the order.
INLINE bool comes_behind(const float key, const int e, const float other, const int other_at) {
  return key < other || (key == other && e > other_at);
}

// The first expert after (key, at) in the order.
INLINE int first_behind(const KEYS *x, const int E, const float key, const int at) {
  int best_at = -1;
  float best = 0.0f;
  for (int e = 0; e < E; ++e) {
    const float next = score_key(x[e]);
    if (comes_behind(next, e, key, at) && (best_at < 0 || next > best)) {
      best = next;
      best_at = e;
    }
  }
  return best_at;
}

// The divisor of a weight. A softmax sums over all experts. A sparse mixer sums over the experts that are near the
// picked one (index `at`, score `key`) and were not picked before it. `limit` is 2 * kSparseMixerJitter.
INLINE float gating_sum(__global const float *x, const int E, const float key, const int at, const float limit) {
  float sum = 0.0f;
  for (int e = 0; e < E; ++e) {
    const float other = score_key(x[e]);
#if GATING == 2
    if (comes_behind(key, at, other, e)) continue;
    if ((key - other) / max(fabs(other), key) > limit) continue;
#endif
    sum += exp1(other - key);
  }
  return sum;
}

#if BIASED || GROUPS > 1
// Writes the keys of all experts. `largest` and `sum` are those of a softmax.
INLINE void write_keys(__global const float *x, __global const float *bias, const int E, const int groups_used, const float largest,
                       const float sum, float *keys) {
  for (int e = 0; e < E; ++e) {
    const float score = score_key(x[e]);
#if !BIASED
    keys[e] = score;
#elif GATING == 0
    keys[e] = isnan(x[e]) ? -INFINITY : score_key(exp1(score - largest) / sum + bias[e]);
#else
    keys[e] = isnan(x[e]) ? -INFINITY : score_key(1.0f / (1.0f + exp1(-score)) + bias[e]);
#endif
  }
#if GROUPS > 1
  const int each = E / GROUPS;
  float of_groups[GROUPS];
  for (int g = 0; g < GROUPS; ++g) {
    const int best = first_behind(keys + g * each, each, INFINITY, -1);
    float of_group = keys[g * each + best];
#if BIASED
    of_group += keys[g * each + first_behind(keys + g * each, each, of_group, best)];
#endif
    of_groups[g] = of_group;
  }
  float key = INFINITY;
  int at = -1;
  for (int i = 0; i < groups_used; ++i) {
    at = first_behind(of_groups, GROUPS, key, at);
    key = score_key(of_groups[at]);
  }
  for (int g = 0; g < GROUPS; ++g)
    if (comes_behind(score_key(of_groups[g]), g, key, at))
      for (int e = g * each; e < (g + 1) * each; ++e) keys[e] = -INFINITY;
#endif
}
#endif

INLINE bool has_nan(__global const float *x, const int E) {
  bool found = false;
  for (int e = 0; e < E; ++e) found |= isnan(x[e]) != 0;
  return found;
}

__kernel void route(BUFFER(x), BUFFER(bias), BUFFER(ids), BUFFER(weights), const int S, const int E, const int k, const int x_stride,
                    const int groups_used, const float scale, const float limit) {
  const int s = get_global_id(0);
  if (s >= S) return;
  __global const float *x = PTR(const float, x) + (long)s * x_stride;
  __global int *ids = PTR(int, ids) + (long)s * k;
  __global float *weights = PTR(float, weights) + (long)s * k;
  float largest = 0.0f, sum = 1.0f;
#if GATING == 0
  largest = score_key(x[0]);
  for (int e = 1; e < E; ++e) largest = max(largest, score_key(x[e]));
  sum = gating_sum(x, E, largest, 0, limit);
#endif
#if BIASED || GROUPS > 1
  float keys[EXPERTS];
  write_keys(x, PTR(const float, bias), E, groups_used, largest, sum, keys);
#else
  __global const float *keys = x;
#endif
  float key = INFINITY;
  int at = -1;
  for (int round = 0; round < k; ++round) {
    at = first_behind(keys, E, key, at);
    key = score_key(keys[at]);
  }
  float total = 0.0f;
  for (int e = 0, i = 0; e < E && i < k; ++e) {
    if (comes_behind(score_key(keys[e]), e, key, at)) continue;
    const float own = score_key(x[e]);
#if GATING == 0
    const float weight = exp1(own - largest) / sum;
#elif GATING == 1
    const float weight = 1.0f / (1.0f + exp1(-own));
#else
    const float weight = 1.0f / gating_sum(x, E, own, e, limit);
#endif
    ids[i] = e;
    weights[i] = weight;
    total += weight;
    ++i;
  }
  const bool is_lost = has_nan(x, E);
  for (int i = 0; i < k; ++i) {
#if NORMALISED
    const float weight = weights[i] / total * scale;
#else
    const float weight = weights[i] * scale;
#endif
    weights[i] = is_lost ? as_float(0x7fc00000) : weight;
  }
}
