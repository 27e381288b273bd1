// Operators: plain values with resolved shapes. A slice of one is one, which is all that row- and sequence-cutting
// need.
//
// Conventions
//   Activations are f32, row-major [S, width] with a stride in elements between rows; S tokens. Ids and positions are
//   int32. `round_f16`: every value written is rounded to f16 (nearest even) and stored as f32; that is how --act f16
//   works: the producer of a matmul's input rounds it, so that every device multiplies the same numbers. With --act i8
//   a matmul makes 8-bit codes of its f32 input itself, a function of the row alone (`act_i8`). Bit rules
//   (docs/numbers.md): for each output element the order of operations depends on nothing but the element's own inputs:
//   not on S, not on the slice, not on the number of work-items. Offsets of Operands are multiples of 4 bytes; weights'
//   and caches' are multiples of 64.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "engine/device/operators/add.h"
#include "engine/device/operators/argmax.h"
#include "engine/device/operators/attention.h"
#include "engine/device/operators/bias.h"
#include "engine/device/operators/copy.h"
#include "engine/device/operators/embed.h"
#include "engine/device/operators/expert_lists.h"
#include "engine/device/operators/expert_slots.h"
#include "engine/device/operators/expert_sum.h"
#include "engine/device/operators/gather_rows.h"
#include "engine/device/operators/glu.h"
#include "engine/device/operators/grouped_matmul.h"
#include "engine/device/operators/kv_append.h"
#include "engine/device/operators/matmul.h"
#include "engine/device/operators/region.h"
#include "engine/device/operators/rms_norm.h"
#include "engine/device/operators/rope.h"
#include "engine/device/operators/route.h"
#include "engine/device/operators/scale.h"
#include "engine/device/operators/softmax.h"
#include "engine/device/operators/top_k.h"

namespace tandem {

using OperatorBody =
    std::variant<MatMul, Embed, RmsNorm, Rope, KvAppend, Attention, Glu, Add, Bias, Scale, Softmax, ArgMax, TopK, Route,
                 ExpertLists, ExpertSlots, GatherRows, GroupedMatMul, ExpertSum, Copy>;

struct Operator {
  std::string name;  // "blk.3.attn_qkv": for timelines and errors
  OperatorBody body;
  int64_t layer = -1;  // of the model that it belongs to; -1: none, as the embedding and the output
  bool operator==(const Operator&) const = default;
};

const char* kind_name(const Operator& op);  // "matmul", "rms_norm", ...
int64_t tokens_of(const Operator& op);      // S

// What the operator asks of a device; the first of it that is not `known`.
Features features_of(const Operator& op);
std::optional<Feature> missing_feature(const Operator& op, Features known);

// Another body in the place of this one's: a slice, or a part.
Operator with_body(const Operator& op, OperatorBody body);

// True when they differ in nothing but their names, their layers and where their operands lie: they take the same
// time.
bool same_shape(const Operator& a, const Operator& b);

// What an operator touches, from its list of views (engine/device/operators/view.h). Devices without shared memory copy
// these.
std::vector<Region> reads(const Operator& op);
std::vector<Region> writes(const Operator& op);
void for_each_region(const Operator& op, const std::function<void(const Region&, bool reads, bool writes)>& each);
void check_regions(const Operator& op);  // Error when an operand is absent or leaves its slot

// Tokens [begin, end) of the operator's S; what belongs to tokens advances. It computes the same bits as the whole.
// Error when the cut does not fit. Parts of an attention have no slices of tokens: what a share is depends on the last
// token. Slices of other kinds are beside their operators: slice_rows() of a matmul, slice_heads() of an attention.
Operator slice_tokens(const Operator& op, int64_t begin, int64_t end);

// Multiply and add count as two. Of an attention: the pairs of a token and a position that it sees.
struct Work {
  double flops = 0;
  double bytes = 0;  // everything read and written once
  // Of these bytes those of weights and of the cache, which no processor keeps in its caches from token to token.
  double weight_bytes = 0, cache_bytes = 0;
  // Numbers, for processors that store them in other widths.
  double weights = 0, activations = 0;
};
Work work(const Operator& op, Past past = {});

// Of an attention whose positions are in memory, where its first token stands now.
Past past_of(const Operator& op);

}  // namespace tandem
