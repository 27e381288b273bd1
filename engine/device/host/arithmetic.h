// The two ways in which the host computes an operator: the reference and the numeric contract.
#pragma once

#include <functional>
#include <vector>

#include "engine/device/host/loops.h"
#include "engine/device/host/workers.h"
#include "engine/device/operator.h"

namespace tandem::host {

// Computes an operator by simple loops with sums in double precision. This is the reference for every device. Each
// result is rounded to f32 once.
void run_reference(const Operator& op);

// Computes an operator by the numeric contract (docs/numbers.md), with the given loops.
void run_contract(const Operator& op, const HostLoops& loops, Workers& workers);

bool fuses_multiply_add();  // whether an fma on this machine rounds once

// Operators that both ways compute with the same code, because they only move or compare values and have no rounding to
// choose. All are in exact.cpp.
void run_embed(const Embed& op);
void run_kv_append(const KvAppend& op, void (*to_halves)(const float* from, uint16_t* to, int64_t count));
void run_argmax(const ArgMax& op);
void run_top_k(const TopK& op);
void run_add(const Add& op);
void run_bias(const Bias& op);
void run_expert_scale(const Scale& op);  // of factors of experts
void run_expert_lists(const ExpertLists& op);
void run_copy(const Copy& op);
void run_expert_fetch(const ExpertFetch& op);
void run_expert_decide(const ExpertDecide& op);
size_t run_expert_move(const ExpertMove& op);  // returns the bytes that were copied
// behind_piece: called behind each piece with its bytes, if there is any function.
void run_expert_prefetch(const ExpertPrefetch& op, const std::function<void(size_t bytes)>& behind_piece);
void run_expert_sides(const ExpertSides& op);
void run_expert_slots(const ExpertSlots& op);
void run_gather_rows(const GatherRows& op);

// The `count` choices s * k + i, sorted by expert. The choices of expert e are choices[begins[e]] to choices[begins[e +
// 1] - 1], ascending. Without ids, choice c belongs to expert c % E. Error when an id names no expert; with
// `some_elsewhere` it may be kElsewhere, and the choice is left out.
struct ChoicesByExpert {
  std::vector<int64_t> begins, choices;
};
ChoicesByExpert choices_by_expert(const Operand& ids, int64_t count, int64_t E, bool some_elsewhere = false);

// One overload for each operator, for std::visit.
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
// Error unless every position is in [0, limit). prepare() cannot check positions, because they are data.
void check_positions(const Operand& positions, int64_t S, int64_t limit, const char* of);
// Error unless every position lies in the cache. The pages of all positions that its token may see must lie there too.
void check_places(const Operand& positions, const Segments& segments, const KvCache& cache, int64_t S);

}  // namespace tandem::host
