// Writes the keys and values of S tokens to their sequences' places in the cache of one layer, rounded to the
// cache's type.
//
// Layout: k, v f32 at s*stride + h*width + i. Cache elements are f16 (to nearest, ties to even) with KV_F16 = 1,
//   else f32.
//   cache_k [kv_heads][page_count][PAGE/16][head_dim][16]: place p of a page is lane p % 16 of block p / 16.
//   cache_v [kv_heads][page_count][PAGE][head_dim_v]
//   pages int32 [segments][pages_each]: page pages[segment][i] holds the places from i * PAGE on of a segment
//   (kv_store.glsl). A position's place is the position itself, except with TREES = 1 (place.glsl).
// Work: one work-group of 16 per token (dimension 0) and KV head (dimension 1). Its invocations take every
//   16th element.
// Limits: positions[s] < pages_each * PAGE; no place occurs twice. On drivers that count loops head_dim and head_dim_v
//   are at most TANDEM_MAX_HEAD_DIM, and segments at most TANDEM_MAX_SEGMENTS.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 16
#include "common.glsl"
#include "limits.h"
#include "place.glsl"
#include "kv_append.glsl"
#include "kv_store.glsl"

void main() {
  // trips <= TANDEM_MAX_HEAD_DIM / LANES
  for (int i = int(gl_LocalInvocationID.x); i < max(head_dim, head_dim_v); i += LANES) append(gl_WorkGroupID.x, gl_WorkGroupID.y, uint(i));
}
