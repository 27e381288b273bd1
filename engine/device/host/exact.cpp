#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "engine/device/host/arithmetic.h"
#include "sync/error.h"

namespace tandem::host {

float round_to_f16(float value) { return half_to_float(float_to_half(value)); }

// Positions are data, so they are checked when the operator runs.
void check_positions(const Operand& positions, int64_t S, int64_t limit, const char* of) {
  for (int64_t s = 0; s < S; ++s) {
    const int32_t position = positions.as<int32_t>()[s];
    if (position < 0 || position >= limit)
      throw Error(std::string("a position is outside the ") + of,
                  "position " + std::to_string(position) + " of " + std::to_string(limit));
  }
}

// Checks each page of a segment once, since the positions of a segment ascend, and then each place of a tree.
void check_places(const Operand& positions, const Segments& segments, const KvCache& cache, int64_t S) {
  check_positions(positions, S, cache.capacity, "cache");
  const auto* at = positions.as<const int32_t>();
  int64_t checked = -1, checked_until = 0;  // positions of the current segment whose pages are checked
  for (int64_t s = 0; s < S; ++s) {
    const int64_t segment = segment_of(segments, s);
    if (segment != checked) checked = segment, checked_until = 0;
    for (; checked_until <= at[s]; checked_until += kCachePage) cell_of(segments, cache, segment, checked_until);
    const int64_t base = tree_begin(segments, segment);
    if (base < 0 || at[s] - base >= segments.depth)
      throw Error("a position is outside its tree", "position " + std::to_string(at[s]) + ", from " +
                                                        std::to_string(base) + " on " + std::to_string(segments.depth));
    for (int64_t p = base; p <= at[s]; ++p) cell_of(segments, cache, segment, p);
  }
}

// Token ids are data, so they are checked here and not in prepare().
void run_embed(const Embed& op) {
  const auto* ids = op.ids.as<int32_t>();
  for (int64_t s = 0; s < op.S; ++s) {
    if (ids[s] < 0 || ids[s] >= op.w.rows)
      throw Error("a token id is outside the vocabulary",
                  "id " + std::to_string(ids[s]) + " of " + std::to_string(op.w.rows) + " rows");
    float* y = op.y.as<float>() + s * op.H;
    decode_packed_row(op.w.format, op.w.data.as<std::byte>(), op.H, ids[s], y);
    if (op.scale != 1) std::transform(y, y + op.H, y, [&](float value) { return value * op.scale; });
  }
}

namespace {

void copy_floats(const float* from, float* to, int64_t count) { std::copy_n(from, count, to); }

// T: element type of the cache; convert() makes `count` elements from floats. A page keeps the keys of 16 neighbouring
// positions element by element, so a key's elements lie 16 apart. Values keep their rows.
template <typename T>
void append(const KvAppend& op, void (*convert)(const float* from, T* to, int64_t count)) {
  const KvCache& cache = op.cache;
  check_positions(op.positions, op.S, cache.capacity, "cache");
  auto *k = cache.k.as<T>(), *v = cache.v.as<T>();
  std::vector<T> key(static_cast<size_t>(cache.head_dim));
  for (int64_t s = 0; s < op.S; ++s) {
    const int64_t position = op.positions.as<int32_t>()[s];
    const int64_t cell = cell_of(op.segments, cache, segment_of(op.segments, s), position);
    for (int64_t h = 0; h < cache.kv_heads; ++h) {
      T* lane = k + cache.k_index(cell, h, 0);
      convert(op.k.as<float>() + s * op.k_stride + h * cache.head_dim, key.data(), cache.head_dim);
      for (int64_t i = 0; i < cache.head_dim; ++i) lane[i * 16] = key[static_cast<size_t>(i)];
      convert(op.v.as<float>() + s * op.v_stride + h * cache.head_dim_v, v + cache.v_index(cell, h, 0),
              cache.head_dim_v);
    }
  }
}

// NaN ranks as the lowest value.
float sort_key(float value) { return std::isnan(value) ? -std::numeric_limits<float>::infinity() : value; }

}  // namespace

void run_kv_append(const KvAppend& op, void (*to_halves)(const float* from, uint16_t* to, int64_t count)) {
  op.cache.type == KvType::f16 ? append(op, to_halves) : append(op, copy_floats);
}

// Only a larger value replaces the best one, so the first of equal values wins.
void run_argmax(const ArgMax& op) {
  for (int64_t s = 0; s < op.S; ++s) {
    const float* x = op.x.as<float>() + s * op.x_stride;
    int32_t best = 0;
    for (int64_t i = 1; i < op.width; ++i)
      if (sort_key(x[i]) > sort_key(x[best])) best = static_cast<int32_t>(i);
    op.ids.as<int32_t>()[s] = best;
  }
}

// A partial sort by falling value, of equal values by rising index.
void run_top_k(const TopK& op) {
  TANDEM_CHECK(op.k >= 1 && op.k <= op.width, "top-k of a row");
  std::vector<int32_t> order(static_cast<size_t>(op.width));
  for (int64_t s = 0; s < op.S; ++s) {
    const float* x = op.x.as<float>() + s * op.x_stride;
    for (int64_t i = 0; i < op.width; ++i) order[i] = static_cast<int32_t>(i);
    std::partial_sort(order.begin(), order.begin() + op.k, order.end(), [x](int32_t a, int32_t b) {
      const float left = sort_key(x[a]), right = sort_key(x[b]);
      return left > right || (left == right && a < b);
    });
    for (int64_t i = 0; i < op.k; ++i) {
      op.ids.as<int32_t>()[s * op.k + i] = order[i];
      op.values.as<float>()[s * op.k + i] = x[order[i]];
    }
  }
}

void run_add(const Add& op) {
  for (int64_t s = 0; s < op.S; ++s)
    for (int64_t i = 0; i < op.width; ++i)
      op.x.as<float>()[s * op.x_stride + i] += op.y.as<float>()[s * op.y_stride + i];
}

void run_bias(const Bias& op) {
  for (int64_t row = 0; row < op.S * op.rows; ++row) {
    if (op.chosen && op.places && op.places.as<const int32_t>()[row] == kElsewhere) continue;
    const float* bias = op.bias.as<float>() + (op.chosen ? op.ids.as<const int32_t>()[row] * op.width : 0);
    for (int64_t i = 0; i < op.width; ++i) op.x.as<float>()[row * op.x_stride + i] += bias[i];
  }
}

void run_expert_scale(const Scale& op) {
  TANDEM_CHECK(op.chosen && op.cap == 0, "a cap beside factors of experts");
  for (int64_t row = 0; row < op.S * op.rows; ++row) {
    if (op.places && op.places.as<const int32_t>()[row] == kElsewhere) continue;
    const float factor = op.factors.as<float>()[op.ids.as<const int32_t>()[row]];
    for (int64_t i = 0; i < op.width; ++i) op.x.as<float>()[row * op.x_stride + i] *= factor;
  }
}

// A counting sort: the number of choices of each expert, the begins as their running sum, then each choice to
// its place. Without ids every token has a choice for each matrix, in their order.
ChoicesByExpert choices_by_expert(const Operand& ids, int64_t count, int64_t E, bool some_elsewhere) {
  const auto expert_of = [&](int64_t c) { return ids ? ids.as<const int32_t>()[c] : c % E; };
  const auto is_elsewhere = [&](int64_t c) { return some_elsewhere && expert_of(c) == kElsewhere; };
  ChoicesByExpert by{std::vector<int64_t>(static_cast<size_t>(E + 1)),
                     std::vector<int64_t>(static_cast<size_t>(count))};
  for (int64_t c = 0; c < count; ++c) {
    if (is_elsewhere(c)) continue;
    const int64_t expert = expert_of(c);
    if (expert < 0 || expert >= E)
      throw Error("a token goes to an expert that is not there",
                  "expert " + std::to_string(expert) + " of " + std::to_string(E));
    ++by.begins[expert + 1];
  }
  std::partial_sum(by.begins.begin(), by.begins.end(), by.begins.begin());
  std::vector<int64_t> next(by.begins.begin(), by.begins.end() - 1);
  for (int64_t c = 0; c < count; ++c)
    if (!is_elsewhere(c)) by.choices[next[expert_of(c)]++] = c;
  return by;
}

namespace {

// Writes the lists of experts one by one (engine/device/operators/expert_lists.h), in ascending order.
class ListWriter {
 public:
  ListWriter(const Operand& lists, int64_t E)
      : lists_(lists.as<int32_t>()),
        begins_(lists_ + expert_list_begins(E)),
        choices_(lists_ + expert_list_choices(E)) {}

