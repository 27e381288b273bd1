// Kernels of products with 8-bit activations have the bits of the plain definition. The tests use each instruction of
// this processor for products of bytes, with many registers and with few.
#include "packed/act_i8.h"

#include <bit>

#include "engine/device/gpu/row_pieces.h"
#include "engine/device/gpu/scratch.h"
#include "engine/device/opencl/products.h"
#include "engine/device/opencl/program_cache.h"
#include "engine/tensor/types.h"
#include "tests/engine/device/opencl/kernels/kernel_test.h"

namespace tandem::opencl::test {
namespace {

constexpr StorageType kFewTypes[] = {StorageType::q4_0, StorageType::q4_1, StorageType::q8_0, StorageType::q6_k,
                                     StorageType::iq4_nl};

class ActI8Kernel : public KernelTest {
 protected:
  void expect_plain_bits(const MatMul& op) { expect_plain_bits(op, op.w); }
  // panels: the weights in panel order, if those of the operator are not.
  void expect_plain_bits(MatMul op, const PackedMatrix& panels) {
    const auto x = random(static_cast<size_t>(op.S * op.K));
    op.x_stride = op.K, op.y_stride = op.w.rows;
    op.x = memory_.put(x);
    op.y = memory_.put(std::vector<float>(static_cast<size_t>(op.S * op.y_stride), 77.0f));
    auto launches = lower_matmul(op, context_);
    scratch_.give_to(launches);
    run(launches);
    const auto y = values_at<float>(op.y, static_cast<size_t>(op.S * op.y_stride));
    std::vector<ActBlock> blocks(static_cast<size_t>(op.K / kActGroup));
    for (int64_t s = 0; s < op.S; ++s) {
      quantise_act(x.data() + s * op.K, op.K, blocks.data());
      for (int64_t n = 0; n < op.w.rows; ++n) {
        const std::byte* panel =
            panels.data.as<std::byte>() + static_cast<size_t>(n / 64) * panel_bytes(op.w.format, op.K);
        const float expected = act_i8_product(op.w.format, panel, op.K, n % 64, blocks.data());
        ASSERT_EQ(std::bit_cast<uint32_t>(y[static_cast<size_t>(s * op.y_stride + n)]),
                  std::bit_cast<uint32_t>(expected))
            << "token " << s << " of " << op.S << ", row " << n;
      }
    }
  }

  // Runs the launches on any device. If kernels use the function of the dot-product extension, a stand-in defines it.
  void run(const std::vector<KernelLaunch>& launches) {
    if (context_.packed_dot == PackedDot::none) {
      runner_->run(launches);
      return;
    }
    runner_->run({launches[0]});
    runner_->run_source(kStandIn + expand_source(launches[1].source), launches[1]);
  }
  const std::string kStandIn =
      "INLINE int stand_in(uint a, uint b) {\n"
      "  const int4 products = convert_int4(as_char4(a)) * convert_int4(as_char4(b));\n"
      "  return products.x + products.y + products.z + products.w;\n"
      "}\n"
      "#define dot_4x8packed_ss_int stand_in\n";

