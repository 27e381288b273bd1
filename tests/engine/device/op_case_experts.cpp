// Cases of a mixture of experts: routing, lists, products with a stack of matrices, sums of experts' results, copies.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <numeric>
#include <type_traits>

#include "engine/tensor/routing.h"
#include "sync/error.h"
#include "tests/engine/device/op_case.h"
#include "tests/engine/tensor/random_blocks.h"

namespace tandem::testing {
namespace {

Operand words(CaseMemory& memory, int64_t count, const std::string& label) {
  return memory.take(static_cast<size_t>(count) * sizeof(int32_t), sync::SlotUse::activations, false, label);
}

// Expects that no kernel writes the gaps between runs of `width` elements, which are `stride` apart.
void expect_gaps_untouched(BuiltCase& built, const Operand& y, int64_t rows, int64_t width, int64_t stride) {
  if (width == stride) return;
  built.outputs.push_back({"gap", y.advanced(static_cast<size_t>(width) * sizeof(float)), rows, stride - width, stride,
                           ElementType::i32, exact});
}

enum class Scores { spread, ties, some_nan };

struct RouteShape {
  int64_t S, E, k;
  Gating gating;
  bool normalised;
  float scale = 1;
  Scores scores = Scores::spread;
  bool biased = false;
  int64_t groups = 1, groups_used = 1;
};

std::vector<float> scores_of(const RouteShape& shape) {
  std::mt19937 random(static_cast<uint32_t>(shape.S * 100 + shape.E));
  auto x = random_floats(random, shape.S * shape.E, 4.0f);
  for (size_t i = 0; i < x.size(); ++i) {
    if (shape.scores == Scores::ties) x[i] = static_cast<float>(static_cast<int>(random() % 5) - 2);
    if (shape.scores == Scores::some_nan && i % 5 == 1) x[i] = std::nanf("");
  }
  return x;
}

BuiltCase build_route(CaseMemory& memory, const RouteShape& shape) {
  const auto& [S, E, k, gating, normalised, scale, scores, biased, groups, groups_used] = shape;
  Route op;
  op.S = S, op.E = E, op.k = k, op.gating = gating, op.normalised = normalised, op.scale = scale;
  op.biased = biased, op.groups = groups, op.groups_used = groups_used;
  op.x_stride = E + 3;
  op.x = memory.matrix(scores_of(shape), E, op.x_stride, "x");
  std::mt19937 random(static_cast<uint32_t>(E + k));
  if (biased) op.bias = memory.floats(random_floats(random, E, 0.5f), "bias");
  op.ids = words(memory, S * k, "ids");
  op.weights = memory.empty_matrix(S, k, k, "weights");
  // A difference of scores rounds once, at most 8 ulp/2 in the exponent. exp takes 7 roundings, on both sides of a
  // quotient. The sums take E and k roundings, quotients and products 4.
  const double relative = static_cast<double>(2 * (8 + 7) + E + k + 4) * kEpsilon;
  const auto tolerance = [=](int64_t, int64_t, double expected, bool) { return expected * relative + 1e-30; };
  const Output ids{"ids", op.ids, S, k, k, ElementType::i32, exact};
  // With a NaN in every row, all weights are the same NaN to the bit.
  if (scores == Scores::some_nan)
    return {{"route", op}, {ids, {"weights", op.weights, S, k, k, ElementType::i32, exact}}};
  return {{"route", op}, {ids, {"weights", op.weights, S, k, k, ElementType::f32, tolerance}}};
}

// k different experts for each token, in ascending order.
std::vector<int32_t> chosen(int64_t S, int64_t E, int64_t k, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> all(static_cast<size_t>(E)), ids;
  std::iota(all.begin(), all.end(), 0);
  for (int64_t s = 0; s < S; ++s) {
    std::ranges::shuffle(all, random);
    std::sort(all.begin(), all.begin() + k);
    ids.insert(ids.end(), all.begin(), all.begin() + k);
  }
  return ids;
}

// The same expert for all tokens.
std::vector<int32_t> all_to_one(int64_t S, int64_t E) {
  return std::vector<int32_t>(static_cast<size_t>(S), static_cast<int32_t>(E - 2));
}

struct Choices {
  int64_t S, E, k;
  bool to_one = false;
  std::vector<int32_t> ids() const { return to_one ? all_to_one(S, E) : chosen(S, E, k, static_cast<uint32_t>(S + E)); }
};

BuiltCase build_lists(CaseMemory& memory, const Choices& shape) {
  const auto& [S, E, k, to_one] = shape;
  auto ids = shape.ids();
  ExpertLists op;
  op.S = S, op.E = E, op.k = k;
  op.ids = memory.ids(ids, "ids");
  op.lists = words(memory, S * expert_list_words(E, k), "lists");
  std::ranges::sort(ids);
  const auto active = static_cast<int64_t>(std::unique(ids.begin(), ids.end()) - ids.begin());
  const auto part = [&](const char* name, int64_t begin, int64_t count) {
    return Output{
        name, op.lists.advanced(static_cast<size_t>(begin) * sizeof(int32_t)), 1, count, count, ElementType::i32,
        exact};
  };
  return {{"expert_lists", op},
          {part("active experts", 0, 1 + active), part("begins", expert_list_begins(E), active + 1),
           part("choices", expert_list_choices(E), S * k)}};
}

// The lists that ExpertLists makes.
Operand lists_of(CaseMemory& memory, const Choices& shape, const std::vector<int32_t>& ids) {
  const Operand at = words(memory, shape.S * expert_list_words(shape.E, shape.k), "lists");
  auto* lists = at.as<int32_t>();
  int32_t active = 0, placed = 0;
  for (int32_t e = 0; e < shape.E; ++e) {
    const int32_t begin = placed;
    for (size_t c = 0; c < ids.size(); ++c)
      if (ids[c] == e) lists[expert_list_choices(shape.E) + placed++] = static_cast<int32_t>(c);
    if (placed == begin) continue;
    lists[1 + active] = e;
    lists[expert_list_begins(shape.E) + active++] = begin;
  }
  lists[0] = active;
  lists[expert_list_begins(shape.E) + active] = placed;
  return at;
}

PackedStack random_stack(CaseMemory& memory, StorageType type, int64_t count, int64_t rows, int64_t columns,
                         uint32_t seed) {
  PackedStack stack{packed_format(type), count, rows, columns, {}};
  stack.data = memory.take(stack.bytes(), sync::SlotUse::weights, true, "weights");
  std::memset(stack.data.as<std::byte>(), 0, stack.bytes());
  for (int64_t i = 0; i < count; ++i)
    std::ranges::copy(random_packed(type, rows, columns, seed + static_cast<uint32_t>(i)),
                      stack.matrix(i).data.as<std::byte>());
  return stack;
}

struct GroupedShape {
  Choices choices;  // here k means slots
  int64_t N, K;
  bool routed = true, lists = false, shared_row = false, act_i8 = false;
};

// Builds products of each token's choices with matrices of a random stack, and derives their error bound when a test
// first uses it.
BuiltCase build_grouped(CaseMemory& memory, StorageType type, const GroupedShape& shape, uint32_t seed) {
  const auto& [choices, N, K, routed, lists, shared_row, act_i8] = shape;
  const auto& [S, E, slots, to_one] = choices;
  std::mt19937 random(seed);
  GroupedMatMul op;
  op.S = S, op.slots = slots, op.routed = routed, op.act_i8 = act_i8;
  op.w = random_stack(memory, type, E, N, K, seed);
  const auto ids = routed ? choices.ids() : std::vector<int32_t>();
  if (routed) op.ids = memory.ids(ids, "ids");
  if (lists) op.lists = lists_of(memory, choices, ids);
  const int64_t x_rows = shared_row ? 1 : slots;
  op.x_slot = shared_row ? 0 : K + 1;
  op.x_stride = x_rows * (K + 1) + 3;
  const auto x = random_floats(random, S * op.x_stride, 2.0f, true);
  op.x = memory.matrix(x, op.x_stride, op.x_stride, "x");
  op.y_slot = N + 5, op.y_stride = slots * op.y_slot;
  op.y = memory.empty_matrix(S * slots, op.y_slot, op.y_slot, "y");

  // The bound of a matmul (op_case_matmul.cpp): K roundings of partial sums, and one rounding of the decoding. No
  // partial sum is above sum |w| |x|.
  const auto magnitudes = when_asked([op, ids, x] {
    const int64_t N = op.w.rows, K = op.w.columns;
    std::vector<double> all(static_cast<size_t>(op.S * op.slots * N));
    std::vector<float> row(static_cast<size_t>(K));
    for (int64_t c = 0; c < op.S * op.slots; ++c) {
      const PackedMatrix matrix = op.w.matrix(op.routed ? ids[c] : c % op.slots);
      const float* from = x.data() + c / op.slots * op.x_stride + c % op.slots * op.x_slot;
      for (int64_t n = 0; n < N; ++n) {
        if (op.act_i8) {
          all[c * N + n] = act_i8_magnitude(act_i8_magnitudes(matrix, n), from);
          continue;
        }
        decode_packed_row(matrix.format, matrix.data.as<std::byte>(), K, n, row.data());
        for (int64_t k = 0; k < K; ++k) all[c * N + n] += std::fabs(static_cast<double>(row[k]) * from[k]);
      }
    }
    return all;
  });
  const auto tolerance = [=, N = N, K = K](int64_t c, int64_t n, double, bool) {
    return magnitudes()[c * N + n] * static_cast<double>(K + 1) * kEpsilon + 1e-30;
  };
  BuiltCase built{{"grouped_matmul", op}, {{"y", op.y, S * slots, N, op.y_slot, ElementType::f32, tolerance}}};
  expect_gaps_untouched(built, op.y, S * slots, N, op.y_slot);
  return built;
}

BuiltCase build_sum(CaseMemory& memory, int64_t S, int64_t k, int64_t width, bool shared, bool gate) {
  std::mt19937 random(static_cast<uint32_t>(S + k + width));
  ExpertSum op;
  op.S = S, op.k = k, op.width = width;
  op.x = memory.floats(random_floats(random, S * k * width, 3.0f), "x");
  op.weights = memory.floats(random_floats(random, S * k, 1.0f), "weights");
  if (shared) op.shared = memory.floats(random_floats(random, S * width, 3.0f), "shared");
  op.gate_stride = 4;
  if (gate) op.gate = memory.matrix(random_floats(random, S, 6.0f), 1, op.gate_stride, "gate");
  op.y = memory.empty_matrix(S, width, width, "y");
  // Each step rounds partial sums up to 3 (k + 1) at most twice. The gate is off by 14 roundings.
  const double bound = static_cast<double>(2 * k + 16) * kEpsilon * 3 * static_cast<double>(k + 1);
  const auto tolerance = [=](int64_t, int64_t, double, bool) { return bound; };
  return {{"expert_sum", op}, {{"y", op.y, S, width, width, ElementType::f32, tolerance}}};
}

// One wave of experts that move: the choices of the first half of the tokens are listed. The results of the others keep
// their values.
BuiltCase build_grouped_of_wave(CaseMemory& memory, StorageType type, const GroupedShape& shape, uint32_t seed) {
  BuiltCase built = build_grouped(memory, type, shape, seed);
  auto& op = std::get<GroupedMatMul>(built.op.body);
  std::vector<int32_t> places = shape.choices.ids();
  const int64_t listed = op.S / 2 * op.slots, all = op.S * op.slots;
  std::fill(places.begin() + listed, places.end(), kElsewhere);
  op.ids = memory.ids(places, "places");
  op.lists = lists_of(memory, shape.choices, places);
  op.listed_only = true;
  built.outputs.front().rows = listed;
  built.outputs.push_back({"elsewhere", op.y.advanced(static_cast<size_t>(listed * op.y_slot) * sizeof(float)),
                           all - listed, op.w.rows, op.y_slot, ElementType::i32, exact});
  return built;
}

// Experts with even numbers come in even waves, the others in odd ones, each into slot e / 2. A slot is filled with the
// number of its expert.
class HalfOfTheExperts : public ExpertSource {
 public:
  HalfOfTheExperts(std::byte* slots, size_t slot_bytes) : slots_(slots), slot_bytes_(slot_bytes) {}
  void fetch(const WaveRequest& request, std::span<int32_t> places) override {
    for (size_t i = 0; i < places.size(); ++i) {
      const int32_t e = request.ids[i];
      places[i] = e % 2 == request.wave % 2 ? e / 2 : kElsewhere;
      if (places[i] != kElsewhere) std::memset(slots_ + static_cast<size_t>(e / 2) * slot_bytes_, e, slot_bytes_);
    }
  }

