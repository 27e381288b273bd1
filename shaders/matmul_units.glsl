// The products of matmul_act8_simt.comp with many tokens, on matrix units (VK_KHR_cooperative_matrix). That shader includes
// this file; it is never built alone.
//
// Contract: as in matmul_act8_simt.comp. A unit multiplies UNIT_ROWS rows with UNIT_TOKENS tokens over UNIT_COLUMNS
//   columns. Its sums of bytes are whole numbers, so they are those of every other device. All else follows in their order.
// Layout: weights in pieces of rows (row_place.glsl), with one scale for 32 columns. Words of a row and of a token lie in
//   the order of act_i8.glsl, the same for both, so that each product has its own column.
// Work mapping: a group of 128 per 64 rows (dimension 0) and 64 tokens (dimension 1). Its subgroups cut that tile into
//   SUBGROUP_ROWS x SUBGROUP_TOKENS parts, and each part into matrices of sums. A stage is a tile of a run, 64 columns: the
//   group loads the next one into registers while it multiplies. Columns and tokens that are not there are zeros.
// Constants: UNIT_ROWS, UNIT_TOKENS, UNIT_COLUMNS (8, 16 or 32), SUBGROUPS of a group.
// _emulated: the same by plain arithmetic, for tests on drivers without matrix units. Units of 16 x 16 x 32.
// Limits: groups of 128. Shared memory: at most 26 KiB. K is a multiple of 32.
layout(constant_id = 22) const int UNIT_ROWS = 16;
layout(constant_id = 23) const int UNIT_TOKENS = 16;
layout(constant_id = 24) const int UNIT_COLUMNS = 32;
layout(constant_id = 25) const int SUBGROUPS = 4;
layout(set = 0, binding = 0, std430) readonly buffer pieces_block { uvec4 pieces[]; };
layout(set = 0, binding = 1, std430) readonly buffer act_block { uvec4 act[]; };  // a group of codes is three of these

layout(local_size_x = 128) in;

const int SUBGROUP_TOKENS = SUBGROUPS >= 4 ? 2 : 1;
const int SUBGROUP_ROWS = SUBGROUPS / SUBGROUP_TOKENS;
const int FM = 64 / SUBGROUP_ROWS / UNIT_ROWS;      // matrices of a part, along its rows
const int FN = 64 / SUBGROUP_TOKENS / UNIT_TOKENS;  // and along its tokens

#define STAGE_GROUPS 2u
// A matrix begins at a vector of 16 bytes. So the columns of a unit of 8 take half of a vector.
const uint VECTORS = UNIT_COLUMNS == 8 ? 4u : 2u;  // of a row and group in shared memory
const uint PITCH = VECTORS * STAGE_GROUPS + 1u;    // one more, so that rows lie in different banks
const int STEPS = 32 / UNIT_COLUMNS;               // of a group
const uint VECTORS_OF_STEP = VECTORS / uint(STEPS);

// A whole number of less than 2^22, added to these bits, is a float of 1.5 * 2^23 and that number. So sums need no
// conversion, which cards do at a quarter of the rate of additions.
#define SUM_BITS 0x4b400000
#define SUM_BASE 12582912.0

#ifdef EMULATED
// Invocations are taken 32 at a time. Each has 8 sums of a matrix of 16 x 16, and the codes stay in shared memory.
#define ELEMENTS 8
struct Sums { float e[ELEMENTS]; };
struct Whole { int e[ELEMENTS]; };
#define Weights uint
#define Tokens uint
#define COUNT(matrix) ELEMENTS
#define AT(matrix, i) matrix.e[i]
#define LANES 32u
#define LANE (gl_LocalInvocationID.x % LANES)
#define SUBGROUP (gl_LocalInvocationID.x / LANES)
#define ROW_OF(i) ((uint(i) * LANES + LANE) / 16u)
#define TOKEN_OF(i) (LANE % 16u)
#define EACH_SUM(DO, a, b, c) \
  DO(0, a, b, c) DO(1, a, b, c) DO(2, a, b, c) DO(3, a, b, c) DO(4, a, b, c) DO(5, a, b, c) DO(6, a, b, c) DO(7, a, b, c)
