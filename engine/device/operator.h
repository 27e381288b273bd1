// Operators: plain values with resolved shapes. A slice of an operator is an operator too, so cuts by rows and by
// tokens need nothing else.
//
// Conventions
//   Activations are f32, row-major [S, width] with a stride in elements between rows; S is the number of tokens. Ids
//   and positions are int32.
//   `round_f16`: every written value is rounded to f16 (nearest even) and stored as f32. This is how --act f16 works:
//   the producer of a matmul's input rounds it, so that every device multiplies the same numbers. With --act i8, a
//   matmul makes 8-bit codes of its f32 input itself. The codes are a function of the row alone (`act_i8`).
//   Bit rules (docs/numbers.md): the order of operations for an output element depends on the element's own inputs
//   only. It does not depend on S, on the slice or on the number of work-items.
//   Offsets of Operands are multiples of 4 bytes. Offsets of weights and caches are multiples of 64 bytes.
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
#include "engine/device/operators/expert_decide.h"
#include "engine/device/operators/expert_fetch.h"
#include "engine/device/operators/expert_lists.h"
#include "engine/device/operators/expert_move.h"
#include "engine/device/operators/expert_prefetch.h"
#include "engine/device/operators/expert_sides.h"
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

using OperatorBody = std::variant<MatMul, Embed, RmsNorm, Rope, KvAppend, Attention, Glu, Add, Bias, Scale, Softmax,
                                  ArgMax, TopK, Route, ExpertLists, ExpertFetch, ExpertDecide, ExpertMove,
                                  ExpertPrefetch, ExpertSides, ExpertSlots, GatherRows, GroupedMatMul, ExpertSum, Copy>;

struct Operator {
  std::string name;  // "blk.3.attn_qkv": for timelines and errors
  OperatorBody body;
  int64_t layer = -1;  // layer of the model; -1: none, e.g. the embedding and the output
  bool operator==(const Operator&) const = default;
};

const char* kind_name(const Operator& op);  // "matmul", "rms_norm", ...
int64_t tokens_of(const Operator& op);      // S

// The features that a device needs to run the operator, and the first of them that is not in `known`.
Features features_of(const Operator& op);
std::optional<Feature> missing_feature(const Operator& op, Features known);

// The same operator with another body, such as a slice or a part.
Operator with_body(const Operator& op, OperatorBody body);

// Whether both take the same time: they differ only in their names, their layers and the places of their operands.
bool same_shape(const Operator& a, const Operator& b);

// The memory that an operator touches, from its list of views (engine/device/operators/view.h). Devices without shared
// memory copy these regions.
std::vector<Region> reads(const Operator& op);
std::vector<Region> writes(const Operator& op);
void for_each_region(const Operator& op, const std::function<void(const Region&, bool reads, bool writes)>& each);
void check_regions(const Operator& op);  // Error when an operand is absent or leaves its slot

// Tokens [begin, end) of the operator's S; operands that belong to tokens advance. The slice computes the same bits as
// the whole. Error when the cut does not fit. Parts of an attention have no slices of tokens, because a part depends on
// the last token. Other slices have their own functions: slice_rows() of a matmul, slice_heads() of an attention.
Operator slice_tokens(const Operator& op, int64_t begin, int64_t end);

// The work of an operator. Multiply and add count as two. An attention counts the pairs of a token and a position that
// it sees.
struct Work {
  double flops = 0;
  double bytes = 0;  // everything that is read or written, counted once
  // The parts of `bytes` for weights and for the cache. No processor keeps these in its caches from token to token.
  double weight_bytes = 0, cache_bytes = 0;
  // Numbers of values, for processors that store them in other widths.
  double weights = 0, activations = 0;
};
Work work(const Operator& op, Past past = {});

// The positions of a pass's tokens are first, first + 1, and so on. Their buffer begins at this offset of its slot, as
// in Operand.
struct PassPositions {
  int64_t first = 0;
  size_t offset_bytes = 0;
};
// The position of the first token of an attention in such a pass; nothing for other operators. An attention of a part
// of the tokens begins later in the buffer.
Past past_of(const Operator& op, const PassPositions& pass);
// The position that is in the buffer now, for an attention whose positions are in memory; nothing for other operators.
Past past_in_memory(const Operator& op);

}  // namespace tandem
