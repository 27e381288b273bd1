// Writes element i of a key and of a value of one token and KV head to the cache. Other shaders include this file after
// place.glsl; it is never built alone.
//
// The including file has the bindings begins, pages, paths, cache_k and cache_v, their offsets and the sizes of
// kv_append.glsl, and the constant KV_F16. KEY(s, h, i) and VALUE(s, h, i) are the words of elements.
//
// Two f16 elements share a word. In cache_k they are neighbouring positions, and other invocations of the launch may
// write the other one. In cache_v they are neighbouring elements, and with an odd head_dim_v also the ends of
// neighbouring positions.
// A word with two writers is written by two atomics, which clear and set the writer's half and leave the other half
// alone. So the order of the writers does not change the result.

// begins int32 [segments + 1]: segment i has the batch's tokens begins[i] .. begins[i + 1] - 1, and row i of the table
// of pages (engine/device/operators/segments.h). If there is one segment, it has all S tokens, and begins is not read.
// Token 0 of the launch is the batch's first_token.
// The segment of the launch's token s.
int segment_of(const int s) {
  int segment = 0;
  // trips <= TANDEM_MAX_SEGMENTS
  for (int i = 1; i < segments && begins[begins_offset + uint(i)] <= first_token + s; ++i) segment = i;
  return segment;
}

#define PAGE 256u  // kCachePage

uint half_of(const uint word) { return half_bits(uintBitsToFloat(word)); }

// Appends element i of KV head h of token s.
void append(const uint s, const uint h, const uint i) {
  const uint segment = uint(segment_of(int(s))), dim = uint(head_dim), dim_v = uint(head_dim_v);
  const uint of_text = uint(PLACE_OF(positions[positions_offset + s], paths_offset + segment * uint(1 + depth)));
  const uint page = h * uint(page_count) + uint(pages[pages_offset + segment * uint(pages_each) + of_text / PAGE]);
  const uint place = of_text % PAGE;
  if (i < dim) {
    const uint value = KEY(s, h, i);
    const uint at = ((page * (PAGE / 16u) + place / 16u) * dim + i) * 16u + place % 16u;
    if (KV_F16 != 0) {
      const uint shift = 16u * (at % 2u), word = cache_k_offset + at / 2u;
      atomicAnd(cache_k[word], 0xffff0000u >> shift);
      atomicOr(cache_k[word], half_of(value) << shift);
    } else {
      cache_k[cache_k_offset + at] = value;
    }
  }
  if (i < dim_v) {
    const uint value = VALUE(s, h, i), at = (page * PAGE + place) * dim_v + i;
    if (KV_F16 == 0) {
      cache_v[cache_v_offset + at] = value;
    } else if (dim_v % 2u == 0u) {
      if (i % 2u == 0u) cache_v[cache_v_offset + at / 2u] = half_of(value) | half_of(VALUE(s, h, i + 1u)) << 16u;
    } else {
      const uint shift = 16u * (at % 2u), word = cache_v_offset + at / 2u;
      atomicAnd(cache_v[word], 0xffff0000u >> shift);
      atomicOr(cache_v[word], half_of(value) << shift);
    }
  }
}
