// The inner loops of the numeric contract, compiled once for each instruction set and chosen when the program starts.
// Matmuls use the loops over packed weights (packed/loops) of the same instruction set.
//
// Contract: every variant gives the same bits (docs/numbers.md); the variants differ only in speed. Arguments are plain
// pointers. The loops files are compiled with instructions that the machine may lack. So they must not instantiate
// inline functions, which the linker could share with the rest of the program.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/device/operators/score_rule.h"
#include "engine/tensor/activation.h"
#include "engine/tensor/routing.h"
#include "packed/loops/instruction_set.h"

namespace tandem::host {

// RmsNorm of one token and group.
struct NormArgs {
  float* x;
  const float* add;  // may be null
  const float* weight;
  float* y;
  int64_t width;
  float weight_offset, eps;
  bool round_f16;
  float add_scale;
  bool centred;
  const float* bias;  // may be null
};

inline constexpr int kMaxAttendTile = 12;
inline constexpr int64_t kMostRouteGroups = 32;  // of experts
inline constexpr int64_t kMaxHeadDimV = 512;     // attend() keeps the values of a tile on the stack

// A tile of queries of one KV head: any tokens of one sequence, and any heads that read it. k and v point to the KV
// head in page 0 of the cache. Places from i * 256 on lie in page pages[i]. A position below tree_begin is its own
// place; position tree_begin + i lies at place path[i]. The queries of a tree's token form a tile alone.
struct AttendArgs {
  int queries;  // 1..HostLoops::attend_tile
  const float* q[kMaxAttendTile];
  int64_t first[kMaxAttendTile];  // the first position that each query sees
  int64_t last[kMaxAttendTile];   // the position of its token, which is the last one that it sees
  // In attend_splits(): record 0 of each query. A record holds a split's maximum, sum and values.
  float* y[kMaxAttendTile];
  const void *k, *v;
  const int32_t* pages;
  size_t k_page_bytes, v_page_bytes;  // distance from one page to the next
  bool f16;
  int64_t head_dim, head_dim_v;
  ScoreRule score;
  bool round_f16;
  const float* sinks[kMaxAttendTile];  // of the query's head; null: none
  bool has_slopes;
  float slopes[kMaxAttendTile];            // of the query's head; this and `own` are set if has_slopes
  int64_t own[kMaxAttendTile];             // the position of the query's token
  int64_t split_begin = 0, split_end = 0;  // only for attend_splits()
  int64_t tree_begin = INT64_MAX;          // beyond all positions: there is no tree
  const int32_t* path = nullptr;
  const void* next_keys = nullptr;  // the keys that are read after this tile, if they are new
};

// The merge of the splits of one query.
struct MergeArgs {
  const float* records;  // [splits, 2 + head_dim_v]
  int64_t begin, end;    // the splits in which the query sees positions
  int64_t head_dim_v;
  float* y;
  bool round_f16;
  const float* sink;  // may be null
};

// The rotation of the heads of one token. turns holds cos and sin of each pair: [rot_dim / 2][2].
struct RopeArgs {
  float* x;
  int64_t heads, head_dim;
  const float* turns;
  int64_t rot_dim;
  bool interleaved;
};

// A gated linear unit for one token, or its activation alone.
struct GluArgs {
  const float *gate, *up;  // up is null if there is no gate
  float* y;
  int64_t count;
  Activation activation;
  bool round_f16;
};

// The routing of one token: engine/device/operators/route.h.
struct RouteArgs {
  const float* x;  // [E]
  int64_t E, k;
  Gating gating;
  float near;  // for a sparse mixer: 2 * kSparseMixerJitter
  bool normalised;
  float scale;
  const float* bias;  // [E]; may be null
  int64_t groups, groups_used;
  float* keys;     // [E], room for what choices are made by; null: by the scores
  int32_t* ids;    // [k]
  float* weights;  // [k]
};

// The sum of the experts' results for one token: engine/device/operators/expert_sum.h.
struct ExpertSumArgs {
  const float* x;  // [k, width]
  const float* weights;
  int64_t k, width;
  const int32_t* row_of;  // [k]; may be null
  const float* slots;
  const float* shared;  // may be null
  const float* gate;    // may be null
  float* y;
};

// The result of a look at a row of logits.
struct LogitScan {
  float largest;   // minus infinity if no logit is above it
  int64_t first;   // the lowest index of it; 0 if no logit is above minus infinity
  bool is_finite;  // all of them
};

struct HostLoops {
  InstructionSet set;
  void (*rms_norm)(const NormArgs& args);
  int attend_tile;  // the most queries of attend(): as many as the registers can serve with one load of K and V
  int fast_tile;    // the number of queries with the fewest loads for each product
  void (*attend)(const AttendArgs& args);
  void (*attend_splits)(const AttendArgs& args);
  void (*merge_splits)(const MergeArgs& args);
  void (*rope)(const RopeArgs& args);
  void (*glu)(const GluArgs& args);
  void (*scale)(float* x, int64_t count, float factor, float cap);  // cap 0: no cap
  void (*softmax)(float* x, int64_t count);
  void (*route)(const RouteArgs& args);
  void (*expert_sum)(const ExpertSumArgs& args);
  void (*to_halves)(const float* from, uint16_t* to, int64_t count);  // rounds to nearest even
  LogitScan (*scan_logits)(const float* x, int64_t count);
  // The sum of exp((x - largest) * factor); no x is above `largest`, and factor > 0 is finite.
  double (*sum_of_exp)(const float* x, int64_t count, float largest, float factor);
};

const HostLoops& best_loops();                    // the fastest ones for this machine
const HostLoops* find_loops(InstructionSet set);  // nullptr: this machine cannot run them

extern const HostLoops kPortableLoops;
#if defined(__x86_64__)
extern const HostLoops kAvx2Loops, kAvx512Loops;
#endif

}  // namespace tandem::host
