#include <algorithm>
#include <cmath>

#include "tests/engine/device/op_case.h"

namespace tandem::testing {
namespace {

struct NormShape {
  int64_t S, groups, width;
  bool add, in_place, round;
  float offset;
  float add_scale = 1;
  bool centred = false, bias = false;
  bool own = false;  // weights and biases of each group
};

// Builds a norm with its optional residual, scale, bias and rounding, and derives its error bound.
BuiltCase build_norm(CaseMemory& memory, const NormShape& shape) {
  const auto [S, groups, width, add, in_place, round, offset, add_scale, centred, bias, own] = shape;
  std::mt19937 random(static_cast<uint32_t>(S * 1000 + width));
  const int64_t row = groups * width, weights = own ? row : width;
  RmsNorm op;
  op.S = S, op.groups = groups, op.width = width, op.weight_offset = offset, op.eps = 1e-5f, op.round_f16 = round,
  op.add_scale = add_scale;
  op.x_stride = row + 7;
  op.x = memory.matrix(random_floats(random, S * row, 3.0f), row, op.x_stride, "x");
  if (add)
    op.add_stride = row + 1, op.add = memory.matrix(random_floats(random, S * row, 1.0f), row, op.add_stride, "add");
  op.weight = memory.floats(random_floats(random, weights, 1.5f), "weight");
  op.centred = centred, op.biased = bias, op.own_weights = own;
  if (bias) op.bias = memory.floats(random_floats(random, weights, 2.0f), "bias");
  op.y_stride = in_place ? op.x_stride : row + 2;
  op.y = in_place ? op.x : memory.empty_matrix(S, row, op.y_stride, "y");
  // The sum of squares is off by at most width + 2 roundings, and its root by half of that. The quotient, the root and
  // the products add four. A scaled sum may be rounded twice.
  const double relative = (width / 2.0 + 6 + (add_scale == 1 ? 0 : 2)) * kEpsilon + (round ? kHalfStep : 0);
  // The mean of values up to 3 is off by as many roundings of it. So is every difference from it, against a spread of
  // at least one. Sums with a bias lose what they cancel. So both have an absolute bound, from the largest result.
  const double largest = 4 * std::sqrt(static_cast<double>(width));
  const double absolute = centred || bias ? largest * (width + 8) * kEpsilon : 0;
  const auto tolerance = [=](int64_t, int64_t, double expected, bool) {
    return std::fabs(expected) * relative + absolute + (round ? 0x1p-24 : 1e-30);
  };
  BuiltCase built{{"rms_norm", op}, {{"y", op.y, S, row, op.y_stride, ElementType::f32, tolerance}}};
  // One product and one sum of values up to 4: one rounding, or two on devices without fused multiply-adds.
  const auto rounded = [](int64_t, int64_t, double, bool) { return 2 * 4 * kEpsilon; };
  if (add && !in_place) {
    if (add_scale == 1)
      built.outputs.push_back({"x", op.x, S, row, op.x_stride, ElementType::f32, exact});
    else
      built.outputs.push_back({"x", op.x, S, row, op.x_stride, ElementType::f32, rounded});
  }
  return built;
}

struct RopeShape {
  int64_t S, heads, head_dim, rot_dim;
  RopeLayout layout;
};

BuiltCase build_rope(CaseMemory& memory, const RopeShape& shape) {
  const auto [S, heads, head_dim, rot_dim, layout] = shape;
  std::mt19937 random(static_cast<uint32_t>(S * 100 + rot_dim));
  Rope op;
  op.S = S, op.heads = heads, op.head_dim = head_dim, op.rot_dim = rot_dim, op.layout = layout;
  op.x_stride = heads * head_dim + 9;
  op.x = memory.matrix(random_floats(random, S * heads * head_dim, 2.0f), heads * head_dim, op.x_stride, "x");
  std::vector<int32_t> positions;
  for (int64_t s = 0; s < S; ++s) positions.push_back(static_cast<int32_t>(11 + s));
  op.positions = memory.ids(positions, "positions");
  op.table_positions = 11 + S;
  std::vector<float> table;
  for (int64_t p = 0; p < op.table_positions; ++p)
    for (int64_t j = 0; j < rot_dim / 2; ++j) {
      const double angle =
          static_cast<double>(p) * std::pow(10000.0, -2.0 * static_cast<double>(j) / static_cast<double>(rot_dim));
      table.push_back(static_cast<float>(std::cos(angle)));
      table.push_back(static_cast<float>(std::sin(angle)));
    }
  op.table = memory.floats(table, "table");
  // Two products of at most 2 * 1 and their sum take three roundings of at most 4.
  const auto tolerance = [](int64_t, int64_t, double, bool) { return 3 * 4 * kEpsilon; };
  return {{"rope", op}, {{"x", op.x, S, heads * head_dim, op.x_stride, ElementType::f32, tolerance}}};
}

// The units of feed-forward networks that models have.
struct UnitForm {
  Activation activation;
  bool gated;
};
constexpr UnitForm kUnitForms[] = {{Activation::silu, true},
                                   {Activation::clamped_silu, true},
                                   {Activation::gelu_tanh, true},
                                   {Activation::gelu_tanh, false},
                                   {Activation::squared_relu, false}};

BuiltCase build_glu(CaseMemory& memory, int64_t S, int64_t I, bool round, const UnitForm& form) {
  std::mt19937 random(static_cast<uint32_t>(S + I));
  Glu op;
  op.S = S, op.I = I, op.round_f16 = round, op.activation = form.activation, op.gated = form.gated;
  op.gate_stride = I + 3, op.up_stride = I + 4, op.y_stride = I + 5;
  auto gate = random_floats(random, S * I, 12.0f);
  gate[0] = 0, gate.back() = -30, gate[gate.size() / 2] = 40;
  op.gate = memory.matrix(gate, I, op.gate_stride, "gate");
  if (op.gated) {
    auto up = random_floats(random, S * I, 3.0f);
    if (op.activation == Activation::clamped_silu)
      for (float& value : up) value *= 4;  // some are beyond the limit of 7
    op.up = memory.matrix(up, I, op.up_stride, "up");
  }
  op.y = memory.empty_matrix(S, I, op.y_stride, "y");
  // exp is off by 2 ulp (4 roundings). Sum, quotient and product add one rounding each. simt kernels may use the
  // driver's exp, which is off by 3 ulp more. The exponent of GELU is four roundings off, of up to 100 if the f32
  // result is not 0.
  // The clamped unit rounds an exponent of at most 50 once, and rounds the sum of up and 1 once.
  const bool has_slope = op.activation == Activation::gelu_tanh || op.activation == Activation::clamped_silu;
  const double exponent = has_slope ? 4 * 100 : 0;
  const double relative = (14 + exponent) * kEpsilon + (round ? kHalfStep : 0);
  const auto tolerance = [=](int64_t, int64_t, double expected, bool) {
    return std::fabs(expected) * relative + (round ? 0x1p-24 : 1e-30);
  };
  return {{op.kind(), op}, {{"y", op.y, S, I, op.y_stride, ElementType::f32, tolerance}}};
}

BuiltCase build_add(CaseMemory& memory, int64_t S, int64_t width) {
  std::mt19937 random(3);
  Add op;
  op.S = S, op.width = width, op.x_stride = width + 1, op.y_stride = width + 6;
  op.x = memory.matrix(random_floats(random, S * width, 3.0f), width, op.x_stride, "x");
  op.y = memory.matrix(random_floats(random, S * width, 3.0f), width, op.y_stride, "y");
  return {{"add", op}, {{"x", op.x, S, width, op.x_stride, ElementType::f32, exact}}};
}

BuiltCase build_bias(CaseMemory& memory, int64_t S, int64_t width) {
  std::mt19937 random(4);
  Bias op;
  op.S = S, op.width = width, op.x_stride = width + 11;
  op.x = memory.matrix(random_floats(random, S * width, 3.0f), width, op.x_stride, "x");
  op.bias = memory.floats(random_floats(random, width, 1.0f), "bias");
  return {{"bias", op}, {{"x", op.x, S, width, op.x_stride, ElementType::f32, exact}}};
}

BuiltCase build_scale(CaseMemory& memory, int64_t S, int64_t width, float cap) {
  std::mt19937 random(5);
  Scale op;
  op.S = S, op.width = width, op.x_stride = width + 2, op.factor = 0.3f, op.cap = cap;
  op.x = memory.matrix(random_floats(random, S * width, 60.0f), width, op.x_stride, "x");
  // A cap adds the difference of 1 and a quotient. Near 0 the lost part is a part of 1, not of the result. exp is off
  // by 7 roundings on simt devices, and its argument by 3 of up to 8.
  const auto tolerance = [=](int64_t, int64_t, double, bool) { return cap > 0 ? cap * (7 + 3 * 8 + 4) * kEpsilon : 0; };
  return {{"scale", op}, {{"x", op.x, S, width, op.x_stride, ElementType::f32, tolerance}}};
}

BuiltCase build_softmax(CaseMemory& memory, int64_t S, int64_t width) {
  std::mt19937 random(static_cast<uint32_t>(width));
  Softmax op;
  op.S = S, op.width = width, op.x_stride = width + 3;
  op.x = memory.matrix(random_floats(random, S * width, 8.0f), width, op.x_stride, "x");
  // x - max rounds once: at most 16 ulp/2 in the exponent. exp takes 7 roundings on both sides of the quotient, and the
  // sum takes `width` roundings.
  const double relative = (2 * (16 + 7) + width + 1) * kEpsilon;
  const auto tolerance = [=](int64_t, int64_t, double expected, bool) { return expected * relative + 1e-30; };
  return {{"softmax", op}, {{"x", op.x, S, width, op.x_stride, ElementType::f32, tolerance}}};
}

// The values are few, so every row has many equals, also of its largest value.
std::vector<float> values_with_ties(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 9) - 4);
  return values;
}

