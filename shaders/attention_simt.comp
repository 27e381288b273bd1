// Causal attention over the cache of one layer, or over its last `window` positions, with grouped query heads.
//   Computes softmax(scale * q k^T) v without an S x S buffer.
// kernels: attention_simt attention_split_simt attention_merge_simt attention_merge_codes_simt
//
// Idea: the online softmax of Milakov and Gimelshein (2018, arXiv:1805.02867) over splits of the cache, as in
//   FlashAttention (Dao et al. 2022, arXiv:2205.14135) and its split-cache decoding. All queries of a tile share every
//   load of K and V.
// Layout: q f32 at s*q_stride + head*HEAD_DIM + i; y f32 at s*y_stride + head*HEAD_DIM_V + i.
//   cache_k [kv_heads][page_count][SPLIT/16][HEAD_DIM][16], cache_v [kv_heads][page_count][SPLIT][HEAD_DIM_V]; both are
//   f16 with KV_F16 = 1, else f32.
//   pages int32 [segments][pages_each]: page pages[segment][i] holds the places from i * SPLIT on of a segment
//   (attention.glsl). A position's place is the position itself, except with TREES = 1 (place.glsl).
//   scratch f32 [S*heads][pages_each][2 + HEAD_DIM_V]: maximum, sum and unscaled values of each split.
// Work: groups of 64.
//   attention_simt        dimension 0 is a tile of TILE queries of one segment, dimension 1 the KV head. A tile holds
//                         one token's group of heads in decode, and tokens and heads together in prefill.
//   attention_split_simt  the same, and dimension 2 is the split; its results go to scratch. It computes only the
//                         splits of the share [share_begin, share_end), in units of 1/SHARES of the splits that the
//                         segment's last token sees. Another device may compute the rest.
//   attention_merge_simt  dimension 0 is token*heads + head: merges the splits of scratch. attention_merge_codes_simt
//                         also makes the codes of y (act_i8.glsl); HEAD_DIM_V has whole groups of codes.
// Order, the same for both ways and every tile: the cache is cut into splits of SPLIT absolute positions.
//   In a split a score is one fma chain over i = 0 .. HEAD_DIM-1, then times scale; a soft_cap above 0 then caps it.
//   With SLOPES = 1 one fma then subtracts slope * distance (ALiBi). The maximum is exact.
//   exp is exp1 of exp.glsl. Its sum is that of trees.glsl; element i is position i of the split.
//   A value element is one fma chain over ascending positions. merge() merges splits in ascending order.
//   Positions after a token's own add an exact zero or are not read, so neither the tile nor S changes a bit.
// Limits: HEAD_DIM, HEAD_DIM_V >= 1; TILE 1..8; SPLIT 256; positions[s] < pages_each * SPLIT. On drivers that count
//   loops engine/device/gpu/lower_attention.cpp holds sizes to the macros of limits.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 64
#include "common.glsl"
#include "quotient.glsl"
#include "exp.glsl"
#include "limits.h"
#include "trees.glsl"
#include "softmax_merge.glsl"
#include "visible.glsl"
#include "place.glsl"
#ifdef KERNEL_attention_merge_codes_simt
#define CODES
#include "act_i8.glsl"
#include "code_tile.glsl"
#endif
#include "attention.glsl"
#ifdef CODES
#include "make_codes.glsl"
#endif
