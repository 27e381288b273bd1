// Products have the bits that the runs of their columns give (packed/runs.h): in both families, with f32 and 8-bit
// activations, for few tokens and for many, and for stacks of matrices.
#include "packed/runs.h"

#include <bit>

#include "engine/device/gpu/row_pieces.h"
#include "engine/device/gpu/scratch.h"
#include "engine/tensor/types.h"
#include "packed/act_i8.h"
#include "packed/decode.h"
#include "packed/row_product.h"
#include "tests/engine/device/opencl/kernels/kernel_test.h"

namespace tandem::opencl::test {
namespace {

class RunsKernel : public KernelTest {
 protected:
  // The product of each of w's rows and a token, by the plain definitions.
  static std::vector<float> stated(const PackedMatrix& w, const float* x, bool act_i8) {
    std::vector<float> y, row(static_cast<size_t>(w.columns));
    std::vector<ActBlock> codes(static_cast<size_t>(w.columns / kActGroup));
    if (act_i8) quantise_act(x, w.columns, codes.data());
    for (int64_t n = 0; n < w.rows; ++n) {
      const auto* panels = w.data.as<std::byte>();
      if (act_i8) {
        const auto* panel = panels + static_cast<size_t>(n / kPanelRows) * panel_bytes(w.format, w.columns);
        y.push_back(act_i8_product(w.format, panel, w.columns, n % kPanelRows, codes.data()));
      } else {
        decode_packed_row(w.format, panels, w.columns, n, row.data());
        y.push_back(row_product(row.data(), x, w.columns));
      }
    }
    return y;
  }

  static void expect_stated(const PackedMatrix& w, const float* x, const float* y, bool act_i8) {
    const auto expected = stated(w, x, act_i8);
    for (size_t n = 0; n < expected.size(); ++n)
      ASSERT_EQ(std::bit_cast<uint32_t>(y[n]), std::bit_cast<uint32_t>(expected[n])) << "row " << n;
  }

  // Multiplies the tokens x [S, K], and compares each token with the plain definitions.
  void expect_stated(const PackedMatrix& w, int64_t S, bool act_i8, const std::vector<float>& x) {
    expect_stated(w, w, S, act_i8, x);
  }
  // w: in panel order. used: the same weights as the kernel reads them.
  void expect_stated(const PackedMatrix& w, const PackedMatrix& used, int64_t S, bool act_i8,
                     const std::vector<float>& x) {
    MatMul op;
    op.S = S, op.K = w.columns, op.row_end = w.rows, op.w = used, op.act_i8 = act_i8;
    op.x_stride = op.K, op.y_stride = w.rows;
    op.x = memory_.put(std::vector<float>(x.begin(), x.begin() + S * op.K));
    op.y = memory_.put(std::vector<float>(static_cast<size_t>(S * w.rows), 77.0f));
    run(lower_matmul(op, context_));
    for (int64_t s = 0; s < S; ++s) {
      SCOPED_TRACE("token " + std::to_string(s) + " of " + std::to_string(S));
      ASSERT_NO_FATAL_FAILURE(expect_stated(w, op.x.as<float>() + s * op.K, op.y.as<float>() + s * w.rows, op.act_i8));
    }
  }

  void run(std::vector<KernelLaunch> launches) {
    scratch_.give_to(launches);
    runner_->run(launches);
  }

