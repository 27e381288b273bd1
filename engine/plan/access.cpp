#include "engine/plan/access.h"

#include <functional>
#include <variant>

namespace tandem {
namespace {

bool is_part_of(const KvCache& cache, const Operand& at) {
  return at.slot && ((at.slot == cache.k.slot && at.offset_bytes == cache.k.offset_bytes) ||
                     (at.slot == cache.v.slot && at.offset_bytes == cache.v.offset_bytes));
}

// Whether the shares of both can be compared, because they are shares of the splits of one attention.
bool share_splits(const Access& a, const Access& b) {
  return a.region.at == b.region.at && a.region.width_bytes == b.region.width_bytes &&
         a.tokens_begin == b.tokens_begin && a.tokens_end == b.tokens_end;
}

size_t end_of_tokens(const Operand& positions, int64_t S) {
  return positions.offset_bytes + static_cast<size_t>(S) * sizeof(int32_t);
}

// Narrows a region where the operator allows it. KvAppend touches only its own tokens' places in its cache. An
// attention reads its cache from the batch's first token up to its own last one. A part `splits` writes its own share
// of scratch.
Access access(const Operator& op, const Region& region) {
  if (const auto* append = std::get_if<KvAppend>(&op.body); append && is_part_of(append->cache, region.at)) {
    return {region, append->positions.slot, append->positions.offset_bytes,
            end_of_tokens(append->positions, append->S)};
  }
  const auto* attention = std::get_if<Attention>(&op.body);
  if (attention && is_part_of(attention->cache, region.at))
    return {region, attention->positions.slot, 0, end_of_tokens(attention->positions, attention->S)};
  if (attention && attention->part == AttentionPart::splits && region.at == attention->scratch)
    return {region,
            nullptr,
            attention->positions.offset_bytes,
            end_of_tokens(attention->positions, attention->S),
            attention->share_begin,
            attention->share_end};
  return {region};
}

}  // namespace

// A region that the operator reads and writes enters both lists.
void find_accesses(const Operator& op, std::vector<Access>& reads, std::vector<Access>& writes) {
  reads.clear(), writes.clear();
  const auto note = [&](const Region& region, bool reads_it, bool writes_it) {
    if (reads_it) reads.push_back(access(op, region));
    if (writes_it) writes.push_back(access(op, region));
  };
  for_each_region(op, std::ref(note));  // by reference, which needs no memory: plans have hundreds of operators
}

// Two accesses are independent if they touch other tokens of one batch, or other splits of one attention. Their regions
// may overlap then, because the bytes that they touch differ. Everything else counts as a meeting: a needless wait
// costs time, and a missing one would be a race.
bool meet(const Access& a, const Access& b) {
  const bool other_tokens =
      a.positions && a.positions == b.positions && (a.tokens_end <= b.tokens_begin || b.tokens_end <= a.tokens_begin);
  const bool other_splits = share_splits(a, b) && (a.share_end <= b.share_begin || b.share_end <= a.share_begin);
  return !other_tokens && !other_splits && overlaps(a.region, b.region);
}

// Tokens must be a part of the same batch's tokens. Splits must be a part of the same attention's splits, unless `by`
// has all splits.
bool is_covered(const Access& a, const Access& by) {
  const bool same_tokens =
      a.positions == by.positions && a.tokens_begin >= by.tokens_begin && a.tokens_end <= by.tokens_end;
  const bool all_splits = by.share_begin == 0 && by.share_end == kAttentionShares;
  const bool same_splits =
      all_splits || (share_splits(a, by) && a.share_begin >= by.share_begin && a.share_end <= by.share_end);
  return same_tokens && same_splits && covers(by.region, a.region);
}

}  // namespace tandem
