// Norms and rotates the heads of queries and keys in place, and appends keys and values to the cache: the work of
// rms_norm_simt.cl, rope_simt.cl and kv_append_simt.cl in one launch. The bits are theirs.
//
// Layout: x f32 at s*x_stride + h*HEAD_DIM + i: `heads` heads of queries, then those of keys. v f32 at s*v_stride +
//   h*head_dim_v + i. The table is that of rope_simt.cl, and the cache that of kv_store.cl.
// Work: one work-group of 64 per head (dimension 0) and token (dimension 1). The groups of key heads append their values
//   too.
// Options: HEAD_DIM; INTERLEAVED as in rope_simt.cl; KV_F16 and TREES as in kv_store.cl. HAS_NORMS=1 norms each head
//   before it is rotated, with q_weight or k_weight; otherwise neither is read.
// Limits: rot_dim is even and <= HEAD_DIM. Local memory: 256 + 4 * HEAD_DIM bytes.
#include "kv_store.cl"
#include "rms_norm.cl"
#ifndef INTERLEAVED
#define INTERLEAVED 0
#endif
#ifndef HAS_NORMS
#define HAS_NORMS 0
#endif
#ifndef HEAD_DIM
#define HEAD_DIM 64
#endif

__kernel void rope_append_simt(BUFFER(x), BUFFER(q_weight), BUFFER(k_weight), BUFFER(v), BUFFER(positions), BUFFER(table), BUFFER(begins),
                               BUFFER(pages), BUFFER(paths), BUFFER(cache_k), BUFFER(cache_v), const int heads, const int rot_dim,
                               const int x_stride, const int v_stride, const int head_dim_v, const int segments, const int first_token,
                               const int depth, const int pages_each, const int page_count, const float q_unit, const float k_unit,
                               const float q_eps, const float k_eps) {
  __local float head[HEAD_DIM];
  const int lane = get_local_id(0), h = get_group_id(0), pairs = rot_dim / 2;
  const size_t s = get_group_id(1);
  const bool is_key = h >= heads;
  const int position = PTR(const int, positions)[s];
  __global float *x = PTR(float, x) + s * x_stride + (size_t)h * HEAD_DIM;

#if HAS_NORMS
  __local float lanes[64];
  __global const float *weight = is_key ? PTR(const float, k_weight) : PTR(const float, q_weight);
  float sum = 0.0f;
  for (int i = lane; i < HEAD_DIM; i += 64) sum = fma(x[i], x[i], sum);
  const float inverse = inverse_root(group_sum(lanes, sum) / (float)HEAD_DIM + (is_key ? k_eps : q_eps));
  for (int i = lane; i < HEAD_DIM; i += 64) head[i] = x[i] * inverse * (weight[i] + (is_key ? k_unit : q_unit));
#else
  for (int i = lane; i < HEAD_DIM; i += 64) head[i] = x[i];
#endif
  barrier(CLK_LOCAL_MEM_FENCE);

  __global const float *turn = PTR(const float, table) + (size_t)position * rot_dim;
  for (int j = lane; j < pairs; j += 64) {
    const int at = INTERLEAVED ? 2 * j : j, other = INTERLEAVED ? 2 * j + 1 : j + pairs;
    const float a = head[at], b = head[other], cosine = turn[2 * j], sine = turn[2 * j + 1];
    head[at] = fma(a, cosine, -(b * sine));
    head[other] = fma(a, sine, b * cosine);
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  for (int i = lane; i < (HAS_NORMS ? HEAD_DIM : rot_dim); i += 64) x[i] = head[i];
  if (!is_key) return;
  const int kv_head = h - heads;
  const int segment = segment_of(s, PTR(const int, begins), segments, first_token);
  const Cell cell = cell_of(position, kv_head, segment, PTR(const int, pages), PTR(const int, paths), depth, pages_each, page_count);
  __global const float *v = PTR(const float, v) + s * v_stride + (size_t)kv_head * head_dim_v;
  for (int i = lane; i < HEAD_DIM; i += 64) STORE(head[i], key_index(cell, HEAD_DIM, i), PTR(ELEMENT, cache_k));
  for (int i = lane; i < head_dim_v; i += 64) STORE(v[i], value_index(cell, head_dim_v, i), PTR(ELEMENT, cache_v));
}
