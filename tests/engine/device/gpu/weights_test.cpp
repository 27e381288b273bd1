// Weights at the limits of GPU devices: the most columns whose loops are proven, and more bytes than one kernel
// argument may reach. Values are small integers, so every sum is exact in any order, and a lost column shows.
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "shaders/limits.h"
#include "tests/engine/device/gpu/gpu_bench.h"

namespace tandem::testing {
namespace {

class Weights : public GpuBench {
 protected:
  std::mt19937 random_{7};
};

// Rows of a block type whose decoded values are integers: random bytes, and 1.0 for each f16 of the type.
std::vector<std::byte> integer_rows(StorageType type, int64_t rows, int64_t columns, std::mt19937& random) {
  std::vector<std::byte> bytes(row_bytes(type, columns) * static_cast<size_t>(rows));
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  std::vector<size_t> halves;
  if (type == StorageType::q4_0 || type == StorageType::q8_0) halves = {0};
  if (type == StorageType::q4_1) halves = {0, 2};
  if (type == StorageType::q2_k) halves = {80, 82};
  if (type == StorageType::q6_k) halves = {208};
  if (type == StorageType::f16) {
    for (size_t at = 0; at < bytes.size(); at += 2) {
      const uint16_t value = float_to_half(static_cast<float>(random() % 7) - 3);
      std::memcpy(&bytes[at], &value, 2);
    }
  }
  const uint16_t one = float_to_half(1);
  for (size_t block = 0; !halves.empty() && block < bytes.size(); block += info(type).block_bytes)
    for (const size_t at : halves) std::memcpy(&bytes[block + at], &one, 2);
  return bytes;
}

PackedMatrix packed(StorageType type, const std::vector<std::byte>& source, int64_t rows, int64_t columns,
                    const Operand& at) {
  pack_rows(type, source.data(), columns, 0, rows, at.as<std::byte>());
  return {packed_format(type), rows, columns, at};
}

void expect_exact_products(const MatMul& op) {
  std::vector<float> w(static_cast<size_t>(op.K));
  for (int64_t n = 0; n < op.row_end; ++n) {
    decode_packed_row(op.w.format, op.w.data.as<std::byte>(), op.K, n, w.data());
    for (int64_t s = 0; s < op.S; ++s) {
      const float* x = op.x.as<float>() + s * op.x_stride;
      ASSERT_EQ(op.y.as<float>()[s * op.y_stride + n], std::inner_product(w.begin(), w.end(), x, 0.0))
          << "token " << s << " row " << n;
    }
  }
}

TEST_P(Weights, of_the_most_proven_columns_are_multiplied_to_their_last_one) {
  const int64_t K = TANDEM_MAX_K, N = 65;
  for (StorageType type : {StorageType::q4_0, StorageType::q4_1, StorageType::q2_k, StorageType::q8_0,
                           StorageType::q6_k, StorageType::f16}) {
    const PackedFormat format = packed_format(type);
    MatMul op;
    op.K = op.x_stride = K, op.row_end = op.y_stride = N;
    op.w = packed(type, integer_rows(type, N, K, random_), N, K,
                  take(packed_bytes(format, N, K), "w", sync::SlotUse::weights));
    op.x = take(9 * K * 4, "x");
    op.y = take(9 * N * 4, "y");
    for (int64_t i = 0; i < 9 * K; ++i) op.x.as<float>()[i] = static_cast<float>(static_cast<int>(random_() % 3) - 1);
    for (int64_t S : {1, 8, 9}) {
      SCOPED_TRACE(to_string(format) + " S=" + std::to_string(S));
      op.S = S;
      run({"matmul", op});
      expect_exact_products(op);
    }
  }
}

// The scales and minima of these rows are different small integers. A sum shows a value that was read from a neighbour,
// left out, or read too far.
std::vector<std::byte> uneven_rows(StorageType type, int64_t rows, int64_t columns, std::mt19937& random) {
  std::vector<std::byte> bytes = integer_rows(type, rows, columns, random);
  const bool explicit_minima = type == StorageType::q4_1;
  if (type != StorageType::q4_0 && !explicit_minima) return bytes;
  for (size_t block = 0; block < bytes.size(); block += info(type).block_bytes) {
    const uint16_t scale = float_to_half(static_cast<float>(1 + random() % 3));
    const uint16_t minimum = float_to_half(static_cast<float>(1 + random() % 5));
    std::memcpy(&bytes[block], &scale, 2);
    if (explicit_minima) std::memcpy(&bytes[block + 2], &minimum, 2);
  }
  return bytes;
}

// x is NaN between its rows. y holds a mark wherever no result belongs.
constexpr float kMark = 77;

MatMul edge_product(int64_t S, int64_t N, int64_t K, const PackedMatrix& w, const Operand& x, const Operand& y,
                    std::mt19937& random) {
  MatMul op;
  op.S = S, op.K = K, op.row_end = N, op.w = w, op.x = x, op.y = y;
  op.x_stride = K + 3, op.y_stride = N + 70;  // more than a panel: values written beyond the last row stay visible
  std::fill_n(x.as<float>(), S * op.x_stride, std::numeric_limits<float>::quiet_NaN());
  std::fill_n(y.as<float>(), S * op.y_stride, kMark);
  for (int64_t s = 0; s < S; ++s)
    for (int64_t k = 0; k < K; ++k)
      x.as<float>()[s * op.x_stride + k] = static_cast<float>(1 + static_cast<int>(random() % 3));
  return op;
}

// Rows end one past a panel and inside one. Columns end inside the pieces that a kernel processes: runs of 32, a panel
// of 256 decoded columns, quarters of K. Tokens end one past a group of 8 and of 64.
TEST_P(Weights, that_end_inside_panels_runs_or_groups_of_tokens_are_exact_and_nothing_beyond_is_touched) {
  struct Shape {
    int64_t S, N, K;
  };
  constexpr int64_t kMostTokens = 65, kMostRows = 150, kMostColumns = 544;
  const Operand x = take(kMostTokens * (kMostColumns + 3) * 4, "x"), y = take(kMostTokens * (kMostRows + 70) * 4, "y");
  for (const StorageType type : {StorageType::q4_0, StorageType::q4_1, StorageType::f16}) {
    const bool any = type == StorageType::f16;  // f16 allows any number of columns
    for (const Shape& shape : {Shape{1, 65, any ? 33 : 96}, Shape{1, kMostRows, any ? 543 : kMostColumns},
                               Shape{9, 19, any ? 33 : 96}, Shape{kMostTokens, 65, any ? 289 : 288}}) {
      const auto [S, N, K] = shape;
      SCOPED_TRACE(std::string(info(type).name) + " S=" + std::to_string(S) + " N=" + std::to_string(N) +
                   " K=" + std::to_string(K));
      const PackedMatrix w = packed(type, uneven_rows(type, N, K, random_), N, K,
                                    take(packed_bytes(packed_format(type), N, K), "w", sync::SlotUse::weights));
      const MatMul op = edge_product(S, N, K, w, x, y, random_);
      run({"matmul", op});
      expect_exact_products(op);
      for (int64_t s = 0; s < S; ++s)
        for (int64_t n = N; n < op.y_stride; ++n) ASSERT_EQ(y.as<float>()[s * op.y_stride + n], kMark) << s << " " << n;
    }
  }
}

// 1,100 rows of 32,768 floats are 137 MiB. An argument of lavapipe reaches 128 MiB.
TEST_P(Weights, beyond_the_reach_of_one_argument_give_every_row_and_every_embedding) {
  const int64_t K = TANDEM_MAX_K, N = 1100;
  const PackedFormat format = packed_format(StorageType::f32);
  const Operand at = take(packed_bytes(format, N, K), "w", sync::SlotUse::weights);
  const PackedMatrix w{format, N, K, at};
  const auto value = [](int64_t row, int64_t k) { return static_cast<float>((row * 7 + k * 3) % 11 - 5); };
  for (int64_t row = 0; row < N; ++row)
    for (int64_t k = 0; k < K; ++k)
      at.as<float>()[(row / kPanelRows * K + k) * kPanelRows + row % kPanelRows] = value(row, k);

  MatMul matmul;
  matmul.S = 2, matmul.K = matmul.x_stride = K, matmul.row_end = matmul.y_stride = N, matmul.w = w;
  matmul.x = take(2 * K * 4, "x");
  matmul.y = take(2 * N * 4, "y");
  for (int64_t i = 0; i < 2 * K; ++i) matmul.x.as<float>()[i] = static_cast<float>(i % 5 - 2);
  run({"matmul", matmul});
  expect_exact_products(matmul);

  const std::vector<int32_t> ids{0, 1099, 63, 1024, -1, 1023, 1100, 600, 2'000'000'000};
  Embed embed;
  embed.S = std::ssize(ids), embed.H = K, embed.w = w;
  embed.ids = take(ids.size() * 4, "ids");
  embed.y = take(ids.size() * K * 4, "y");
  std::memcpy(embed.ids.as<int32_t>(), ids.data(), ids.size() * 4);
  run({"embed", embed});
  for (size_t s = 0; s < ids.size(); ++s) {
    const float* y = embed.y.as<float>() + static_cast<int64_t>(s) * K;
    const bool known = ids[s] >= 0 && ids[s] < N;
    for (int64_t k = 0; k < K; ++k)
      ASSERT_TRUE(known ? y[k] == value(ids[s], k) : std::isnan(y[k])) << "id " << ids[s] << " column " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Weights, ::testing::ValuesIn(gpu_targets()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tandem::testing
