#include "engine/run/pass/core_layout.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(CoreLayout, puts_the_gpu_on_the_first_of_two_cores_and_npu_and_orchestrator_on_the_second) {
  EXPECT_EQ(lay_out_cores(std::vector{0, 1}), (CoreLayout{{0}, {1}, 1, true}));
}

TEST(CoreLayout, never_spins_on_a_single_core) {
  EXPECT_EQ(lay_out_cores(std::vector{5}), (CoreLayout{{5}, {5}, 5, false}));
}

TEST(CoreLayout, gives_the_gpu_the_larger_half_of_more_cores) {
  EXPECT_EQ(lay_out_cores(std::vector{0, 1, 2}), (CoreLayout{{0, 1}, {2}, 2, true}));
  EXPECT_EQ(lay_out_cores(std::vector{0, 1, 4, 5}), (CoreLayout{{0, 1}, {4, 5}, 5, true}));
}

TEST(CoreLayout, uses_no_more_cores_than_threads_were_asked_for) {
  EXPECT_EQ(lay_out_cores(std::vector{0, 1, 2, 3}, 2), (CoreLayout{{0}, {1}, 1, true}));
  EXPECT_EQ(lay_out_cores(std::vector{0, 1}, 8), (CoreLayout{{0}, {1}, 1, true}));
}

TEST(CoreLayout, says_who_runs_where) {
  EXPECT_EQ(to_string(lay_out_cores(std::vector{0, 1})), "GPU worker on core 0, NPU on core 1, orchestrator on core 1");
}

}  // namespace
}  // namespace tandem
