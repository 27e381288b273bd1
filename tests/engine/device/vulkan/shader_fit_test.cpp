// Launches use only what the shaders have, on drivers that count loop iterations (lavapipe) and on others (every other
// CPU driver, and GPUs). The tests need no driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/device/gpu/lower.h"
#include "engine/device/vulkan/pipelines.h"
#include "engine/device/vulkan/spirv.h"
#include "shaders/shaders.h"
#include "tests/engine/device/op_case.h"

namespace tandem::vulkan {
namespace {

using gpu::KernelLaunch, gpu::lower, gpu::LoweringContext;

// The part of the launch that its shader does not support, or "".
std::string misfit(const KernelLaunch& launch) {
  const std::string name = launch.kernel + " of " + launch.source;
  const auto words = shader_code(launch.source, launch.kernel);
  if (!words) return "there is no shader " + name;
  const ShaderFacts facts = read_facts(*words, name);
  for (const auto& [constant, value] : gpu::constants(launch.options)) {
    if (!facts.constants.contains(constant)) return name + " has no specialisation constant " + constant;
  }
  if (facts.push_words != launch.args.size()) return name + " has other arguments";
  return "";
}

TEST(ShaderFit, every_operator_asks_shaders_for_nothing_they_do_not_have) {
  int launches = 0;
  for (const tandem::testing::OpCase& op_case : tandem::testing::all_cases()) {
    sync::Pool pool;
    tandem::testing::CaseMemory memory(pool);
    const Operator op = op_case.build(memory).op;
    for (const KernelFamily family : {KernelFamily::simd, KernelFamily::simt}) {
      for (const int64_t budget : {int64_t{0}, int64_t{65535}}) {
        const LoweringContext context{.family = family, .shaders = true, .loop_budget = budget};
        for (const KernelLaunch& launch : lower(op, context)) {
          EXPECT_EQ(misfit(launch), "") << op_case.name << ", loop budget " << budget;
          ++launches;
        }
      }
    }
  }
  EXPECT_GT(launches, 1000);
}

TEST(ShaderFit, shaders_are_cut_alike_whether_or_not_the_driver_counts_loops) {
  for (const tandem::testing::OpCase& op_case : tandem::testing::all_cases()) {
    sync::Pool pool;
    tandem::testing::CaseMemory memory(pool);
    const Operator op = op_case.build(memory).op;
    const auto counted = lower(op, {.shaders = true, .loop_budget = 65535}), uncounted = lower(op, {.shaders = true});
    ASSERT_EQ(counted.size(), uncounted.size()) << op_case.name;
    for (size_t i = 0; i < counted.size(); ++i) {
      EXPECT_EQ(counted[i].global, uncounted[i].global) << op_case.name;
      EXPECT_EQ(counted[i].options, uncounted[i].options) << op_case.name;
    }
  }
}

}  // namespace
}  // namespace tandem::vulkan
