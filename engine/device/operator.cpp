#include "engine/device/operator.h"

#include <algorithm>
#include <type_traits>

#include "sync/error.h"

namespace tandem {
namespace {

// Operators whose work depends on the positions before their first token.
template <typename Op>
concept LooksBack = requires(const Op& op, Past past) {
  op.flops(past);
};

template <typename Op>
// Only these operators need the past: it decides how many bytes their views move.
auto views_of(Op& op, Past past) {
  if constexpr (LooksBack<Op>)
    return Op::views(op, past);
  else
    return Op::views(op);
}

// Calls each(view) for every operand that the operator has.
template <typename AnyOperator, typename Each>
void visit_views(AnyOperator& op, Past past, const Each& each) {
  const auto all_of = [&](auto& body) {
    auto views = views_of(body, past);
    for (const auto& view : views) {
      if (view.is_there) each(view);
    }
  };
  std::visit(all_of, op.body);
}

double flops_of(const Operator& op, Past past) {
  const auto count = [past](const auto& body) {
    if constexpr (LooksBack<std::decay_t<decltype(body)>>)
      return body.flops(past);
    else
      return body.flops();
  };
  return std::visit(count, op.body);
}

// Use is a set of bits: `update` has those of a read and of a write.
bool includes(Use use, Use part) { return (static_cast<int>(use) & static_cast<int>(part)) != 0; }

Region region_of(const auto& view) {
  return {view.place->advanced(view.skip_bytes), view.rows, view.width_bytes, view.pitch_bytes};
}

// The regions whose use includes `use`; `update` counts as both a read and a write.
std::vector<Region> regions(const Operator& op, Use use) {
  std::vector<Region> all;
  visit_views(op, {}, [&](const auto& view) {
    if (includes(view.use, use)) all.push_back(region_of(view));
  });
  return all;
}

// Error when the region has no memory or ends behind its slot. Empty regions are always fine.
void check(const Operator& op, const Region& region) {
  if (region.rows == 0 || region.width_bytes == 0) return;
  const auto on = [&op] { return op.name + " (" + kind_name(op) + ")"; };
  if (!region.at) throw Error("an operand is absent", on(), "a shape-only model cannot run");
  const size_t end = end_of(region);
  if (end > region.at.slot->size_bytes())
    throw Error("an operand leaves its slot", on() + ", slot " + region.at.slot->label() + ": byte " +
                                                  std::to_string(end) + " of " +
                                                  std::to_string(region.at.slot->size_bytes()));
}

}  // namespace

const char* kind_name(const Operator& op) {
  return std::visit([](const auto& body) { return body.kind(); }, op.body);
}
int64_t tokens_of(const Operator& op) {
  return std::visit([](const auto& body) { return body.S; }, op.body);
}

Features features_of(const Operator& op) {
  return std::visit([](const auto& body) { return body.features(); }, op.body);
}

std::optional<Feature> missing_feature(const Operator& op, Features known) {
  return features_of(op).first_outside(known);
}

// An attention may be a slice of its pass. The place of its positions tells how many tokens of the pass are in front
// of it.
Past past_of(const Operator& op, const PassPositions& pass) {
  const auto* attention = std::get_if<Attention>(&op.body);
  if (attention == nullptr) return std::nullopt;
  const size_t before = (attention->positions.offset_bytes - pass.offset_bytes) / sizeof(int32_t);
  return pass.first + static_cast<int64_t>(before);
}

// Positions count from 0, so the first token's position is the number of positions before it.
Past past_in_memory(const Operator& op) {
  const auto* attention = std::get_if<Attention>(&op.body);
  if (attention == nullptr || !attention->positions || attention->S == 0) return std::nullopt;
  return attention->positions.as<const int32_t>()[0];
}

// Compares copies without names, layers, places and the first token of a segment.
bool same_shape(const Operator& a, const Operator& b) {
  if (features_of(a) != features_of(b)) return false;  // an absent operand shows as a feature
  const auto without_places = [](Operator op) {
    op.name.clear();
    op.layer = -1;
    visit_views(op, {}, [](const auto& view) { *view.place = {}; });
    const auto forget_first = [](auto& body) {
      if constexpr (requires { body.segments; }) body.segments.first_token = 0;
    };
    std::visit(forget_first, op.body);
    return op;
  };
  return without_places(a) == without_places(b);
}

std::vector<Region> reads(const Operator& op) { return regions(op, Use::read); }
std::vector<Region> writes(const Operator& op) { return regions(op, Use::write); }

void for_each_region(const Operator& op, const std::function<void(const Region&, bool reads, bool writes)>& each) {
  visit_views(op, {}, [&](const auto& view) {
    each(region_of(view), includes(view.use, Use::read), includes(view.use, Use::write));
  });
}

void check_regions(const Operator& op) {
  for_each_region(op, [&op](const Region& region, bool, bool) { check(op, region); });
}

// Adds up what every view says it moves, by the role of the data.
Work work(const Operator& op, Past past) {
  Work sum;
  sum.flops = flops_of(op, past);
  visit_views(op, past, [&](const auto& view) {
    sum.bytes += view.moved_bytes;
    if (view.role == Role::weights) sum.weight_bytes += view.moved_bytes, sum.weights += view.moved_values;
    if (view.role == Role::cache) sum.cache_bytes += view.moved_bytes;
    if (view.role == Role::activation) sum.activations += view.moved_values;
  });
  return sum;
}

Operator with_body(const Operator& op, OperatorBody body) { return {op.name, std::move(body), op.layer}; }

// Advances the place of every operand that belongs to tokens, then sets the new number of tokens. Several segments keep
// their tables, so the slice notes its first token in them.
Operator slice_tokens(const Operator& op, int64_t begin, int64_t end) {
  const int64_t S = tokens_of(op);
  if (const auto* attention = std::get_if<Attention>(&op.body))
    TANDEM_CHECK(attention->part == AttentionPart::whole, op.name + ": a part of an attention has no slice of tokens");
  if (begin < 0 || begin > end || end > S)
    throw Error("a token slice does not fit its operator", op.name + ": tokens " + std::to_string(begin) + ".." +
                                                               std::to_string(end) + " of " + std::to_string(S));
  Operator slice = op;
  // Operands that all tokens share, such as weights and tables, have no bytes of a token and stay.
  visit_views(slice, {}, [begin](const auto& view) {
    if (view.token_bytes > 0 && *view.place)
      *view.place = view.place->advanced(static_cast<size_t>(begin) * view.token_bytes);
  });
  const auto cut = [&](auto& body) {
    body.S = end - begin;
    if constexpr (requires { body.segments; })
      if (body.segments.count > 1) body.segments.first_token += begin;
  };
  std::visit(cut, slice.body);
  return slice;
}

}  // namespace tandem
