#include "engine/plan/partition/attention_cut.h"

#include <algorithm>

#include "sync/error.h"

namespace tandem {
namespace {

// The least number of shares in [0, all] with which the second device ends last, found by bisection. A part takes
// longer with more shares, so both devices end at about the same time there.
int64_t crossing(int64_t all, const std::function<bool(int64_t)>& second_ends_last) {
  int64_t begin = 0, end = all;
  while (begin < end) {
    const int64_t middle = (begin + end) / 2;
    second_ends_last(middle) ? end = middle : begin = middle + 1;
  }
  return begin;
}

}  // namespace

// Heads in order: [0, first_end) on the first device, one shared head or none, and [second_begin, heads) on the second.
AttentionParts attention_parts(const Operator& op, int64_t shares_of_second) {
  const auto& attention = std::get<Attention>(op.body);
  const int64_t heads = attention.cache.kv_heads, share = shares_of_second % kAttentionShares;
  const int64_t second_begin = heads - shares_of_second / kAttentionShares;
  TANDEM_CHECK(0 <= shares_of_second && second_begin >= 0, op.name + ": shares of an attention");
  const int64_t first_end = second_begin - (share > 0 ? 1 : 0);
  AttentionParts parts;
  if (first_end > 0) parts.first.push_back(with_body(op, slice_heads(attention, 0, first_end)));
  if (share > 0) {
    const Attention shared = slice_heads(attention, first_end, second_begin);
    parts.second.push_back(with_body(op, slice_splits(shared, kAttentionShares - share, kAttentionShares)));
    parts.first.push_back(with_body(op, slice_splits(shared, 0, kAttentionShares - share)));
    parts.closing.push_back(with_body(op, merge_of(shared)));
  }
  if (second_begin < heads) parts.second.push_back(with_body(op, slice_heads(attention, second_begin, heads)));
  return parts;
}

// Searches the number of shares with which both sides end together. Then compares few candidates by their whole time:
// that number, its neighbour below, the whole heads around it, and no sharing.
int64_t best_attention_shares(const Operator& op, const SharingCosts& costs) {
  const auto& attention = std::get<Attention>(op.body);
  const int64_t step = attention.scratch ? 1 : kAttentionShares;
  const auto sum = [&](bool second, const std::vector<Operator>& parts) {
    double seconds = 0;
    for (const Operator& part : parts) seconds += costs.seconds(second, part);
    return seconds;
  };
  // Waits that the whole attention does not have: the second device waits for the keys, and the first one for the
  // second's results. A merge waits once more.
  const auto seconds = [&](int64_t shares) {
    const AttentionParts parts = attention_parts(op, shares);
    const double waits = parts.second.empty() ? 0 : parts.closing.empty() ? 2 : 3;
    return std::max(sum(false, parts.first), sum(true, parts.second)) + sum(false, parts.closing) +
           waits * costs.sync_seconds;
  };
  const int64_t all = attention.cache.kv_heads * kAttentionShares;
  const int64_t meet = crossing(all / step,
                                [&](int64_t steps) {
                                  const AttentionParts parts = attention_parts(op, steps * step);
                                  return sum(true, parts.second) >= sum(false, parts.first);
                                }) *
                       step;
  // Whole heads near that number save the merge.
  const int64_t whole = meet / kAttentionShares * kAttentionShares;
  int64_t best = 0;
  double least = costs.seconds(false, op);
  for (const int64_t shares : {meet - step, meet, whole, whole + kAttentionShares}) {
    if (shares <= 0 || shares > all) continue;
    if (const double one = seconds(shares); one < least) best = shares, least = one;
  }
  return best;
}

}  // namespace tandem