BuiltCase build_argmax(CaseMemory& memory, int64_t S, int64_t width, bool ties) {
  std::mt19937 random(6);
  ArgMax op;
  op.S = S, op.width = width, op.x_stride = width + 2;
  const auto x = ties ? values_with_ties(S * width, 6) : random_floats(random, S * width, 9.0f);
  op.x = memory.matrix(x, width, op.x_stride, "x");
  op.ids = memory.take(static_cast<size_t>(S) * sizeof(int32_t), sync::SlotUse::activations, false, "ids");
  return {{"argmax", op}, {{"ids", op.ids, S, 1, 1, ElementType::i32, exact}}};
}

BuiltCase build_top_k(CaseMemory& memory, int64_t S, int64_t width, int64_t k, bool ties) {
  std::mt19937 random(7);
  TopK op;
  op.S = S, op.width = width, op.k = k, op.x_stride = width + 2;
  const auto x = ties ? values_with_ties(S * width, 8) : random_floats(random, S * width, 9.0f);
  op.x = memory.matrix(x, width, op.x_stride, "x");
  op.ids = memory.take(static_cast<size_t>(S * k) * sizeof(int32_t), sync::SlotUse::activations, false, "ids");
  op.values = memory.empty_matrix(S, k, k, "values");
  return {{"top_k", op},
          {{"ids", op.ids, S, k, k, ElementType::i32, exact}, {"values", op.values, S, k, k, ElementType::f32, exact}}};
}

}  // namespace

