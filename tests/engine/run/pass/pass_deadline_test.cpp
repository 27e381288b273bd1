// Deadlines of passes, worked out by hand.
#include "engine/run/pass/pass_deadline.h"

#include <gtest/gtest.h>

#include "engine/tensor/types.h"

namespace tandem {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// One step of `layers` products of 8,192 x 28,672 weights with S tokens.
Plan products(int64_t S, int layers) {
  MatMul matmul;
  matmul.S = S, matmul.K = 8'192, matmul.row_end = 28'672;
  matmul.w = {packed_format(StorageType::f16), 28'672, 8'192, {}};
  Plan plan;
  plan.steps.push_back({0, std::vector<Operator>(static_cast<size_t>(layers), Operator{"product", matmul}), {}, false});
  return plan;
}

// 2 * 8192 * 28672 = 469,762,048 operations for each token and layer: 1.88 s at 5 GFLOP/s for a token in 20 layers, and
// 481.04 s for 256 tokens.
TEST(PassDeadline, is_longer_for_much_work_and_never_shorter_than_the_least) {
  EXPECT_EQ(pass_deadline(products(1, 20), seconds(120)), seconds(120));
  EXPECT_EQ(pass_deadline(products(1, 20), seconds(1)), milliseconds(1879));
  EXPECT_EQ(pass_deadline(products(256, 20), seconds(120)), milliseconds(481'036));
}

// 256 tokens with 8 experts each ask for all of 128. Slots hold 32 of them, so 96 are read: 960 MB, or 19.2 s.
TEST(PassDeadline, has_time_for_experts_in_a_file) {
  ExpertFetch fetch;
  fetch.S = 256, fetch.E = 128, fetch.k = 8, fetch.slots = 32, fetch.slot_bytes = 10'000'000;
  Plan plan;
  plan.steps.push_back({0, std::vector<Operator>(10, Operator{"fetch", fetch}), {}, false});
  EXPECT_EQ(pass_deadline(plan, seconds(120)), seconds(192));
}

}  // namespace
}  // namespace tandem