  sync::Pool own_;
  Scratch scratch_{own_};
};

std::string named(StorageType type, int64_t K, bool act_i8) {
  return std::string(info(type).name) + " K " + std::to_string(K) + (act_i8 ? " of 8-bit activations" : "");
}

// Numbers of tiles below 16, one above a multiple of 16, and last tiles that are not full. With 4,416 columns the runs
// have four or five tiles, so the longer ones do not fit a chunk of 256 columns.
std::vector<int64_t> columns_of(StorageType type) {
  const uint32_t block = info(type).block_values;
  if (block == 1) return {1, 33, 65, 577, 960, 1088, 2112, 4416};
  return block == 32 ? std::vector<int64_t>{32, 288, 576, 896, 1088, 2112, 4416}
                     : std::vector<int64_t>{256, 1280, 4608};
}

TEST_P(RunsKernel, are_added_in_their_order_whatever_number_of_columns_there_is) {
  for (const StorageType type : {StorageType::f32, StorageType::q4_0, StorageType::q2_k}) {
    for (const int64_t K : columns_of(type)) {
      const PackedMatrix w = make_weights(type, 70, K);
      const auto x = random(static_cast<size_t>(9 * K));
      for (const bool act_i8 : {false, true}) {
        if (act_i8 && w.format.dense()) continue;
        SCOPED_TRACE(named(type, K, act_i8));
        for (const int64_t S : {1, 9}) ASSERT_NO_FATAL_FAILURE(expect_stated(w, S, act_i8, x));
      }
    }
  }
}

// The simd kernels pass at most 264 tokens together over a run that is cut, with 8-bit activations 128.
TEST_P(RunsKernel, are_added_in_their_order_whatever_number_of_tokens_there_is) {
  for (const int64_t K : {1088, 4416}) {
    const PackedMatrix w = make_weights(StorageType::q4_1, 70, K);
    const auto x = random(static_cast<size_t>(270 * K));
    for (const bool act_i8 : {false, true}) {
      SCOPED_TRACE(named(StorageType::q4_1, K, act_i8));
      for (const int64_t S : {2, 3, 4, 5, 6, 7, 8, 10, 17, 65, 130}) {
        if (K > 1088 && S != 130) continue;
        ASSERT_NO_FATAL_FAILURE(expect_stated(w, S, act_i8, x));
      }
    }
    if (K > 1088) {
      ASSERT_NO_FATAL_FAILURE(expect_stated(w, 270, false, x));
    }
  }
}

TEST_P(RunsKernel, of_stacks_are_those_of_their_matrices) {
  const int64_t K = 4416, N = 70, slots = 2;
  for (const bool act_i8 : {false, true}) {
    GroupedMatMul op;
    op.slots = slots, op.routed = false, op.act_i8 = act_i8;
    const PackedMatrix both = make_weights(StorageType::q4_1, 2 * 128, K);
    op.w = {both.format, slots, N, K, both.data, 0};
    op.x_slot = K, op.x_stride = slots * K, op.y_slot = N, op.y_stride = slots * N;
    for (const int64_t S : {1, act_i8 ? 130 : 270}) {
      SCOPED_TRACE(named(StorageType::q4_1, K, act_i8) + " tokens " + std::to_string(S));
      op.S = S;
      op.x = memory_.put(random(static_cast<size_t>(S * op.x_stride)));
      op.y = memory_.put(std::vector<float>(static_cast<size_t>(S * op.y_stride), 77.0f));
      run(lower_grouped_matmul(op, context_));
      for (int64_t s = 0; s < S; ++s)
        for (int64_t slot = 0; slot < slots; ++slot)
          ASSERT_NO_FATAL_FAILURE(expect_stated(op.w.matrix(slot), op.x.as<float>() + s * op.x_stride + slot * K,
                                                op.y.as<float>() + s * op.y_stride + slot * N, act_i8));
    }
  }
}
// Small enough for a simulator that looks for races (`./dev test --driver oclgrind`).
TEST_P(RunsKernel, of_weights_in_pieces_of_rows_are_those_of_panels) {
  if (GetParam() == KernelFamily::simd) GTEST_SKIP() << "skipped: simd kernels read panels";
  context_.has_row_pieces = [](const sync::Slot*) { return true; };
  constexpr int64_t kRows = 70, K = 160, kTokens = 70;
  const auto x = random(static_cast<size_t>(kTokens * K));
  for (const StorageType type : {StorageType::f16, StorageType::q4_0}) {
    const PackedMatrix panels = make_weights(type, kRows, K);
    const auto* bytes = panels.data.as<std::byte>();
    PackedMatrix pieces = panels;
    pieces.data = memory_.put(std::vector<std::byte>(bytes, bytes + panels.bytes()));
    rearrange(panels.format, K, panel_count(kRows), pieces.data.as<std::byte>());
    for (const bool act_i8 : {false, true}) {
      if (act_i8 && panels.format.dense()) continue;
      for (const int64_t S : {int64_t{1}, kTokens}) {
        SCOPED_TRACE(named(type, K, act_i8));
        ASSERT_NO_FATAL_FAILURE(expect_stated(panels, pieces, S, act_i8, x));
      }
    }
  }
}

TANDEM_BOTH_FAMILIES(RunsKernel);

// Sums along a row have 64 lanes in both families.
class LanesKernel : public KernelTest {};

// Lane i adds the elements i, i + 64, ... Then the upper half of the lanes is added to the lower one, again and again.
float sum_of_lanes(std::vector<float> lanes) {
  for (size_t width = lanes.size() / 2; width > 0; width /= 2)
    for (size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  return lanes[0];
}

TEST_P(LanesKernel, of_a_norm_are_64) {
  for (const int64_t width : {1, 15, 16, 31, 63, 64, 65, 100, 577, 1000}) {
    RmsNorm op;
    op.S = 1, op.width = op.x_stride = op.y_stride = width;
    const auto x = random(static_cast<size_t>(width), 3);
    op.x = memory_.put(x), op.y = memory_.put(x), op.weight = memory_.put(std::vector<float>(x.size(), 1.0f));
    runner_->run(lower_rms_norm(op, context_));
    std::vector<float> lanes(64);
    for (size_t i = 0; i < x.size(); ++i) lanes[i % 64] = std::fma(x[i], x[i], lanes[i % 64]);
    const float inverse = 1.0f / std::sqrt(sum_of_lanes(lanes) / static_cast<float>(width) + op.eps);
    const auto y = values_at<float>(op.y, x.size());
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], x[i] * inverse) << "width " << width << " element " << i;
  }
}
TANDEM_BOTH_FAMILIES(LanesKernel);

}  // namespace
}  // namespace tandem::opencl::test