#define SET_OF_ROW(i, matrix, values, at) matrix.e[i] = values[(at) + ROW_OF(i)];
#define SET_OF_TOKEN(i, matrix, values, at) matrix.e[i] = values[(at) + TOKEN_OF(i)];
#define FOUR_WORDS(a, b) (DOT(a.x, b.x) + DOT(a.y, b.y) + DOT(a.z, b.z) + DOT(a.w, b.w))
#define ADD_PRODUCTS_OF(i, sums, a, b)                                                                         \
  sums.e[i] += FOUR_WORDS(weight_vectors[a + ROW_OF(i) * PITCH], token_vectors[b + TOKEN_OF(i) * PITCH]) +     \
               FOUR_WORDS(weight_vectors[a + ROW_OF(i) * PITCH + 1u], token_vectors[b + TOKEN_OF(i) * PITCH + 1u]);
#define CLEAR_SUM(i, matrix, none, unused) matrix.e[i] = 0.0;
#define ADD_SUM(i, total, run, none)                  \
  {                                                   \
    precise const float both = total.e[i] + run.e[i]; \
    total.e[i] = both;                                \
  }
#define PUT_SUM(i, matrix, at, none) results[(at) + TOKEN_OF(i) * 16u + ROW_OF(i)] = matrix.e[i];
#define LOAD_WEIGHTS(matrix, at) matrix = at;
#define LOAD_TOKENS(matrix, at) matrix = at;
#define OF_ROWS(matrix, values, at) EACH_SUM(SET_OF_ROW, matrix, values, at)
#define OF_TOKENS(matrix, values, at) EACH_SUM(SET_OF_TOKEN, matrix, values, at)
#define MULTIPLY(sums, a, b) EACH_SUM(ADD_PRODUCTS_OF, sums, a, b)
#define CLEAR(matrix) EACH_SUM(CLEAR_SUM, matrix, 0, 0)
#define ADD_SUMS(total, run) EACH_SUM(ADD_SUM, total, run, 0)
#define PUT_SUMS(matrix, at) EACH_SUM(PUT_SUM, matrix, at, 0)
#else
#define Weights coopmat<int8_t, gl_ScopeSubgroup, UNIT_ROWS, UNIT_COLUMNS, gl_MatrixUseA>
#define Tokens coopmat<int8_t, gl_ScopeSubgroup, UNIT_COLUMNS, UNIT_TOKENS, gl_MatrixUseB>
#define Sums coopmat<float, gl_ScopeSubgroup, UNIT_ROWS, UNIT_TOKENS, gl_MatrixUseAccumulator>
#define Whole coopmat<int, gl_ScopeSubgroup, UNIT_ROWS, UNIT_TOKENS, gl_MatrixUseAccumulator>
#define COUNT(matrix) matrix.length()
#define AT(matrix, i) matrix[i]
#define LANES gl_SubgroupSize
#define LANE gl_SubgroupInvocationID
#define SUBGROUP gl_SubgroupID
#define LOAD_WEIGHTS(matrix, at) coopMatLoad(matrix, weight_vectors, at, PITCH, gl_CooperativeMatrixLayoutRowMajor);
#define LOAD_TOKENS(matrix, at) coopMatLoad(matrix, token_vectors, at, PITCH, gl_CooperativeMatrixLayoutColumnMajor);
// Every column has these values of rows, or every row these values of tokens: the next one lies 0 elements behind.
#define OF_ROWS(matrix, values, at) coopMatLoad(matrix, values, at, 0u, gl_CooperativeMatrixLayoutColumnMajor);
#define OF_TOKENS(matrix, values, at) coopMatLoad(matrix, values, at, 0u, gl_CooperativeMatrixLayoutRowMajor);
#define MULTIPLY(sums, a, b) sums = coopMatMulAdd(a, b, sums);
#define CLEAR(matrix) matrix = Sums(0.0);
#define ADD_SUMS(total, run) total = total + run;
#define PUT_SUMS(matrix, at) coopMatStore(matrix, results, at, uint(UNIT_ROWS), gl_CooperativeMatrixLayoutColumnMajor);
#endif

shared uvec4 weight_vectors[64 * PITCH], token_vectors[64 * PITCH];
shared float row_scales[STAGE_GROUPS * 64], row_lows[STAGE_GROUPS * 64];
shared float token_scales[STAGE_GROUPS * 64], token_offsets[STAGE_GROUPS * 64];
shared int token_starts[STAGE_GROUPS * 64];
shared float results[SUBGROUPS * UNIT_ROWS * UNIT_TOKENS];  // one matrix of each subgroup