std::vector<OpCase> norm_cases() {
  std::vector<OpCase> cases;
  for (const NormShape& shape : std::vector<NormShape>{{1, 1, 576, true, false, true, 0},
                                                       {1, 1, 1, false, false, false, 0},
                                                       {3, 1, 15, true, true, false, 0},
                                                       {7, 3, 64, false, true, false, 0},
                                                       {2, 9, 80, false, false, false, 1},
                                                       {9, 1, 577, true, false, false, 1},
                                                       {8, 2, 17, true, false, true, 0},
                                                       {33, 1, 256, false, false, true, 0},
                                                       {5, 1, 100, true, false, true, 0, 0.22f},
                                                       {3, 1, 577, true, false, true, 0, 1, true, true},
                                                       {4, 2, 80, false, true, false, 0, 1, true, false},
                                                       {2, 3, 19, true, false, false, 1, 0.5f, true, true},
                                                       {5, 1, 64, false, false, false, 0, 1, false, true},
                                                       {4, 3, 80, false, true, false, 0, 1, true, false, true},
                                                       {3, 2, 19, true, false, true, 1, 1, false, true, true}}) {
    const std::string name =
        "rms_norm" + size_text("S", shape.S) + size_text("groups", shape.groups) + size_text("width", shape.width) +
        (shape.add ? " add" : "") + (shape.in_place ? " in place" : "") + (shape.round ? " f16" : "") +
        (shape.offset != 0 ? " offset" : "") + (shape.add_scale != 1 ? " scaled" : "") +
        (shape.centred ? " centred" : "") + (shape.bias ? " bias" : "") + (shape.own ? " own weights" : "");
    cases.push_back({name, [shape](CaseMemory& memory) { return build_norm(memory, shape); }});
  }
  return cases;
}