 private:
  std::byte* slots_;
  size_t slot_bytes_;
};

// Expert e is computed by side e % sides.
class InTurn final : public ExpertDivider {
 public:
  explicit InTurn(int64_t sides) : sides_(sides) {}
  void divide(const DivideRequest&, std::span<int32_t> sides) override {
    for (size_t e = 0; e < sides.size(); ++e) sides[e] = static_cast<int32_t>(e % static_cast<size_t>(sides_));
  }

 private:
  const int64_t sides_;
};

BuiltCase build_sides(CaseMemory& memory, const Choices& shape, int64_t sides) {
  static std::deque<InTurn> dividers;  // operators borrow them
  const auto& [S, E, k, to_one] = shape;
  ExpertSides op;
  op.S = S, op.E = E, op.k = k, op.sides = sides;
  op.ids = memory.ids(shape.ids(), "ids");
  op.side_ids_bytes = static_cast<size_t>(S * k + 3) * sizeof(int32_t);
  op.side_lists_bytes = static_cast<size_t>(S * expert_list_words(E, k)) * sizeof(int32_t);
  op.of_side = words(memory, sides * (S * k + 3), "ids of sides");
  op.lists = words(memory, sides * S * expert_list_words(E, k), "lists of sides");
  op.row_of = words(memory, S * k, "row_of");
  op.divider = &dividers.emplace_back(sides);
  BuiltCase built{{"expert_sides", op}, {{"row_of", op.row_of, S, k, k, ElementType::i32, exact}}};
  for (int64_t side = 0; side < sides; ++side) {
    const auto at = static_cast<size_t>(side);
    built.outputs.push_back({"ids", op.of_side.advanced(at * op.side_ids_bytes), S, k, k, ElementType::i32, exact});
    // The first word counts the listed experts. Only that much of the lists' length is certain.
    built.outputs.push_back(
        {"listed experts", op.lists.advanced(at * op.side_lists_bytes), 1, 1, 1, ElementType::i32, exact});
  }
  return built;
}

// G2: the sum over some columns alone.
BuiltCase build_grouped_of_columns(CaseMemory& memory, StorageType type, const GroupedShape& shape, int64_t begin,
                                   int64_t end, uint32_t seed) {
  BuiltCase built = build_grouped(memory, type, shape, seed);
  auto& op = std::get<GroupedMatMul>(built.op.body);
  op = slice_columns(op, begin, end);
  return built;
}

BuiltCase build_fetch(CaseMemory& memory, const Choices& shape, int64_t wave) {
  static std::deque<HalfOfTheExperts> sources;  // operators borrow them
  const auto& [S, E, k, to_one] = shape;
  ExpertFetch op;
  op.S = S, op.E = E, op.k = k, op.wave = wave, op.slots = (E + 1) / 2, op.slot_bytes = 64;
  op.ids = memory.ids(shape.ids(), "ids");
  op.weights = memory.floats(std::vector<float>(static_cast<size_t>(S * k), 0.5F), "weights");
  op.places = words(memory, S * k, "places");
  op.lists = words(memory, S * expert_list_words(op.slots, k), "lists");
  const size_t bytes = static_cast<size_t>(op.slots) * op.slot_bytes;
  op.experts = memory.take(bytes, sync::SlotUse::activations, true, "experts");
  std::memset(op.experts.as<std::byte>(), 0, bytes);
  op.source = &sources.emplace_back(op.experts.as<std::byte>(), op.slot_bytes);
  const auto width = static_cast<int64_t>(bytes / sizeof(int32_t));
  return {{"expert_fetch", op},
          {{"places", op.places, S, k, k, ElementType::i32, exact},
           {"listed experts", op.lists, 1, 1, 1, ElementType::i32, exact},
           {"experts", op.experts, 1, width, width, ElementType::i32, exact}}};
}

// Experts with numbers divisible by three have slots, the next ones land in the turns, and the host has the others.
class ThirdsOfTheExperts : public ExpertLanes {
 public:
  void decide(const LaneRequest& request, const LaneTables& tables) override {
    for (size_t i = 0; i < request.ids.size(); ++i) {
      const int32_t e = request.ids[i];
      tables.in_slots[i] = e % 3 == 0 ? e / 3 : kElsewhere;
      tables.on_host[i] = e % 3 == 2 ? e : kElsewhere;
      tables.row_of[i] = e % 3 == 2 ? static_cast<int32_t>(i) : kElsewhere;
      for (int32_t t = 0; t < request.sizes.turns; ++t)
        tables.landed[static_cast<size_t>(t)][i] = e % 3 == 1 && e / 3 % request.sizes.turns == t ? e / 3 : kElsewhere;
    }
    for (size_t t = 0; t < static_cast<size_t>(request.sizes.turns); ++t)
      tables.copies[t][0] = tables.keepings[t][0] = static_cast<int32_t>(t);
  }
  void kept(int64_t, int32_t, int32_t) override {}
  std::optional<CopyAhead> next_ahead(const GuessRequest&) override { return std::nullopt; }
  bool may_go_on(int64_t) const override { return true; }
  void copied_ahead(int64_t, const CopyAhead&, size_t, size_t) override {}
};

// Copies two experts ahead, and stops the second one behind its first piece.
class OneCopyAndAPiece final : public ThirdsOfTheExperts {
 public:
  std::optional<CopyAhead> next_ahead(const GuessRequest& guess) override {
    TANDEM_CHECK(guess.next == 2 && guess.scores[1] == 4, "the guess of the case");
    begun_ = begun_ % 3 + 1, asked_ = 0;
    if (begun_ == 3) return std::nullopt;
    return begun_ == 1 ? CopyAhead{4, 1} : CopyAhead{2, 0};
  }
  bool may_go_on(int64_t) const override { return begun_ == 1 || asked_++ == 0; }
  void copied_ahead(int64_t, const CopyAhead& copy, size_t done, size_t bytes) override {
    TANDEM_CHECK(done == (copy.expert == 4 ? bytes : kPrefetchPiece), "bytes of a copy");
  }