  sync::Pool own_;
  Scratch scratch_{own_};
};

TEST_P(ActI8Kernel, have_the_bits_of_the_plain_definition_however_bytes_are_multiplied) {
  const bool simt = GetParam() == KernelFamily::simt;
  for (const ByteProducts how : simt ? std::vector{ByteProducts::plain} : host_byte_products()) {
    // Intel's compiler knows no instructions by name. products_test.cpp tests which ones PoCL must know.
    if (how != ByteProducts::plain &&
        !runner_->builds("products_probe", std::string(byte_products_option(how)) + " -DBITS=8"))
      continue;
    context_.byte_products = how;
    const bool counts_registers = !simt && how == ByteProducts::plain;  // other ways know the number of registers
    const int64_t own = runner_->context().vector_registers;
    for (const int64_t registers : counts_registers ? std::vector<int64_t>{32, 8} : std::vector{own}) {
      context_.vector_registers = registers;
      for (const StorageType type : kFewTypes) {
        SCOPED_TRACE(std::string(info(type).name) + " " + byte_products_option(how) + " registers " +
                     std::to_string(registers));
        MatMul op;
        op.K = 512, op.row_end = 130, op.act_i8 = true, op.w = make_weights(type, 130, op.K);
        // Each small number of tokens is a build of its own. Only one format tries all numbers.
        const bool all = type == StorageType::q4_1 && how != ByteProducts::plain;
        for (const int64_t S : all ? std::vector<int64_t>{1, 2, 3, 10} : std::vector<int64_t>{1, 7}) {
          op.S = S;
          expect_plain_bits(op);
        }
      }
    }
  }
}

// Tiles of 32 columns do not fill a round of 4 or 16. There are few tokens, and one more than a tile of 64. The formats
// have one group or two, with and without minima and zero points.
TEST_P(ActI8Kernel, of_a_graphics_card_have_the_bits_of_the_plain_definition_in_groups_of_any_size) {
  if (GetParam() == KernelFamily::simd) GTEST_SKIP() << "skipped: its groups have one work-item";
  for (const StorageType type :
       {StorageType::q4_0, StorageType::q4_1, StorageType::q8_0, StorageType::q2_k, StorageType::nvfp4})
    for (const size_t group : {256, 1024}) {
      context_.max_work_group = group;
      for (const bool dot : {false, true}) {
        context_.packed_dot = dot ? PackedDot::extension : PackedDot::none;
        SCOPED_TRACE(std::string(info(type).name) + " in groups of " + std::to_string(group) + (dot ? " by dots" : ""));
        MatMul op;
        op.K = type == StorageType::q2_k ? 256 * 3 : type == StorageType::nvfp4 ? 64 * 9 : 32 * 19;
        op.row_end = 130, op.act_i8 = true;
        op.w = make_weights(type, 130, op.K);
        for (const int64_t S : dot ? std::vector<int64_t>{2, 6} : std::vector<int64_t>{1, 4, 65}) {
          op.S = S;
          expect_plain_bits(op);
        }
      }
    }
}

// Matrix units read weights in pieces of rows, stages of 64 columns at a time. Here the warps of a group exchange their
// words through local memory. Rows, tokens and columns end inside panels, tiles and stages.
TEST_P(ActI8Kernel, of_matrix_units_have_the_bits_of_the_plain_definition) {
  if (GetParam() == KernelFamily::simd) GTEST_SKIP() << "skipped: its groups have one work-item";
  context_.matrix_units = MatrixUnits::emulated;
  context_.has_row_pieces = [](const sync::Slot*) { return true; };
  for (const StorageType type : {StorageType::q4_0, StorageType::q8_0, StorageType::q4_k, StorageType::iq4_nl}) {
    SCOPED_TRACE(info(type).name);
    MatMul op;
    op.K = type == StorageType::q4_k ? 256 * 3 : 32 * 19, op.row_end = 130, op.act_i8 = true;
    op.x_stride = op.K, op.y_stride = op.row_end;
    op.w = make_weights(type, 130, op.K);
    const PackedMatrix panels = op.w;
    const std::byte* bytes = panels.data.as<std::byte>();
    op.w.data = memory_.put(std::vector<std::byte>(bytes, bytes + panels.bytes()));
    rearrange(op.w.format, op.K, panel_count(op.w.rows), op.w.data.as<std::byte>());
    for (const int64_t S : {5, 65}) {
      op.S = S;
      ASSERT_THAT(lower_matmul(op, context_).back().options, ::testing::HasSubstr("MATRIX_UNITS=2"));
      expect_plain_bits(op, panels);
    }
  }
}

// A stack of matrices, one for each slot of a token.
TEST_P(ActI8Kernel, of_stacks_on_matrix_units_have_the_bits_of_the_plain_definition) {
  if (GetParam() == KernelFamily::simd) GTEST_SKIP() << "skipped: its groups have one work-item";
  context_.matrix_units = MatrixUnits::emulated;
  context_.has_row_pieces = [](const sync::Slot*) { return true; };
  constexpr int64_t kTokens = 66, kSlots = 2, K = 160, kRows = 64;
  const PackedMatrix panels = make_weights(StorageType::q4_0, kSlots * kRows, K);
  const std::byte* bytes = panels.data.as<std::byte>();
  const Operand pieces = memory_.put(std::vector<std::byte>(bytes, bytes + panels.bytes()));
  rearrange(panels.format, K, kSlots, pieces.as<std::byte>());
  const auto x = random(static_cast<size_t>(kTokens * kSlots * K));
  GroupedMatMul op;
  op.S = kTokens, op.slots = kSlots, op.routed = false, op.act_i8 = true;
  op.w = {panels.format, kSlots, kRows, K, pieces};
  op.x = memory_.put(x), op.x_slot = K, op.x_stride = kSlots * K;
  op.y = memory_.put(std::vector<float>(static_cast<size_t>(kTokens * kSlots * kRows), 77.0f));
  op.y_slot = kRows, op.y_stride = kSlots * kRows;
  auto launches = lower_grouped_matmul(op, context_);
  ASSERT_THAT(launches.back().options, ::testing::HasSubstr("MATRIX_UNITS=2"));
  scratch_.give_to(launches);
  run(launches);
  std::vector<ActBlock> blocks(K / kActGroup);
  for (int64_t choice = 0; choice < kTokens * kSlots; ++choice) {
    quantise_act(x.data() + choice * K, K, blocks.data());
    const std::byte* panel = bytes + static_cast<size_t>(choice % kSlots) * panel_bytes(panels.format, K);
    for (int64_t n = 0; n < kRows; ++n)
      ASSERT_EQ(op.y.as<float>()[choice * kRows + n], act_i8_product(panels.format, panel, K, n, blocks.data()))
          << "choice " << choice << ", row " << n;
  }
}
TANDEM_BOTH_FAMILIES(ActI8Kernel);

}  // namespace
}  // namespace tandem::opencl::test
