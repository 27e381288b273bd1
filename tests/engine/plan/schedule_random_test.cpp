// Thousands of random cuts of random operators over three devices. Two accesses to one byte must be ordered if one of
// them writes.
//
// The reference is brute force. It records every byte that an operator reads or writes, one bit each, and finds the
// order of steps by following waits. A schedule that lacks one wait for one byte fails here. A schedule with too many
// waits does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/plan/schedule.h"

namespace tandem {
namespace {

constexpr int64_t kTokens = 8, kWidth = 256, kFirstPosition = 3;
constexpr int kDevices = 3, kPlans = 3000, kOperatorsOfAPlan = 10;

using Words = std::bitset<kTokens * kWidth>;  // the words of one slot: f32 or int32
using Touched = std::map<const sync::Slot*, Words>;

struct Bytes {
  Touched read, written;
};

void add(Touched& to, const Region& region) {
  Words& words = to[region.at.slot];
  for (int64_t row = 0; row < region.rows; ++row) {
    const size_t begin = region.at.offset_bytes + static_cast<size_t>(row) * region.pitch_bytes;
    for (size_t byte = begin; byte < begin + region.width_bytes; byte += 4) words.set(byte / 4);
  }
}

// For a cache a unit stands for all values of one position and one KV head. An append writes the positions of its
// tokens. An attention reads every position up to that of its last token.
constexpr int64_t kHeads = 2, kHeadDim = 16, kCapacity = 64;
void add_positions(Touched& to, const KvCache& cache, size_t begin, size_t end) {
  const size_t first = cache.k.offset_bytes / cache.head_bytes(kHeadDim);
  for (size_t head = first; head < first + static_cast<size_t>(cache.kv_heads); ++head) {
    for (size_t position = begin; position < end; ++position) {
      to[cache.k.slot].set(head * kCapacity + position);
      to[cache.v.slot].set(head * kCapacity + position);
    }
  }
}

// A share of the splits touches an equal part of the scratch memory. The part's place does not matter.
Region share_of(Region scratch, const Attention& op) {
  const size_t unit = scratch.width_bytes / kAttentionShares;
  scratch.at = scratch.at.advanced(unit * static_cast<size_t>(op.share_begin));
  scratch.width_bytes = scratch.pitch_bytes = unit * static_cast<size_t>(op.share_end - op.share_begin);
  return scratch;
}

size_t position_of(const Operand& positions) { return kFirstPosition + positions.offset_bytes / sizeof(int32_t); }

Bytes bytes_of(const Operator& op) {
  Bytes bytes;
  std::set<const sync::Slot*> caches;
  const auto* append = std::get_if<KvAppend>(&op.body);
  const auto* attention = std::get_if<Attention>(&op.body);
  if (append) {
    const size_t first = position_of(append->positions);
    add_positions(bytes.written, append->cache, first, first + static_cast<size_t>(append->S));
    caches = {append->cache.k.slot, append->cache.v.slot};
  }
  if (attention && attention->part != AttentionPart::merge) {
    add_positions(bytes.read, attention->cache, 0,
                  position_of(attention->positions) + static_cast<size_t>(attention->S));
    caches = {attention->cache.k.slot, attention->cache.v.slot};
  }
  const auto counts = [&](const Region& region) {
    return region.at && region.at.slot->use() != sync::SlotUse::weights && !caches.contains(region.at.slot);
  };
  // A share of the splits does not read the scratch memory that it leaves unchanged, because no device copies
  // this memory.
  const auto touched = [&](const Region& region) {
    const bool is_share = attention && attention->part == AttentionPart::splits && region.at == attention->scratch;
    return is_share ? share_of(region, *attention) : region;
  };
  for (const Region& region : reads(op)) {
    if (counts(region)) add(bytes.read, touched(region));
  }
  for (const Region& region : writes(op)) {
    if (counts(region)) add(bytes.written, touched(region));
  }
  return bytes;
}

bool share(const Touched& a, const Touched& b) {
  return std::ranges::any_of(a, [&](const auto& one) {
    const auto other = b.find(one.first);
    return other != b.end() && (one.second & other->second).any();
  });
}

bool conflict(const Bytes& a, const Bytes& b) {
  return share(a.written, b.read) || share(a.written, b.written) || share(a.read, b.written);
}

// Whether two attentions belong to one pass through the cache: other heads, or other shares of the splits of the
// same heads.
bool are_parts_of_one(const Operator& one, const Operator& other) {
  const auto *a = std::get_if<Attention>(&one.body), *b = std::get_if<Attention>(&other.body);
  return a && b && a->cache.k.slot == b->cache.k.slot && a->positions == b->positions && a->S == b->S &&
         a->y.slot == b->y.slot;
}

// ended[i]: the steps that have ended when step i starts. They follow from the order on each device and from the waits.
std::vector<std::set<int>> ended_before(const Plan& plan) {
  std::vector<std::set<int>> ended(plan.steps.size());
  std::vector<int> last(plan.devices.size(), -1);
  for (int i = 0; i < static_cast<int>(plan.steps.size()); ++i) {
    const Step& step = plan.steps[i];
    const auto knows = [&](int other) {
      if (other < 0) return;
      ended[i].insert(other);
      ended[i].insert(ended[other].begin(), ended[other].end());
    };
    knows(last[step.device]);
    for (const int wait : step.waits) {
      EXPECT_TRUE(plan.steps[wait].signals) << "step " << i << " waits for a step that never signals";
      knows(wait);
    }
    last[step.device] = i;
  }
  return ended;
}

class RandomSchedule : public ::testing::Test {
 protected:
  RandomSchedule() {
    for (int i = 0; i < 3; ++i) matrices_.push_back(slot(kTokens * kWidth * 4));
    for (int64_t i = 0; i < 2; ++i) {
      KvCache cache = kv_cache(KvType::f16, kHeads, kHeadDim, kHeadDim, kCapacity);
      cache.k = slot(static_cast<int64_t>(cache.k_bytes()));
      cache.v = slot(static_cast<int64_t>(cache.v_bytes()));
      caches_.push_back(cache);
    }
    positions_ = slot(kTokens * 4);
    segments_.pages = slot(4);
    scratch_ = slot(static_cast<int64_t>(attention_scratch_bytes(kTokens, 2 * kHeads, kHeadDim, kCapacity)));
    weights_ = {&pool_.acquire(packed_bytes(kFormat, kWidth, kWidth), sync::SlotUse::weights, "w"), 0};
  }