 private:
  int begun_ = 0;
  mutable int asked_ = 0;
};

BuiltCase build_decide(CaseMemory& memory, const Choices& shape) {
  static ThirdsOfTheExperts lanes;
  const auto& [S, E, k, to_one] = shape;
  ExpertDecide op;
  op.S = S, op.E = E, op.k = k, op.layer = 1;
  op.sizes = {(E + 2) / 3, (E + 2) / 3, 2};
  op.ids = memory.ids(shape.ids(), "ids");
  op.weights = memory.floats(std::vector<float>(static_cast<size_t>(S * k), 0.5F), "weights");
  const int64_t words_of_all = op.layout().words();
  op.tables = words(memory, words_of_all, "tables");
  std::memset(op.tables.as<std::byte>(), 0, static_cast<size_t>(words_of_all) * sizeof(int32_t));
  op.lanes = &lanes;
  return {{"expert_decide", op}, {{"tables", op.tables, 1, words_of_all, words_of_all, ElementType::i32, exact}}};
}

// Two of `most` copies, into other places.
BuiltCase build_move(CaseMemory& memory, int64_t most) {
  ExpertMove op;
  op.S = 1, op.layer = 1, op.most = most, op.from_count = 5, op.to_count = 3, op.expert_bytes = 128;
  std::vector<int32_t> table(static_cast<size_t>(move_table_words(most)));
  table[0] = 2;
  std::ranges::copy(std::vector<int32_t>{4, 0, 4, 1, 2, 1}, table.begin() + 1);
  op.table = memory.ids(table, "table");
  op.from = memory.floats(std::vector<float>(5 * 32, 0.0F), "from");
  for (int32_t i = 0; i < 5 * 32; ++i) op.from.as<int32_t>()[i] = i;
  op.to = memory.take(3 * op.expert_bytes, sync::SlotUse::activations, true, "to");
  std::memset(op.to.as<std::byte>(), 0, 3 * op.expert_bytes);
  return {{"expert_move", op}, {{"to", op.to, 3, 32, 32, ElementType::i32, exact}}};
}

BuiltCase build_prefetch(CaseMemory& memory) {
  static OneCopyAndAPiece lanes;
  constexpr int64_t kWords = kPrefetchPiece / sizeof(int32_t) + 32;
  ExpertPrefetch op;
  op.S = 1, op.E = 5, op.k = 2, op.layer = 1, op.next = 2, op.slots = 3, op.scores_stride = 5;
  op.expert_bytes = kWords * sizeof(int32_t);
  op.scores = memory.floats({1, 4, 2, 0, 3}, "scores");
  op.decided = memory.ids({0}, "decided");
  op.from = memory.floats(std::vector<float>(static_cast<size_t>(5 * kWords), 0.0F), "from");
  for (int32_t i = 0; i < 5 * kWords; ++i) op.from.as<int32_t>()[i] = i;
  op.to = memory.take(3 * op.expert_bytes, sync::SlotUse::activations, true, "to");
  std::memset(op.to.as<std::byte>(), 0, 3 * op.expert_bytes);
  op.lanes = &lanes;
  return {{"expert_prefetch", op}, {{"to", op.to, 3, kWords, kWords, ElementType::i32, exact}}};
}

// Every other expert has rows. The rows of the last one come first, with gaps in between.
struct SlotShape {
  int64_t S, E, k, capacity;
  bool drops = false, to_one = false;

