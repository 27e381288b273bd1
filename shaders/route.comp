// Routes each token to its experts: from each row of scores it takes the k largest. It writes their experts in
// ascending order of index, and their weights. One shader serves both families.
//
// Layout: x f32 at s*x_stride + e; ids int32 [S, k]; weights f32 [S, k].
// Constants: GATING 0 softmax, 1 sigmoid, 2 sparse mixer (Liu et al. 2023, arXiv:2310.00811); NORMALISED; BIASED; GROUPS.
// Order of experts: by falling key, equal keys by rising index. The key is the score, or -inf for NaN. BIASED: the key is
// gating(score) + bias. GROUPS > 1: experts outside the best groups have the key -inf. With either, an array holds the
// keys of EXPERTS experts. Round r picks
// the first expert after the one picked before, so it marks no experts. Afterwards the picked experts are those that do
// not come after the last picked one.
// Weights: every sum is ascending by expert (docs/numbers.md); exp is exp1 of exp.glsl. A NaN among a token's scores
// makes all its weights NaN (0x7fc00000), so the fault shows in the results.
// Work: one invocation per token.
// Limits: 1 <= k <= E; on drivers that count loops E <= TANDEM_MAX_EXPERTS and k <= TANDEM_MAX_CHOICES_OF_TOKEN.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "quotient.glsl"
#include "exp.glsl"
#include "limits.h"
#include "sort_key.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const int GATING = 0;
layout(constant_id = 1) const int NORMALISED = 0;
layout(constant_id = 2) const int BIASED = 0;
layout(constant_id = 3) const int GROUPS = 1;
layout(constant_id = 4) const int EXPERTS = 1;

BUFFER(0, uint, x);
BUFFER(1, float, bias);
BUFFER(2, int, ids);
BUFFER(3, float, weights);
layout(push_constant) uniform Args {
  uint x_offset, bias_offset, ids_offset, weights_offset;
  int S, E, k, x_stride, groups_used;
  float scale, limit;
};

int keys[EXPERTS];  // sort_key() of each key
const bool HAS_KEYS = BIASED != 0 || GROUPS > 1;

// The key of an expert's score. The order is by sort_key(), which compares alike on every driver.
float key_of(const uint bits) { return is_nan(bits) ? -INFINITY : uintBitsToFloat(bits); }

// True if expert e comes after the other expert in the order.
bool comes_behind(const int key, const int e, const int other, const int other_at) {
  return key < other || (key == other && e > other_at);
}

// The divisor of a weight. A softmax sums over all experts. A sparse mixer sums over the experts that are near the
// picked one (index `at`, score `key`) and were not picked before it.
float gating_sum(const uint row, const float key, const int order, const int at) {
  precise float sum = 0.0;
  // trips <= TANDEM_MAX_EXPERTS
  for (int e = 0; e < E; ++e) {
    const uint bits = x[row + uint(e)];
    const float other = key_of(bits);
    bool counts = true;
    if (GATING == 2) {
      precise const float difference = key - other;
      const float relative = quotient(difference, max(abs(other), key));
      counts = !comes_behind(order, at, sort_key(bits), e) && !(relative > limit);
    }
    if (counts) sum += exp1(other - key);
  }
  return sum;
}

// The number by which expert e is ordered.
int order_of(const uint row, const int e) { return HAS_KEYS ? keys[e] : sort_key(x[row + uint(e)]); }

float float_of(const int key) { return uintBitsToFloat(key < 0 ? 0x80000000u | uint(-key) : uint(key)); }