  static constexpr StorageType kStorage = StorageType::f16;
  const PackedFormat kFormat = packed_format(kStorage);

  Operand slot(int64_t bytes) {
    return {&pool_.acquire(static_cast<size_t>(bytes), sync::SlotUse::activations, "m"), 0};
  }
  int64_t below(int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(random_); }
  Operand matrix() { return matrices_[static_cast<size_t>(below(3))]; }
  // A column of a matrix at which `width` values fit, in steps of 16.
  Operand columns(int64_t width) {
    return matrix().advanced(static_cast<size_t>(below((kWidth - width) / 16 + 1)) * 64);
  }

  OperatorBody random_body() {
    const int64_t width = 64 * (1 + below(3));
    switch (below(8)) {
      case 0:
        return Add{kTokens, width, columns(width), columns(width), kWidth, kWidth};
      case 1: {
        RmsNorm norm{kTokens, 1, width, columns(width), columns(width), kWidth, kWidth, {}, 0, weights_};
        if (below(2)) norm.add = columns(width), norm.add_stride = kWidth;
        return norm;
      }
      case 2:
        return Glu{kTokens, width, columns(width), columns(width), kWidth, kWidth, columns(width), kWidth};
      case 3:
        return Softmax{kTokens, width, columns(width), kWidth};
      case 4: {
        const KvCache& cache = caches_[static_cast<size_t>(below(2))];
        return KvAppend{kTokens, columns(32), columns(32), kWidth, kWidth, positions_, cache, segments_};
      }
      case 5: {
        const KvCache& cache = caches_[static_cast<size_t>(below(2))];
        return Attention{kTokens,    4,     columns(64), kWidth, columns(64), kWidth,
                         positions_, cache, segments_,   {1},    false,       scratch_};
      }
      default:
        return MatMul{kTokens,  kWidth,   0,      kWidth, {kFormat, kWidth, kWidth, weights_},
                      matrix(), matrix(), kWidth, kWidth};
    }
  }

