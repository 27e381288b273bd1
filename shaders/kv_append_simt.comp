// Writes the keys and values of S tokens to their sequences' places in the cache of one layer, rounded to the
// cache's type.
//
// Layout: k, v f32 at s*stride + h*width + i. Cache elements are f16 (to nearest, ties to even) with KV_F16 = 1,
//   else f32.
//   cache_k [kv_heads][page_count][PAGE/16][head_dim][16]: place p of a page is lane p % 16 of block p / 16.
//   cache_v [kv_heads][page_count][PAGE][head_dim_v]
//   pages int32 [segments][pages_each]: page pages[segment][i] holds the places from i * PAGE on of a segment
//   (kv_store.glsl). A position's place is the position itself, except with TREES = 1 (place.glsl).
// Work: one invocation per element. Dimension 0 is i (rounded up to groups of 64), dimension 1 the token, dimension 2
//   the KV head.
// Limits: positions[s] < pages_each * PAGE; no place occurs twice. On drivers that count loops segments are at
//   most TANDEM_MAX_SEGMENTS.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 64
#include "common.glsl"
#include "limits.h"
#include "place.glsl"
#include "kv_append.glsl"
#include "kv_store.glsl"

void main() { append(gl_WorkGroupID.y, gl_WorkGroupID.z, gl_GlobalInvocationID.x); }