  std::vector<ExpertRows> rows() const {
    std::vector<ExpertRows> rows(static_cast<size_t>(E));
    int64_t begin = 0;
    for (int64_t e = E - 2; e >= 0; e -= 2, begin += capacity + 1) rows[e] = {begin, capacity};
    return rows;
  }
  int64_t count() const { return E / 2 * (capacity + 1); }
};

ExpertSlots slots_of(CaseMemory& memory, const SlotShape& shape) {
  const auto& [S, E, k, capacity, drops, to_one] = shape;
  ExpertSlots op;
  op.S = S, op.E = E, op.k = k, op.rows = shape.count(), op.experts = shape.rows();
  op.ids = memory.ids(Choices{S, E, k, to_one}.ids(), "ids");
  if (drops) {
    std::mt19937 random(static_cast<uint32_t>(S + E));
    op.width = 9, op.x_stride = 11;
    op.x = memory.matrix(random_floats(random, S * op.width, 2.0f), op.width, op.x_stride, "x");
  }
  op.choice_of = words(memory, op.rows, "choice_of");
  op.row_of = words(memory, S * k, "row_of");
  op.lists = words(memory, S * expert_list_words(E, k), "lists");
  return op;
}

BuiltCase build_slots(CaseMemory& memory, const SlotShape& shape) {
  const ExpertSlots op = slots_of(memory, shape);
  // The first word counts the listed experts. Only that much of the lists' length is certain.
  return {{"expert_slots", op},
          {{"choice_of", op.choice_of, 1, op.rows, op.rows, ElementType::i32, exact},
           {"row_of", op.row_of, op.S, op.k, op.k, ElementType::i32, exact},
           {"listed experts", op.lists, 1, 1, 1, ElementType::i32, exact}}};
}

BuiltCase build_gather(CaseMemory& memory, int64_t S, int64_t k, int64_t width) {
  std::mt19937 random(static_cast<uint32_t>(S + width));
  std::vector<int32_t> choices;
  for (int64_t r = 0; r < 2 * S; ++r) choices.push_back(static_cast<int32_t>(random() % (S * k + 1)) - 1);
  GatherRows op;
  op.S = S, op.k = k, op.rows = 2 * S, op.width = width, op.x_stride = width + 2;
  op.x = memory.matrix(random_floats(random, S * width, 3.0f), width, op.x_stride, "x");
  op.choice_of = memory.ids(choices, "choice_of");
  op.y = memory.empty_matrix(op.rows, width, width, "y");
  return {{"gather_rows", op}, {{"y", op.y, op.rows, width, width, ElementType::f32, exact}}};
}

// The sum covers choices that have a row, choices without a row, and dropped choices.
BuiltCase build_sum_of_slots(CaseMemory& memory, int64_t S, int64_t k, int64_t width) {
  BuiltCase built = build_sum(memory, S, k, width, false, false);
  auto& op = std::get<ExpertSum>(built.op.body);
  std::mt19937 random(static_cast<uint32_t>(S + width));
  op.rows = S + 1;
  std::vector<int32_t> row_of;
  for (int64_t c = 0; c < S * k; ++c) row_of.push_back(static_cast<int32_t>(random() % (op.rows + 2)) - 2);
  op.row_of = memory.ids(row_of, "row_of");
  op.slots = memory.floats(random_floats(random, op.rows * width, 3.0f), "slots");
  return built;
}

// Each choice gets the bias of its expert, or is multiplied by the expert's factor, but for those that
// another wave computes.
template <typename Op>
BuiltCase build_of_experts(CaseMemory& memory, const Choices& shape, int64_t width, bool waves) {
  const auto& [S, E, k, to_one] = shape;
  std::mt19937 random(static_cast<uint32_t>(S + width));
  Op op;
  op.S = S, op.width = width, op.x_stride = width + 7, op.rows = k, op.experts = E, op.chosen = true;
  op.x = memory.matrix(random_floats(random, S * k * width, 3.0f), width, op.x_stride, "x");
  if constexpr (std::is_same_v<Op, Bias>)
    op.bias = memory.floats(random_floats(random, E * width, 1.0f), "bias");
  else
    op.factors = memory.floats(random_floats(random, E, 2.0f), "factors");
  op.ids = memory.ids(shape.ids(), "ids");
  std::vector<int32_t> places(static_cast<size_t>(S * k));
  for (size_t c = 0; c < places.size(); ++c) places[c] = c % 3 == 1 ? kElsewhere : static_cast<int32_t>(c % 2);
  if (waves) op.places = memory.ids(places, "places");
  return {{op.kind(), op}, {{"x", op.x, S * k, width, op.x_stride, ElementType::f32, exact}}};
}

BuiltCase build_copy(CaseMemory& memory, int64_t S, int64_t groups, int64_t width, bool round) {
  std::mt19937 random(static_cast<uint32_t>(S + width));
  Copy op;
  op.S = S, op.groups = groups, op.width = width, op.round_f16 = round;
  op.x_group = width + 2, op.x_stride = groups * op.x_group + 1;
  op.x = memory.matrix(random_floats(random, S * op.x_stride, 5.0f), op.x_stride, op.x_stride, "x");
  op.y_group = width + 4, op.y_stride = groups * op.y_group;
  op.y = memory.empty_matrix(S * groups, op.y_group, op.y_group, "y");
  BuiltCase built{{"copy", op}, {{"y", op.y, S * groups, width, op.y_group, ElementType::f32, exact}}};
  expect_gaps_untouched(built, op.y, S * groups, width, op.y_group);
  return built;
}

BuiltCase build_copy_in_place(CaseMemory& memory, int64_t S, int64_t width) {
  std::mt19937 random(static_cast<uint32_t>(S + width));
  Copy op;
  op.S = S, op.width = width, op.round_f16 = true, op.x_stride = op.y_stride = width + 3;
  op.x = op.y = memory.matrix(random_floats(random, S * width, 5.0f), width, op.x_stride, "x");
  return {{"copy", op}, {{"x", op.x, S, width, op.x_stride, ElementType::f32, exact}}};
}

// The experts of a token have one row each, one behind the other.
BuiltCase build_glu_rows(CaseMemory& memory, int64_t S, int64_t rows, int64_t I) {
  std::mt19937 random(static_cast<uint32_t>(S + I));
  Glu op;
  op.S = S, op.rows = rows, op.I = I, op.gate_stride = I + 3, op.up_stride = I + 4, op.y_stride = I + 5;
  op.gate = memory.matrix(random_floats(random, S * rows * I, 12.0f), I, op.gate_stride, "gate");
  op.up = memory.matrix(random_floats(random, S * rows * I, 3.0f), I, op.up_stride, "up");
  op.y = memory.empty_matrix(S * rows, I, op.y_stride, "y");
  const auto tolerance = [](int64_t, int64_t, double expected, bool) {  // as for one row (op_case_rows.cpp)
    return std::fabs(expected) * 14 * kEpsilon + 1e-30;
  };
  return {{"swiglu", op}, {{"y", op.y, S * rows, I, op.y_stride, ElementType::f32, tolerance}}};
}

// The scores of a router, whose weights an NPU would round.
BuiltCase build_router(CaseMemory& memory) {
  constexpr int64_t kTokens = 7, kExperts = 5, kColumns = 96;
  std::mt19937 random(11);
  MatMul op;
  op.S = kTokens, op.K = kColumns, op.row_end = kExperts, op.decides = true;
  op.w = random_weights(memory, StorageType::f32, kExperts, kColumns, 11);
  op.x_stride = kColumns, op.y_stride = kExperts;
  op.x = memory.floats(random_floats(random, kTokens * kColumns, 2.0f, true), "x");
  op.y = memory.empty_matrix(kTokens, kExperts, kExperts, "y");
  // Weights are at most 0.02, inputs at most 2. Each column rounds the partial sums once.
  const auto tolerance = [](int64_t, int64_t, double, bool) { return kColumns * 0.04 * (kColumns + 1) * kEpsilon; };
  return {{"matmul", op}, {{"y", op.y, kTokens, kExperts, kExperts, ElementType::f32, tolerance}}};
}

std::vector<GroupedShape> grouped_shapes(StorageType type) {
  const uint32_t block = info(type).block_values;
  const int64_t K = block == 1 ? 33 : block == 32 ? 96 : 256, longer = block == 1 ? 300 : block == 32 ? 288 : 512;
  // Each kind of shape is another kernel to compile, so most formats have only the two kinds that experts need. The
  // search for a matrix in its stack does not depend on the format.
  std::vector<GroupedShape> shapes = {
      {{1, 5, 3}, 130, K, true, false, true}, {{7, 5, 3}, 63, longer}, {{33, 5, 3}, 65, longer, true, true, true}};
  if (!is_typical(type)) return shapes;
  shapes.insert(shapes.end(), {{{1, 5, 3}, 64, K, true, true},
                               {{7, 5, 3}, 200, K, true, true},
                               {{33, 64, 8}, 63, K, true, true, true},
                               {{33, 4, 1, true}, 130, longer, true, true},
                               {{130, 5, 2}, 40, K, true, true},
                               {{9, 4, 1, true}, 64, K},
                               {{3, 5, 5}, 65, longer, false},
                               {{7, 3, 3}, 130, longer, false, false, true},
                               {{33, 3, 3}, 130, longer, false}});
  return shapes;
}

}  // namespace

std::vector<OpCase> routing_cases() {
  std::vector<OpCase> cases;
  const RouteShape by_keys[] = {
      {7, 6, 3, Gating::softmax, true, 1, Scores::spread, true},
      {33, 64, 8, Gating::sigmoid, true, 2.5f, Scores::spread, true},
      {1, 256, 8, Gating::sigmoid, true, 2.5f, Scores::spread, true, 8, 4},
      {7, 40, 6, Gating::softmax, false, 16, Scores::spread, false, 8, 3},
      {3, 12, 4, Gating::softmax, true, 1, Scores::spread, true, 3, 1},
      {7, 64, 8, Gating::sigmoid, true, 1, Scores::ties, false, 32, 4},
      {7, 12, 4, Gating::sigmoid, true, 1, Scores::some_nan, true, 3, 2},
      {70, 12, 8, Gating::softmax, false, 1, Scores::some_nan, false, 3, 2},
  };
  for (const RouteShape& shape : by_keys)
    cases.push_back({std::string("route ") + (shape.gating == Gating::softmax ? "softmax" : "sigmoid") +
                         (shape.biased ? " biased" : "") + size_text("groups", shape.groups) + size_text("S", shape.S) +
                         size_text("E", shape.E) + size_text("k", shape.k) +
                         (shape.scores == Scores::ties ? " ties" : "") +
                         (shape.scores == Scores::some_nan ? " NaN" : ""),
                     [shape](CaseMemory& memory) { return build_route(memory, shape); }});
  for (const Gating gating : {Gating::softmax, Gating::sigmoid, Gating::sparse_mixer})
    for (const RouteShape& shape :
         {RouteShape{1, 5, 3, gating, false}, RouteShape{7, 5, 3, gating, true, 2.5f},
          RouteShape{33, 64, 8, gating, true}, RouteShape{3, 64, 8, gating, false, 1.5f},
          RouteShape{2, 5, 5, gating, true}, RouteShape{70, 130, 32, gating, true},
          RouteShape{7, 64, 8, gating, true, 1, Scores::ties}, RouteShape{7, 5, 2, gating, false, 1, Scores::ties},
          RouteShape{7, 5, 3, gating, true, 1, Scores::some_nan}}) {
      const char* names[] = {"softmax", "sigmoid", "sparse_mixer"};
      cases.push_back({std::string("route ") + names[static_cast<int>(gating)] + size_text("S", shape.S) +
                           size_text("E", shape.E) + size_text("k", shape.k) + (shape.normalised ? " normalised" : "") +
                           (shape.scale != 1 ? " scaled" : "") + (shape.scores == Scores::ties ? " ties" : "") +
                           (shape.scores == Scores::some_nan ? " NaN" : ""),
                       [shape](CaseMemory& memory) { return build_route(memory, shape); }});
    }
  for (const Choices& shape : {Choices{1, 5, 3}, Choices{7, 5, 3}, Choices{33, 64, 8}, Choices{33, 5, 1, true},
                               Choices{90, 130, 3}, Choices{2, 300, 4}, Choices{3, 4, 4}})
    cases.push_back({"expert_lists" + size_text("S", shape.S) + size_text("E", shape.E) + size_text("k", shape.k) +
                         (shape.to_one ? " all to one" : ""),
                     [shape](CaseMemory& memory) { return build_lists(memory, shape); }});
  cases.push_back({"matmul that decides", build_router, false});
  return cases;
}

std::vector<OpCase> grouped_matmul_cases() {
  std::vector<OpCase> cases;
  for (const bool act_i8 : {false, true})
    for (StorageType type : kTypeOfEachFormat)
      for (GroupedShape shape : grouped_shapes(type)) {
        if (act_i8 && packed_format(type).dense()) continue;
        if (act_i8 && !is_typical(type) && shape.lists) continue;  // many tokens' kernels take seconds to compile
        shape.act_i8 = act_i8;
        const auto seed = static_cast<uint32_t>(1000 * cases.size() + 1);
        cases.push_back({std::string("grouped_matmul ") + info(type).name + (act_i8 ? " of 8-bit activations" : "") +
                             size_text("S", shape.choices.S) + size_text("slots", shape.choices.k) +
                             size_text("of", shape.choices.E) + size_text("N", shape.N) + size_text("K", shape.K) +
                             (shape.routed ? "" : " by slot") + (shape.lists ? " lists" : "") +
                             (shape.shared_row ? " one row" : "") + (shape.choices.to_one ? " all to one" : ""),
                         [=](CaseMemory& memory) { return build_grouped(memory, type, shape, seed); },
                         packed_format(type).exact_in_f16_contract()});
      }
  return cases;
}

std::vector<OpCase> wave_cases() {
  std::vector<OpCase> cases;
  for (const bool act_i8 : {false, true})
    for (GroupedShape shape : {GroupedShape{{7, 5, 3}, 200, 96, true, true}, {{2, 5, 3}, 64, 96, true, true}}) {
      shape.act_i8 = act_i8;
      cases.push_back({std::string("grouped_matmul Q4_1 of a wave") + (act_i8 ? " of 8-bit activations" : "") +
                           size_text("S", shape.choices.S) + size_text("N", shape.N),
                       [=](CaseMemory& memory) { return build_grouped_of_wave(memory, StorageType::q4_1, shape, 7); },
                       packed_format(StorageType::q4_1).exact_in_f16_contract()});
    }
  return cases;
}

std::vector<OpCase> expert_cases() {
  std::vector<OpCase> cases;
  for (int64_t S : {1, 7, 33})
    for (int64_t width : {1, 15, 64, 577}) {
      for (const auto& [k, shared, gate] : {std::tuple{int64_t{3}, false, false}, std::tuple{int64_t{8}, true, false},
                                            std::tuple{int64_t{1}, true, true}})
        cases.push_back({"expert_sum" + size_text("S", S) + size_text("k", k) + size_text("width", width) +
                             (shared ? " shared" : "") + (gate ? " gate" : ""),
                         [=](CaseMemory& memory) { return build_sum(memory, S, k, width, shared, gate); }});
      for (const bool round : {false, true})
        cases.push_back({"copy" + size_text("S", S) + size_text("groups", S % 5) + size_text("width", width) +
                             (round ? " f16" : ""),
                         [=](CaseMemory& memory) { return build_copy(memory, S, S % 5, width, round); }});
    }
  for (const Choices& shape : {Choices{1, 5, 3}, Choices{7, 64, 4}, Choices{33, 5, 1, true}})
    for (const bool waves : {false, true}) {
      const std::string choices = size_text("S", shape.S) + size_text("k", shape.k) + (waves ? " waves" : "");
      cases.push_back({"bias of experts" + choices,
                       [=](CaseMemory& memory) { return build_of_experts<Bias>(memory, shape, 577, waves); }});
      cases.push_back({"factors of experts" + choices,
                       [=](CaseMemory& memory) { return build_of_experts<Scale>(memory, shape, 577, waves); }});
    }
  cases.push_back({"copy in place", [](CaseMemory& memory) { return build_copy_in_place(memory, 7, 577); }});
  for (int64_t S : {1, 7})
    cases.push_back({"swiglu of 3 rows" + size_text("S", S),
                     [=](CaseMemory& memory) { return build_glu_rows(memory, S, 3, 577); }});
  return cases;
}

std::vector<OpCase> expert_row_cases() {
  std::vector<OpCase> cases;
  for (const SlotShape& shape : {SlotShape{33, 8, 3, 4}, SlotShape{33, 8, 3, 4, true}, SlotShape{7, 64, 8, 16},
                                 SlotShape{20, 4, 1, 6, false, true}, SlotShape{20, 4, 1, 6, true, true}})
    cases.push_back({"expert_slots" + size_text("S", shape.S) + size_text("E", shape.E) +
                         size_text("capacity", shape.capacity) + (shape.drops ? " drops" : "") +
                         (shape.to_one ? " all to one" : ""),
                     [shape](CaseMemory& memory) { return build_slots(memory, shape); }});
  for (const int64_t wave : {0, 1})
    for (const Choices& shape : {Choices{1, 5, 3}, Choices{33, 8, 2}, Choices{7, 4, 1, true}})
      cases.push_back({"expert_fetch" + size_text("S", shape.S) + size_text("E", shape.E) + size_text("wave", wave),
                       [shape, wave](CaseMemory& memory) { return build_fetch(memory, shape, wave); }});
  for (const Choices& shape : {Choices{1, 5, 3}, Choices{33, 8, 2}})
    cases.push_back({"expert_decide" + size_text("S", shape.S) + size_text("E", shape.E),
                     [shape](CaseMemory& memory) { return build_decide(memory, shape); }});
  for (const int64_t most : {2, 7})
    cases.push_back(
        {"expert_move" + size_text("most", most), [most](CaseMemory& memory) { return build_move(memory, most); }});
  cases.push_back({"expert_prefetch", build_prefetch});
  for (const int64_t sides : {1, 2, 4})
    for (const Choices& shape : {Choices{1, 5, 3}, Choices{33, 8, 2}, Choices{7, 4, 1, true}})
      cases.push_back({"expert_sides" + size_text("S", shape.S) + size_text("E", shape.E) + size_text("sides", sides),
                       [shape, sides](CaseMemory& memory) { return build_sides(memory, shape, sides); }});
  for (const auto& [type, K, begin, end, act_i8] :
       {std::tuple{StorageType::f32, 96, 0, 32, false}, std::tuple{StorageType::q4_0, 96, 32, 96, false},
        std::tuple{StorageType::q8_0, 160, 64, 128, true}, std::tuple{StorageType::q4_k, 768, 256, 512, false},
        std::tuple{StorageType::q6_k, 512, 256, 512, true}})
    for (const int64_t S : {1, 17})
      cases.push_back({std::string("grouped_matmul of columns ") + info(type).name + size_text("S", S) +
                           size_text("from", begin) + size_text("to", end) + (act_i8 ? " i8" : ""),
                       [=](CaseMemory& memory) {
                         const GroupedShape shape{{S, 5, 2}, 200, K, true, false, false, act_i8};
                         return build_grouped_of_columns(memory, type, shape, begin, end, 11);
                       },
                       packed_format(type).exact_in_f16_contract()});
  for (int64_t width : {1, 64, 577}) {
    cases.push_back({"gather_rows" + size_text("width", width),
                     [width](CaseMemory& memory) { return build_gather(memory, 33, 3, width); }});
    cases.push_back({"expert_sum of slots" + size_text("width", width),
                     [width](CaseMemory& memory) { return build_sum_of_slots(memory, 33, 3, width); }});
  }
  return cases;
}

}  // namespace tandem::testing