  // A whole attention, or its parts by heads, or shares of the splits and their merge. Each head may also be cut
  // into shares.
  std::vector<Operator> random_attention_parts(const Operator& op) {
    std::vector<Attention> by_heads{std::get<Attention>(op.body)};
    if (below(2)) by_heads = {slice_heads(by_heads[0], 0, 1), slice_heads(by_heads[0], 1, kHeads)};
    std::vector<Operator> parts;
    for (const Attention& part : by_heads) {
      if (below(2)) {
        parts.push_back({op.name, part});
        continue;
      }
      const int64_t at = below(kAttentionShares + 1);
      parts.push_back({op.name, slice_splits(part, 0, at)});
      parts.push_back({op.name, slice_splits(part, at, kAttentionShares)});
      parts.push_back({op.name, merge_of(part)});
    }
    return parts;
  }

  // The whole operator or its parts: by rows, by tokens, or by rows or heads of some tokens. Some parts are left out.
  std::vector<Operator> random_parts(const Operator& op) {
    std::vector<Operator> by_tokens{op}, parts;
    if (below(2)) {
      const int64_t at = 1 + below(kTokens - 1);
      by_tokens = {slice_tokens(op, 0, at), slice_tokens(op, at, kTokens)};
    }
    for (const Operator& part : by_tokens) {
      const auto* matmul = std::get_if<MatMul>(&part.body);
      if (std::holds_alternative<Attention>(part.body)) {
        for (const Operator& each : random_attention_parts(part)) parts.push_back(each);
        continue;
      }
      if (!matmul || below(4) == 0) {
        parts.push_back(part);
        continue;
      }
      const int64_t at = 64 * (1 + below(kWidth / 64 - 1));
      parts.push_back({part.name, slice_rows(*matmul, 0, at)});
      parts.push_back({part.name, slice_rows(*matmul, at, kWidth)});
    }
    std::erase_if(parts, [&](const Operator&) { return below(8) == 0; });
    return parts;
  }

  std::vector<Placed> random_computation() {
    std::vector<Placed> placed;
    for (int i = 0; i < kOperatorsOfAPlan; ++i) {
      for (Operator& part : random_parts({"", random_body()})) {
        part.name = std::to_string(placed.size());
        placed.push_back({static_cast<int>(below(kDevices)), std::move(part)});
      }
    }
    return placed;
  }

  sync::Pool pool_;
  std::vector<Operand> matrices_;
  std::vector<KvCache> caches_;
  Operand positions_, weights_, scratch_;
  Segments segments_;
  std::mt19937 random_{20261122};
};

TEST_F(RandomSchedule, orders_whatever_two_devices_do_to_one_byte) {
  int64_t ordered = 0, free = 0, apart = 0;
  for (int n = 0; n < kPlans && !HasFailure(); ++n) {
    const std::vector<Placed> placed = random_computation();
    const Plan plan = schedule("random", {"a", "b", "c"}, placed);
    const std::vector<std::set<int>> ended = ended_before(plan);
    std::vector<int> step_of(placed.size(), -1);
    for (size_t step = 0; step < plan.steps.size(); ++step) {
      for (const Operator& op : plan.steps[step].operators) step_of[std::stoul(op.name)] = static_cast<int>(step);
    }
    std::vector<Bytes> bytes;
    for (const Placed& one : placed) bytes.push_back(bytes_of(one.op));
    for (size_t late = 0; late < placed.size(); ++late) {
      for (size_t early = 0; early < late; ++early) {
        if (placed[early].device == placed[late].device) continue;
        const bool is_ordered = ended[step_of[late]].contains(step_of[early]);
        if (!conflict(bytes[early], bytes[late])) {
          free += is_ordered ? 0 : 1;
          apart += !is_ordered && are_parts_of_one(placed[early].op, placed[late].op) ? 1 : 0;
          continue;
        }
        ++ordered;
        ASSERT_TRUE(is_ordered) << "plan " << n << ": operator " << late << " (" << kind_name(placed[late].op)
                                << ") does not wait for " << early << " (" << kind_name(placed[early].op) << ")";
      }
    }
  }
  EXPECT_GT(ordered, 100000) << "the computations hardly touch";
  EXPECT_GT(free, 10000) << "a schedule that orders everything proves nothing";
  EXPECT_GT(apart, 100) << "of the same attention, shares of the splits and heads on different devices";
}

}  // namespace
}  // namespace tandem