std::vector<OpCase> rope_cases() {
  std::vector<OpCase> cases;
  for (RopeLayout layout : {RopeLayout::interleaved, RopeLayout::halves})
    for (const RopeShape& shape :
         {RopeShape{1, 9, 64, 64, layout}, RopeShape{7, 3, 64, 32, layout}, RopeShape{33, 2, 128, 128, layout},
          RopeShape{2, 5, 20, 10, layout}, RopeShape{3, 1, 80, 80, layout}}) {
      const std::string name = std::string("rope ") + (layout == RopeLayout::halves ? "halves" : "interleaved") +
                               size_text("S", shape.S) + size_text("heads", shape.heads) +
                               size_text("head_dim", shape.head_dim) + size_text("rot_dim", shape.rot_dim);
      cases.push_back({name, [shape](CaseMemory& memory) { return build_rope(memory, shape); }});
    }
  return cases;
}

std::vector<OpCase> elementwise_cases() {
  std::vector<OpCase> cases;
  for (int64_t S : {1, 3, 33})
    for (int64_t width : {1, 15, 64, 577, 1536}) {
      const std::string shape = size_text("S", S) + size_text("width", width);
      for (const UnitForm& form : kUnitForms)
        for (const bool round : {false, true}) {
          const std::string name = form.gated ? gated_unit_of(form.activation) : name_of(form.activation);
          cases.push_back({name + (round ? " f16" : "") + shape,
                           [=](CaseMemory& memory) { return build_glu(memory, S, width, round, form); }});
        }
      cases.push_back({"scale" + shape, [=](CaseMemory& memory) { return build_scale(memory, S, width, 0); }});
      cases.push_back({"scale capped" + shape, [=](CaseMemory& memory) { return build_scale(memory, S, width, 5); }});
      cases.push_back({"add" + shape, [=](CaseMemory& memory) { return build_add(memory, S, width); }});
      cases.push_back({"bias" + shape, [=](CaseMemory& memory) { return build_bias(memory, S, width); }});
    }
  return cases;
}

std::vector<OpCase> softmax_cases() {
  std::vector<OpCase> cases;
  for (int64_t S : {1, 3, 9})
    for (int64_t width : {1, 16, 63, 577})
      cases.push_back({"softmax" + size_text("S", S) + size_text("width", width),
                       [=](CaseMemory& memory) { return build_softmax(memory, S, width); }});
  return cases;
}

std::vector<OpCase> selection_cases() {
  std::vector<OpCase> cases;
  for (bool ties : {false, true})
    for (int64_t S : {1, 3})
      for (int64_t width : {1, 17, 64, 1000, 5003}) {
        const std::string shape = size_text("S", S) + size_text("width", width) + (ties ? " ties" : "");
        cases.push_back({"argmax" + shape, [=](CaseMemory& memory) { return build_argmax(memory, S, width, ties); }});
        for (int64_t k : {1, 8, 64})
          if (k <= width)
            cases.push_back({"top_k" + shape + size_text("k", k),
                             [=](CaseMemory& memory) { return build_top_k(memory, S, width, k, ties); }});
      }
  return cases;
}

}  // namespace tandem::testing
