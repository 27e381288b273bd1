// Norms and rotates the heads of queries and keys in place, and appends keys and values to the cache: the work of
// rms_norm_simt.comp, rope_simt.comp and kv_append_simt.comp in one launch. The bits are theirs.
//
// Layout: x f32 at s*x_stride + h*HEAD_DIM + i: `heads` heads of queries, then those of keys. v f32 at s*v_stride +
//   h*head_dim_v + i. The table is that of rope_simt.comp, and the cache that of kv_append_simt.comp.
// Work: one work-group of 64 per head (dimension 0) and token (dimension 1). The groups of key heads append their values
//   too.
// Constants: INTERLEAVED as in rope_simt.comp; KV_F16 and TREES as in kv_append_simt.comp. HAS_NORMS = 1 norms each head
//   before it is rotated, with q_weight or k_weight; otherwise neither is read.
// Limits: rot_dim is even and <= HEAD_DIM. Shared memory: 256 + 4 * HEAD_DIM bytes. On drivers that count loops HEAD_DIM
//   and head_dim_v are at most TANDEM_MAX_HEAD_DIM, and segments at most TANDEM_MAX_SEGMENTS.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 64
#include "common.glsl"
#include "limits.h"
#include "place.glsl"
#include "trees.glsl"
#include "quotient.glsl"

layout(local_size_x = LANES) in;
layout(constant_id = 0) const int KV_F16 = 1;
layout(constant_id = 1) const int TREES = 0;
layout(constant_id = 2) const int HEAD_DIM = 64;
layout(constant_id = 3) const int INTERLEAVED = 0;
layout(constant_id = 4) const int HAS_NORMS = 0;

BUFFER(0, float, x);
BUFFER(1, float, q_weight);
BUFFER(2, float, k_weight);
BUFFER(3, uint, v);
BUFFER(4, int, positions);
BUFFER(5, float, table);
BUFFER(6, int, begins);
BUFFER(7, int, pages);
BUFFER(8, int, paths);
BUFFER(9, uint, cache_k);
BUFFER(10, uint, cache_v);
layout(push_constant) uniform Args {
  uint x_offset, q_weight_offset, k_weight_offset, v_offset, positions_offset, table_offset, begins_offset, pages_offset, paths_offset;
  uint cache_k_offset, cache_v_offset;
  int heads, rot_dim, x_stride, v_stride, head_dim_v, segments, first_token, depth, pages_each, page_count;
  float q_unit, k_unit, q_eps, k_eps;
};

shared float head[HEAD_DIM];  // of this group, as it is computed
#define head_dim HEAD_DIM
#define KEY(s, h, i) floatBitsToUint(head[i])
#define VALUE(s, h, i) v[v_offset + (s) * uint(v_stride) + (h) * uint(head_dim_v) + (i)]
#include "kv_store.glsl"

void norm_head(const int lane, const uint xs, const bool is_key) {
  precise float sum0 = 0.0;
  // trips <= TANDEM_MAX_HEAD_DIM / LANES
  for (int i = lane; i < HEAD_DIM; i += LANES) {
    precise const float value = x[xs + uint(i)];
    sum0 = fma(value, value, sum0);
  }
  const float squares = TREE_SUM(sum);
  precise const float mean_square = quotient(squares, float(HEAD_DIM)) + (is_key ? k_eps : q_eps);
  // NaN if the squares overflow, as in rms_norm.glsl.
  precise const float inverse =
      mean_square > 3.40282347e38 ? uintBitsToFloat(0x7fc00000u) : quotient(1.0, root(mean_square));
  // trips <= TANDEM_MAX_HEAD_DIM / LANES
  for (int i = lane; i < HEAD_DIM; i += LANES) {
    const float weight = is_key ? k_weight[k_weight_offset + uint(i)] : q_weight[q_weight_offset + uint(i)];
    precise const float scaled = x[xs + uint(i)] * inverse, weighted = weight + (is_key ? k_unit : q_unit);
    precise const float normed = scaled * weighted;
    head[i] = normed;
  }
}

// The pairs of the head, as in rope.glsl.
void turn_head(const int lane, const uint s) {
  const int pairs = rot_dim / 2;
  const uint turn = table_offset + uint(positions[positions_offset + s]) * uint(rot_dim);
  // trips <= TANDEM_MAX_HEAD_DIM / LANES
  for (int j = lane; j < pairs; j += LANES) {
    const int at = INTERLEAVED != 0 ? 2 * j : j, other = INTERLEAVED != 0 ? 2 * j + 1 : j + pairs;
    const float a = head[at], b = head[other], cosine = table[turn + uint(2 * j)], sine = table[turn + uint(2 * j) + 1u];
    precise const float first = fma(a, cosine, -(b * sine));
    precise const float b_cosine = b * cosine;
    precise const float second = fma(a, sine, b_cosine);
    head[at] = first;
    head[other] = second;
  }
}

void main() {
  const int lane = int(gl_LocalInvocationID.x), h = int(gl_WorkGroupID.x);
  const uint s = gl_WorkGroupID.y, xs = x_offset + s * uint(x_stride) + uint(h * HEAD_DIM);
  if (HAS_NORMS != 0) {
    norm_head(lane, xs, h >= heads);
  } else {
    // trips <= TANDEM_MAX_HEAD_DIM / LANES
    for (int i = lane; i < HEAD_DIM; i += LANES) head[i] = x[xs + uint(i)];
  }
  barrier();
  turn_head(lane, s);
  barrier();
  // trips <= TANDEM_MAX_HEAD_DIM / LANES
  for (int i = lane; i < (HAS_NORMS != 0 ? HEAD_DIM : rot_dim); i += LANES) x[xs + uint(i)] = head[i];
  if (h < heads) return;
  // trips <= TANDEM_MAX_HEAD_DIM / LANES
  for (int i = lane; i < max(HEAD_DIM, head_dim_v); i += LANES) append(s, uint(h - heads), uint(i));
}
