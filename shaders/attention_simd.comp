// Causal attention over the cache of one layer, or over the last `window` positions, with grouped query heads: softmax(scale * q k^T) v
//   without an S x S buffer.
// kernels: attention_simd attention_split_simd attention_merge_simd
//
// Idea: the online softmax of Milakov and Gimelshein (2018, arXiv:1805.02867) over splits of the cache, as in FlashAttention (Dao et al.
//   2022, arXiv:2205.14135) and its split-cache decoding; a tile of queries shares every load of K and V.
// Layout: q f32 at s*q_stride + head*HEAD_DIM + i; y f32 at s*y_stride + head*HEAD_DIM_V + i.
//   cache_k [kv_heads][page_count][SPLIT/16][HEAD_DIM][16], cache_v [kv_heads][page_count][SPLIT][HEAD_DIM_V], f16 with KV_F16 = 1, else f32.
//   pages int32 [segments][pages_each]: places from i * SPLIT on of a segment lie in page pages[segment][i] (attention.glsl); a position's place
//   is itself, but for TREES = 1 (place.glsl).
//   scratch f32 [S*heads][pages_each][2 + HEAD_DIM_V]: maximum, sum and unscaled values of each split.
// Work (groups of 16):
//   attention_simd        dimension 0 is a tile of TILE queries of KV head (dimension 1), all of one segment: one token's group of heads in decode,
//                         tokens and heads together in prefill.
//   attention_split_simd  the same, dimension 2 is the split; its results go to scratch. Splits of the share [share_begin, share_end) alone, in
//                         SHARES of those that the segment's last token sees: others may be another device's.
//   attention_merge_simd  dimension 0 is token*heads + head: merges the splits of scratch.
// Order, the same for both ways and every tile: the cache is cut into splits of SPLIT absolute positions. In a split a score is one fma
//   chain over i = 0 .. HEAD_DIM-1, then times scale, and where soft_cap is above 0 it is capped by it; the maximum is exact; exp is exp1
//   of exp.glsl; their sum is 16 lane sums (lane = position % 16) and the tree of trees.glsl; a value element is one fma chain over
//   ascending positions. Splits are merged in ascending order by merge(). What lies beyond a token's position adds an exact zero or is not
//   touched, so neither the tile nor S matters.
// Limits: HEAD_DIM, HEAD_DIM_V >= 1; TILE 1..8; SPLIT 256; positions[s] < pages_each * SPLIT. Where the driver counts loops:
//   the macros of limits.h, which engine/device/gpu/lower_attention.cpp holds sizes to.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 16
#include "common.glsl"
#include "quotient.glsl"
#include "exp.glsl"
#include "limits.h"
#include "trees.glsl"
#include "softmax_merge.glsl"
#include "visible.glsl"
#include "place.glsl"
#include "attention.glsl"
