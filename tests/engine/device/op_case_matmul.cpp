#include <cmath>

#include "tests/engine/device/op_case.h"

namespace tandem::testing {
namespace {

// The tokens, rows and columns of a matmul.
struct Shape {
  int64_t S, N, K;
};

// Each small number of tokens has a kernel of its own for each format. Decoding a format does not depend on the number.
// So typical formats have cases for all numbers, and the others for one token and a full tile.
//
// Every S, every N and every K of the lists occurs at least once beside the neighbours of the others.
std::vector<Shape> shapes(StorageType type) {
  static constexpr int64_t kTokens[] = {1, 2, 3, 7, 8, 9, 33, 64}, kRows[] = {1, 63, 64, 65, 192, 200};
  const uint32_t block = info(type).block_values;
  const std::vector<int64_t> columns = block == 1    ? std::vector<int64_t>{5, 33, 96, 577}
                                       : block == 32 ? std::vector<int64_t>{32, 96, 256, 512}
                                                     : std::vector<int64_t>{256, 512, 768};
  std::vector<Shape> all;
  static constexpr int64_t kOneOrATile[] = {1, 1, 8, 8, 8, 9, 33, 64};
  const auto& tokens = is_typical(type) ? kTokens : kOneOrATile;
  for (size_t i = 0; i < 16; ++i)
    all.push_back({tokens[i % 8], kRows[(i * 5 + i / 8) % 6], columns[(i + i / 8) % columns.size()]});
  all.push_back({1, 192, columns.back()});
  all.push_back({1, 200, columns.back()});
  all.push_back({64, 192, columns.back()});
  return all;
}

// Builds a matmul with random weights and inputs, and derives its error bound when a test first uses it.
BuiltCase build_matmul(CaseMemory& memory, StorageType type, const Shape& shape, uint32_t seed, bool act_i8) {
  const auto [S, N, K] = shape;
  std::mt19937 random(seed);
  MatMul op;
  op.S = S, op.K = K, op.row_end = N, op.act_i8 = act_i8;
  op.w = random_weights(memory, type, N, K, seed);
  op.x_stride = K + 3, op.y_stride = N + 5;
  const auto x = random_floats(random, S * K, 2.0f, true);
  op.x = memory.matrix(x, K, op.x_stride, "x");
  op.y = memory.empty_matrix(S, N, op.y_stride, "y");

  // A chain of K fused steps, in any order, is off by at most K roundings of partial sums. No partial sum is above sum
  // |w| |x|. Decoding w rounds once more. Weights rounded to f16 add half an f16 ulp of each product: 2^-11. With 8-bit
  // codes each group of 16 or 32 columns adds at most four roundings in place of those of its columns. Scales and
  // minima have sums of their own there.
  const auto magnitudes = when_asked([op, x] {
    std::vector<double> all(static_cast<size_t>(op.S * op.row_end));
    std::vector<float> row(static_cast<size_t>(op.K));
    for (int64_t n = 0; n < op.row_end; ++n) {
      if (op.act_i8) {
        const std::vector<double> weights = act_i8_magnitudes(op.w, n);
        for (int64_t s = 0; s < op.S; ++s) all[s * op.row_end + n] = act_i8_magnitude(weights, x.data() + s * op.K);
        continue;
      }
      decode_packed_row(op.w.format, op.w.data.as<std::byte>(), op.K, n, row.data());
      for (int64_t s = 0; s < op.S; ++s)
        for (int64_t k = 0; k < op.K; ++k)
          all[s * op.row_end + n] += std::fabs(static_cast<double>(row[k]) * x[s * op.K + k]);
    }
    return all;
  });
  const bool rounds = !op.w.format.exact_in_f16_contract();
  const auto tolerance = [=, N = N, K = K](int64_t s, int64_t n, double, bool f16_operands) {
    return magnitudes()[s * N + n] * ((K + 1) * kEpsilon + (rounds && f16_operands ? 0x1p-11 : 0)) + 1e-30;
  };
  return {{"matmul", op}, {{"y", op.y, S, N, op.y_stride, ElementType::f32, tolerance}}};
}

std::vector<OpCase> cases_of(bool act_i8) {
  std::vector<OpCase> cases;
  for (StorageType type : kTypeOfEachFormat)
    for (const Shape& shape : shapes(type)) {
      const auto seed = static_cast<uint32_t>(cases.size() + 1);
      if (act_i8 && packed_format(type).dense()) continue;
      cases.push_back({std::string("matmul ") + info(type).name + (act_i8 ? " of 8-bit activations" : "") + " S=" +
                           std::to_string(shape.S) + " N=" + std::to_string(shape.N) + " K=" + std::to_string(shape.K),
                       [=](CaseMemory& memory) { return build_matmul(memory, type, shape, seed, act_i8); },
                       packed_format(type).exact_in_f16_contract()});
    }
  return cases;
}

}  // namespace

std::vector<double> act_i8_magnitudes(const PackedMatrix& w, int64_t n) {
  const auto* panel = w.data.as<std::byte>() + static_cast<size_t>(n / kPanelRows) * panel_bytes(w.format, w.columns);
  std::vector<double> row;
  for (int64_t k = 0; k < w.columns; ++k) {
    const TileView view = tile_view(w.format, panel, k / kTileColumns);
    const Affine affine = affine_of(w.format, view, k % kTileColumns / w.format.group, n % kPanelRows);
    const int code = code_of(w.format, view, k % kTileColumns, n % kPanelRows);
    row.push_back(std::fabs(code * static_cast<double>(affine.scale)) + std::fabs(static_cast<double>(affine.minimum)));
  }
  return row;
}

double act_i8_magnitude(const std::vector<double>& row, const float* x) {
  double sum = 0;
  // Half a step of the codes is added to the value itself. |x| is at most 2 here.
  for (size_t k = 0; k < row.size(); ++k) sum += row[k] * (std::fabs(static_cast<double>(x[k])) + 1.0 / 127);
  return sum;
}

std::vector<OpCase> matmul_cases() { return cases_of(false); }
std::vector<OpCase> act_i8_cases() { return cases_of(true); }

std::vector<OpCase> embed_cases() {
  std::vector<OpCase> cases;
  for (StorageType type : kTypeOfEachFormat)
    for (int64_t S : {1, 7}) {
      const float scale = S == 7 && type == StorageType::q4_0 ? 24.0f : 1.0f;
      const int64_t H = info(type).block_values == 1 ? 37 : info(type).block_values == 32 ? 96 : 512;
      cases.push_back(
          {std::string("embed ") + info(type).name + " S=" + std::to_string(S), [=](CaseMemory& memory) -> BuiltCase {
             const int64_t vocabulary = 131;
             std::mt19937 random(5);
             std::vector<int32_t> ids{130, 0, 64, 63, 64, 1, 99};
             ids.resize(static_cast<size_t>(S));
             Embed op;
             op.S = S, op.H = H, op.scale = scale;
             op.w = random_weights(memory, type, vocabulary, H, 17);
             op.ids = memory.ids(ids, "ids");
             op.y = memory.empty_matrix(S, H, H, "y");
             const auto exact = [](int64_t, int64_t, double, bool) { return 0.0; };
             return {{"embed", op}, {{"y", op.y, S, H, H, ElementType::f32, exact}}};
           }});
    }
  return cases;
}

}  // namespace tandem::testing
