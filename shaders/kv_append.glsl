// The arguments of kv_append_{simd,simt}.comp, and the elements that kv_store.glsl appends.
layout(local_size_x = LANES) in;
layout(constant_id = 0) const int KV_F16 = 1;
layout(constant_id = 1) const int TREES = 0;  // whether the batch has trees of drafts

BUFFER(0, uint, k);
BUFFER(1, uint, v);
BUFFER(2, int, positions);
BUFFER(3, int, begins);
BUFFER(4, int, pages);
BUFFER(5, int, paths);
BUFFER(6, uint, cache_k);
BUFFER(7, uint, cache_v);
layout(push_constant) uniform Args {
  uint k_offset, v_offset, positions_offset, begins_offset, pages_offset, paths_offset, cache_k_offset, cache_v_offset;
  int k_stride, v_stride, head_dim, head_dim_v, segments, first_token, depth, pages_each, page_count;
};

#define KEY(s, h, i) k[k_offset + (s) * uint(k_stride) + (h) * uint(head_dim) + (i)]
#define VALUE(s, h, i) v[v_offset + (s) * uint(v_stride) + (h) * uint(head_dim_v) + (i)]