  void add(int64_t expert, std::span<const int64_t> choices) {
    if (choices.empty()) return;
    lists_[1 + active_] = static_cast<int32_t>(expert);
    begins_[active_++] = listed_;
    for (const int64_t choice : choices) choices_[listed_++] = static_cast<int32_t>(choice);
  }
  void finish() const {
    lists_[0] = active_;
    begins_[active_] = listed_;
  }

 private:
  int32_t *lists_, *begins_, *choices_;
  int32_t active_ = 0, listed_ = 0;
};

std::span<const int64_t> of_expert(const ChoicesByExpert& by, int64_t e) {
  return std::span(by.choices).subspan(by.begins[e], by.begins[e + 1] - by.begins[e]);
}

// Lists all choices, by expert.
void write_lists(const ChoicesByExpert& by, int64_t E, const Operand& to) {
  ListWriter lists(to, E);
  for (int64_t e = 0; e < E; ++e) lists.add(e, of_expert(by, e));
  lists.finish();
}

// The squared length of each token's row. It ranks tokens in the same order as the length.
std::vector<double> squared_lengths(const ExpertSlots& op) {
  std::vector<double> sums(op.x ? op.S : 0, 0.0);
  for (size_t s = 0; s < sums.size(); ++s) {
    const float* row = op.x.as<float>() + static_cast<int64_t>(s) * op.x_stride;
    for (int64_t i = 0; i < op.width; ++i) sums[s] += static_cast<double>(row[i]) * row[i];
  }
  return sums;
}

}  // namespace

void run_expert_lists(const ExpertLists& op) {
  write_lists(choices_by_expert(op.ids, op.S * op.k, op.E), op.E, op.lists);
}

// The source fills the slots and writes the places. Lists count slots like experts.
void run_expert_fetch(const ExpertFetch& op) {
  const auto count = static_cast<size_t>(op.S * op.k);
  op.source->fetch(
      {op.layer, op.wave, op.k, {op.ids.as<const int32_t>(), count}, {op.weights.as<const float>(), count}},
      {op.places.as<int32_t>(), count});
  if (op.lists) write_lists(choices_by_expert(op.places, op.S * op.k, op.slots, true), op.slots, op.lists);
}

// The lanes write who computes each choice. The GPU's choices are listed by slot, and those of each turn by place.
void run_expert_decide(const ExpertDecide& op) {
  const LaneLayout at = op.layout();
  const auto choices = static_cast<size_t>(at.choices());
  const auto words = [&](int64_t offset) { return op.tables.advanced(static_cast<size_t>(offset) * sizeof(int32_t)); };
  const auto table = [&](int64_t offset, size_t count) { return std::span(words(offset).as<int32_t>(), count); };
  LaneTables tables;
  tables.in_slots = table(at.in_slots(), choices);
  tables.on_host = table(at.on_host(), choices);
  tables.row_of = table(at.row_of(), choices);
  const auto moves = static_cast<size_t>(move_table_words(op.sizes.places));
  for (int64_t t = 0; t < op.sizes.turns; ++t) {
    const auto i = static_cast<size_t>(t);
    tables.landed[i] = table(at.landed(t), choices);
    tables.copies[i] = table(at.copies(t), moves);
    tables.keepings[i] = table(at.keepings(t), moves);
  }
  if (op.sizes.inserts > 0)
    tables.inserts = table(at.inserts(), static_cast<size_t>(move_table_words(op.sizes.inserts)));
  op.lanes->decide({op.layer,
                    op.k,
                    {op.ids.as<const int32_t>(), choices},
                    {op.weights.as<const float>(), choices},
                    op.schedule,
                    op.keeps,
                    op.sizes},
                   tables);
  const auto list = [&](int64_t places, int64_t count, int64_t lists) {
    write_lists(choices_by_expert(words(places), at.choices(), count, true), count, words(lists));
  };
  list(at.in_slots(), op.sizes.slots, at.slot_lists());
  for (int64_t t = 0; t < op.sizes.turns; ++t) list(at.landed(t), op.sizes.places, at.landed_lists(t));
}

size_t run_expert_move(const ExpertMove& op) {
  const auto* table = op.table.as<const int32_t>();
  const int32_t n = table[0];
  TANDEM_CHECK(n >= 0 && n <= op.most, "a table of copies");
  for (int32_t i = 0; i < n; ++i) {
    const int32_t from = table[1 + 3 * i], to = table[2 + 3 * i], expert = table[3 + 3 * i];
    TANDEM_CHECK(from >= 0 && from < op.from_count && to >= 0 && to < op.to_count, "places of a copy");
    std::byte* const place = op.to.as<std::byte>() + static_cast<size_t>(to) * op.expert_bytes;
    std::byte* const back = op.keeper != nullptr ? op.keeper->take_back(op.layer, to) : nullptr;
    if (back != nullptr) std::memcpy(back, place, op.expert_bytes);
    std::memcpy(place, op.from.as<const std::byte>() + static_cast<size_t>(from) * op.expert_bytes, op.expert_bytes);
    op.to.slot->changed(op.to.offset_bytes + static_cast<size_t>(to) * op.expert_bytes, op.expert_bytes);
    if (op.keeper != nullptr) op.keeper->kept(op.layer, expert, to);
  }
  return static_cast<size_t>(n) * op.expert_bytes;
}

// An exception leaves the slot as an empty one.
void run_expert_prefetch(const ExpertPrefetch& op, const std::function<void(size_t bytes)>& behind_piece) {
  const auto scores = static_cast<size_t>((op.S - 1) * op.scores_stride + op.E);
  const GuessRequest guess{op.layer,         op.next,    op.k, op.S, {op.scores.as<const float>(), scores},
                           op.scores_stride, op.schedule};
  while (const auto copy = op.lanes->next_ahead(guess)) {
    const std::byte* from = op.from.as<const std::byte>() + static_cast<size_t>(copy->expert) * op.expert_bytes;
    std::byte* to = op.to.as<std::byte>() + static_cast<size_t>(copy->slot) * op.expert_bytes;
    size_t done = 0;
    while (done < op.expert_bytes && op.lanes->may_go_on(op.next)) {
      const size_t piece = std::min(kPrefetchPiece, op.expert_bytes - done);
      std::memcpy(to + done, from + done, piece);
      done += piece;
      if (behind_piece) behind_piece(piece);
    }
    const size_t offset = op.to.offset_bytes + static_cast<size_t>(copy->slot) * op.expert_bytes;
    if (done == op.expert_bytes) op.to.slot->changed(offset, done);
    op.lanes->copied_ahead(op.next, *copy, done, op.expert_bytes);
  }
}

// For each expert in turn: chooses which of its choices get a row, writes both tables, and lists the rest unless it
// is dropped.
void run_expert_slots(const ExpertSlots& op) {
  const ChoicesByExpert by = choices_by_expert(op.ids, op.S * op.k, op.E);
  const std::vector<double> lengths = squared_lengths(op);
  auto *choice_of = op.choice_of.as<int32_t>(), *row_of = op.row_of.as<int32_t>();
  // A row that no choice fills keeps -1. A choice that gets no row is dropped with x (N7), and computed
  // elsewhere without.
  std::fill_n(choice_of, op.rows, -1);
  std::fill_n(row_of, op.S * op.k, op.x ? kDropped : kElsewhere);
  ListWriter lists(op.lists, op.E);
  for (int64_t e = 0; e < op.E; ++e) {
    const auto [begin, capacity] = op.experts[e];
    const std::span<const int64_t> all = of_expert(by, e);
    const size_t placed = std::min(all.size(), static_cast<size_t>(capacity));
    std::vector<int64_t> kept(all.begin(), all.end());
    // N7; choices ascend with their tokens, so the stable sort puts the later of equal ones last.
    if (op.x && placed < kept.size()) {
      std::ranges::stable_sort(kept, [&](int64_t a, int64_t b) { return lengths[a / op.k] > lengths[b / op.k]; });
      std::sort(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(placed));
    }
    // The choices that were kept get the expert's rows in ascending order.
    for (size_t i = 0; i < placed; ++i) {
      choice_of[begin + static_cast<int64_t>(i)] = static_cast<int32_t>(kept[i]);
      row_of[kept[i]] = static_cast<int32_t>(begin + static_cast<int64_t>(i));
    }
    // With x, the other choices of an expert that has rows stay dropped.
    if (op.x && capacity > 0) continue;
    for (const int64_t choice : all.subspan(placed)) row_of[choice] = kElsewhere;
    lists.add(e, all.subspan(placed));
  }
  lists.finish();
}

// The rule sees loads alone. Each side then gets its choices twice: by token, and listed by expert.
void run_expert_sides(const ExpertSides& op) {
  const ChoicesByExpert by = choices_by_expert(op.ids, op.S * op.k, op.E);
  std::vector<int64_t> loads(static_cast<size_t>(op.E));
  for (int64_t e = 0; e < op.E; ++e) loads[static_cast<size_t>(e)] = std::ssize(of_expert(by, e));
  std::vector<int32_t> side_of(loads.size(), 0);
  op.divider->divide({op.layer, op.S, op.k, loads}, side_of);
  std::fill_n(op.row_of.as<int32_t>(), op.S * op.k, kElsewhere);
  for (int32_t side = 0; side < op.sides; ++side) {
    auto* ids = op.of_side.advanced(static_cast<size_t>(side) * op.side_ids_bytes).as<int32_t>();
    std::fill_n(ids, op.S * op.k, kElsewhere);
    ListWriter lists(op.lists.advanced(static_cast<size_t>(side) * op.side_lists_bytes), op.E);
    for (int64_t e = 0; e < op.E; ++e) {
      if (side_of[static_cast<size_t>(e)] != side) continue;
      lists.add(e, of_expert(by, e));
      for (const int64_t choice : of_expert(by, e)) {
        ids[choice] = static_cast<int32_t>(e);
        if (side > 0) op.row_of.as<int32_t>()[choice] = static_cast<int32_t>(choice);
      }
    }
    lists.finish();
  }
  for (size_t e = 0; e < loads.size(); ++e)
    if (loads[e] > 0 && (side_of[e] < 0 || side_of[e] >= op.sides))
      throw Error("an expert has no side", "expert " + std::to_string(e) + " of layer " + std::to_string(op.layer));
}

// Choice c belongs to token c / k, so its row of x is that of this token.
void run_gather_rows(const GatherRows& op) {
  for (int64_t r = 0; r < op.rows; ++r) {
    const int32_t choice = op.choice_of.as<int32_t>()[r];
    float* y = op.y.as<float>() + r * op.width;
    if (choice < 0)
      std::fill_n(y, op.width, 0.0f);
    else
      std::copy_n(op.x.as<float>() + choice / op.k * op.x_stride, op.width, y);
  }
}

void run_copy(const Copy& op) {
  for (int64_t s = 0; s < op.S; ++s)
    for (int64_t g = 0; g < op.groups; ++g) {
      const float* x = op.x.as<float>() + s * op.x_stride + g * op.x_group;
      float* y = op.y.as<float>() + s * op.y_stride + g * op.y_group;
      for (int64_t i = 0; i < op.width; ++i) y[i] = op.round_f16 ? round_to_f16(x[i]) : x[i];
    }
}

}  // namespace tandem::host