// Experts outside the best groups get the lowest key.
void keep_best_groups() {
  const int each = E / GROUPS;
  int of_groups[GROUPS], seconds[GROUPS];  // the largest key of each group, and the one after it
  // trips <= TANDEM_MAX_EXPERT_GROUPS
  for (int g = 0; g < GROUPS; ++g) of_groups[g] = seconds[g] = LOWEST_KEY;
  // trips <= TANDEM_MAX_EXPERTS
  for (int e = 0; e < E; ++e) {
    const int g = e / each;
    seconds[g] = max(seconds[g], min(keys[e], of_groups[g]));
    of_groups[g] = max(of_groups[g], keys[e]);
  }
  // trips <= TANDEM_MAX_EXPERT_GROUPS
  for (int g = 0; BIASED != 0 && g < GROUPS; ++g) {
    precise const float both = float_of(of_groups[g]) + float_of(seconds[g]);
    of_groups[g] = sort_key(floatBitsToUint(both));
  }
  int order = 0x7fffffff, at = -1;
  // trips <= TANDEM_MAX_EXPERT_GROUPS
  for (int i = 0; i < groups_used; ++i) {
    int best = LOWEST_KEY, best_at = NO_INDEX;
    // trips <= TANDEM_MAX_EXPERT_GROUPS
    for (int g = 0; g < GROUPS; ++g) {
      if (comes_behind(of_groups[g], g, order, at) && (best_at == NO_INDEX || of_groups[g] > best)) {
        best = of_groups[g];
        best_at = g;
      }
    }
    order = best;
    at = best_at;
  }
  // trips <= TANDEM_MAX_EXPERTS
  for (int e = 0; e < E; ++e)
    if (comes_behind(of_groups[e / each], e / each, order, at)) keys[e] = LOWEST_KEY;
}

void write_keys(const uint row, const float largest, const float sum) {
  // trips <= TANDEM_MAX_EXPERTS
  for (int e = 0; e < E; ++e) {
    const uint bits = x[row + uint(e)];
    const float score = key_of(bits);
    precise float key = score;
    if (BIASED != 0) {
      if (GATING == 0)
        key = quotient(exp1(score - largest), sum);
      else
        key = quotient(1.0, 1.0 + exp1(-score));
      key += bias[bias_offset + uint(e)];
    }
    keys[e] = is_nan(bits) ? LOWEST_KEY : sort_key(floatBitsToUint(key));
  }
  if (GROUPS > 1) keep_best_groups();
}

void main() {
  const uint s = gl_GlobalInvocationID.x;
  if (s >= uint(S)) return;
  const uint row = x_offset + s * uint(x_stride), own_ids = ids_offset + s * uint(k), own_weights = weights_offset + s * uint(k);
  float largest = 0.0, sum = 1.0;
  if (GATING == 0) {
    int top = LOWEST_KEY;
    // trips <= TANDEM_MAX_EXPERTS
    for (int e = 0; e < E; ++e) top = max(top, sort_key(x[row + uint(e)]));
    largest = float_of(top);
    sum = gating_sum(row, largest, 0, 0);
  }
  if (HAS_KEYS) write_keys(row, largest, sum);
  int order = 0x7fffffff, at = -1;
  // trips <= TANDEM_MAX_CHOICES_OF_TOKEN
  for (int round = 0; round < k; ++round) {
    int best = LOWEST_KEY, best_at = NO_INDEX;
    // trips <= TANDEM_MAX_EXPERTS
    for (int e = 0; e < E; ++e) {
      const int key = order_of(row, e);
      if (comes_behind(key, e, order, at) && (best_at == NO_INDEX || key > best)) {
        best = key;
        best_at = e;
      }
    }
    order = best;
    at = best_at;
  }
  precise float total = 0.0;
  int e = -1;
  // trips <= TANDEM_MAX_CHOICES_OF_TOKEN
  for (int i = 0; i < k; ++i) {
    e += 1;
    // trips <= TANDEM_MAX_EXPERTS
    while (e < E && comes_behind(order_of(row, e), e, order, at)) e += 1;
    const uint bits = x[row + uint(e)];
    const float key = key_of(bits);
    precise float weight;
    if (GATING == 0) {
      weight = quotient(exp1(key - largest), sum);
    } else if (GATING == 1) {
      weight = quotient(1.0, 1.0 + exp1(-key));
    } else {
      weight = quotient(1.0, gating_sum(row, key, sort_key(bits), e));
    }
    ids[own_ids + uint(i)] = e;
    weights[own_weights + uint(i)] = weight;
    total += weight;
  }
  bool is_lost = false;
  // trips <= TANDEM_MAX_EXPERTS
  for (int each = 0; each < E; ++each) is_lost = is_lost || is_nan(x[row + uint(each)]);
  // trips <= TANDEM_MAX_CHOICES_OF_TOKEN
  for (int i = 0; i < k; ++i) {
    precise float weight = weights[own_weights + uint(i)];
    if (NORMALISED != 0) weight = quotient(weight, total);
    weights[own_weights + uint(i)] = is_lost ? uintBitsToFloat(0x7fc00000u) : weight * scale;
  }
}
