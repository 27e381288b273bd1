// The two ways the host computes an operator.
#pragma once

#include <vector>

#include "engine/device/host/loops.h"
#include "engine/device/host/workers.h"
#include "engine/device/operator.h"

namespace tandem::host {

// Obvious loops with sums in double precision: the reference that every device is compared with. Each result is rounded
// to f32 once.
void run_reference(const Operator& op);

// The numeric contract (docs/numbers.md), with the given loops.
void run_contract(const Operator& op, const HostLoops& loops, Workers& workers);

// What both share, because it has no rounding to choose: moving values and comparing them. One file: exact.cpp.
void run_embed(const Embed& op);
void run_kv_append(const KvAppend& op, void (*to_halves)(const float* from, uint16_t* to, int64_t count));
void run_argmax(const ArgMax& op);
void run_top_k(const TopK& op);
void run_add(const Add& op);
void run_bias(const Bias& op);
void run_expert_lists(const ExpertLists& op);
void run_copy(const Copy& op);
void run_expert_slots(const ExpertSlots& op);
void run_gather_rows(const GatherRows& op);

// The choices s * k + i of `count` ones by their expert: those of expert e are choices[begins[e]] to
// choices[begins[e + 1] - 1], ascending. Without ids choice c is of expert c % E.
struct ChoicesByExpert {
  std::vector<int64_t> begins, choices;
};
ChoicesByExpert choices_by_expert(const Operand& ids, int64_t count, int64_t E);  // Error: an id that is no expert

// One overload per operator, for std::visit.
void reference(const MatMul& op);
void reference(const RmsNorm& op);
void reference(const Rope& op);
void reference(const Attention& op);
void reference(const Glu& op);
void reference(const Scale& op);
void reference(const Softmax& op);
void reference(const Route& op);
void reference(const GroupedMatMul& op);
void reference(const ExpertSum& op);

float round_to_f16(float value);
// Error unless every position is in [0, limit). They are data, so prepare() cannot know.
void check_positions(const Operand& positions, int64_t S, int64_t limit, const char* of);
// Error unless every position is in the cache, and so are the pages of all that its token may see.
void check_places(const Operand& positions, const Segments& segments, const KvCache& cache, int64_t S);

}  // namespace tandem::host