// Of a stage and an invocation: vectors of 16 bytes.
#define PIECES_OF_GROUP uint(BITS / 4)
#define WEIGHT_PIECES PIECES_OF_GROUP
#define TOKEN_PIECES 3u

// Puts 16 bytes of codes behind the row or token `at`: half `side` of group g.
#define PUT_CODES(vectors, at, g, side, codes)                                       \
  {                                                                                  \
    const uint to = (at) * PITCH + (g) * VECTORS;                                    \
    if (UNIT_COLUMNS == 8) {                                                         \
      vectors[to + (side) * 2u] = uvec4((codes).xy, 0u, 0u);                         \
      vectors[to + (side) * 2u + 1u] = uvec4((codes).zw, 0u, 0u);                    \
    } else {                                                                         \
      vectors[to + (side)] = codes;                                                  \
    }                                                                                \
  }

void main() {
  const uint id = gl_LocalInvocationID.x;
  const uint part_row = SUBGROUP % uint(SUBGROUP_ROWS) * uint(FM * UNIT_ROWS);
  const uint part_token = SUBGROUP / uint(SUBGROUP_ROWS) * uint(FN * UNIT_TOKENS);
  const uint first_row = uint(row_begin) + gl_WorkGroupID.x * 64u;
  const uint first_token = find_tokens(id);
  if (first_token >= END) return;  // the whole group returns
  const uint panel = PANELS + first_row / 64u * (panel_bytes / 4u);
  const uint run_tiles = run_tiles_of(uint(K)), tiles = uint(K) / 32u;
  Sums total[FM * FN];
  Sums acc[FM * FN];
  [[unroll]] for (int i = 0; i < FM * FN; ++i) {
    CLEAR(total[i])
    CLEAR(acc[i])
  }
  // The next stage, on its way. Invocation id has the scale of row id % 64 in group id / 64.
  uvec4 weights[2], tokens[TOKEN_PIECES];
  float scale = 0.0, low = 0.0;
  uint run = 0u;
  // trips <= TANDEM_MAX_K / 64 + 2   stages; the first one only loads
  for (uint stage = 0u; stage <= run_tiles; ++stage) {
    if (stage > 0u) {
      barrier();  // the last stage has been multiplied
      // trips <= 2   pieces of an invocation
      [[unroll]] for (uint i = 0u; i < WEIGHT_PIECES; ++i) {
        const uint o = id + i * 128u, r = o % 64u, side = o / 64u % PIECES_OF_GROUP, g = o / 64u / PIECES_OF_GROUP;
        if (BITS == 4) {
          const uvec2 even = words_of_codes(weights[i].x), odd = words_of_codes(weights[i].y);
          const uvec2 third = words_of_codes(weights[i].z), fourth = words_of_codes(weights[i].w);
          PUT_CODES(weight_vectors, r, g, 0u, uvec4(even, odd))
          PUT_CODES(weight_vectors, r, g, 1u, uvec4(third, fourth))
        } else {
          PUT_CODES(weight_vectors, r, g, side, weights[i])
        }
      }
      [[unroll]] for (uint i = 0u; i < TOKEN_PIECES; ++i) {
        const uint o = id + i * 128u, token = o / 6u, part = o % 6u, g = part / 3u;
        if (part % 3u < 2u) {
          PUT_CODES(token_vectors, token, g, part % 3u, tokens[i])
        } else {
          const int codes = int(tokens[i].y) + int(tokens[i].z);
          const float scale = uintBitsToFloat(tokens[i].x);
          precise const float offset = scale * float(codes);
          token_scales[g * 64u + token] = scale;
          token_offsets[g * 64u + token] = offset;
          token_starts[g * 64u + token] = SUM_BITS - ZERO * codes;
        }
      }
      row_scales[id] = scale;
      row_lows[id] = low;
      barrier();
    }
    if (stage < run_tiles) {
      const uint next = stage * STAGE_GROUPS;
      // trips <= 2   pieces of an invocation
      [[unroll]] for (uint i = 0u; i < WEIGHT_PIECES; ++i) {
        const uint o = id + i * 128u, r = o % 64u, side = o / 64u % PIECES_OF_GROUP, g = o / 64u / PIECES_OF_GROUP;
        weights[i] = uvec4(0u);
        if (next + g < tiles) weights[i] = pieces[(tile_at(panel, next + g).quants + side * 256u) / 4u + r];
      }
      [[unroll]] for (uint i = 0u; i < TOKEN_PIECES; ++i) {
        const uint o = id + i * 128u, token = first_token + o / 6u, part = o % 6u;
        tokens[i] = uvec4(0u);
        if (token < END && next + part / 3u < tiles) tokens[i] = act[(OPERAND(token)) / 4u + next * 3u + part];
      }
      scale = low = 0.0;
      if (next + id / 64u < tiles) {
        const PackedTile tile = tile_at(panel, next + id / 64u);
        scale = scale_of(tile, id % 64u);
        if (MIN_KIND == 2) low = minimum_of(tile, id % 64u);
      }
    }
    if (stage == 0u) continue;
    const uint current = run_of(stage - 1u, run_tiles);
    if (current != run) {
      [[unroll]] for (int i = 0; i < FM * FN; ++i) {
        ADD_SUMS(total[i], acc[i])
        CLEAR(acc[i])
      }
    }
    run = current;
    // trips <= 2   groups of a stage. One that is not there has scales of 0, and adds 0.
    for (uint g = 0u; g < STAGE_GROUPS; ++g) {
      Tokens b[FN * STEPS];
      Sums of_x[FN];
      Sums offsets[FN];
      Whole starts[FN];
      [[unroll]] for (int n = 0; n < FN; ++n) {
        const uint token = part_token + uint(n * UNIT_TOKENS);
        [[unroll]] for (int step = 0; step < STEPS; ++step) {
          LOAD_TOKENS(b[n * STEPS + step], token * PITCH + g * VECTORS + uint(step) * VECTORS_OF_STEP)
        }
        OF_TOKENS(of_x[n], token_scales, g * 64u + token)
        OF_TOKENS(starts[n], token_starts, g * 64u + token)
        if (MIN_KIND == 2) {
          OF_TOKENS(offsets[n], token_offsets, g * 64u + token)
        }
      }
      [[unroll]] for (int m = 0; m < FM; ++m) {
        const uint row = part_row + uint(m * UNIT_ROWS);
        Weights a[STEPS];
        Sums of_row;
        Sums lows;
        [[unroll]] for (int step = 0; step < STEPS; ++step) {
          LOAD_WEIGHTS(a[step], row * PITCH + g * VECTORS + uint(step) * VECTORS_OF_STEP)
        }
        OF_ROWS(of_row, row_scales, g * 64u + row)
        if (MIN_KIND == 2) {
          OF_ROWS(lows, row_lows, g * 64u + row)
        }
        [[unroll]] for (int n = 0; n < FN; ++n) {
          Whole sums = starts[n];
          [[unroll]] for (int step = 0; step < STEPS; ++step) {
            MULTIPLY(sums, a[step], b[n * STEPS + step])
          }
          // trips <= 16   sums of an invocation
          [[unroll]] for (int i = 0; i < COUNT(sums); ++i) {
            precise const float sum = intBitsToFloat(AT(sums, i)) - SUM_BASE;
            precise const float both = AT(of_row, i) * AT(of_x[n], i);
            precise float value = fma(sum, both, AT(acc[m * FN + n], i));
            if (MIN_KIND == 2) value = fma(AT(lows, i), AT(offsets[n], i), value);
            AT(acc[m * FN + n], i) = value;
          }
        }
      }
    }
  }
  // Each subgroup puts one matrix at a time into shared memory, and its invocations store what is there.
  const uint place = SUBGROUP * uint(UNIT_ROWS * UNIT_TOKENS);
  [[unroll]] for (int i = 0; i < FM * FN; ++i) {
    ADD_SUMS(total[i], acc[i])
    barrier();  // the last matrix has been stored
    PUT_SUMS(total[i], place)
    barrier();
    const uint row = first_row + part_row + uint(i / FN * UNIT_ROWS);
    const uint token = first_token + part_token + uint(i % FN * UNIT_TOKENS);
    // trips <= 64   sums of an invocation
    for (uint at = LANE; at < uint(UNIT_ROWS * UNIT_TOKENS); at += LANES) {
      const uint own_row = row + at % uint(UNIT_ROWS), own_token = token + at / uint(UNIT_ROWS);
      if (own_token < END && own_row < uint(row_end)) y[RESULT(own_token) + own_row] = results[place + at];
    }
  }
}
