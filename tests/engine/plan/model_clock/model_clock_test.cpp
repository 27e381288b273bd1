#include "engine/plan/model_clock/model_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/graph/decoder.h"
#include "engine/model/shapes.h"
#include "engine/plan/model_clock/soc_costs.h"
#include "engine/plan/partition/part_operator.h"
#include "engine/plan/strategy.h"
#include "sync/error.h"
#include "tests/engine/plan/round_profile.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNear = 1e-9;  // round_profile()'s NPU arrays and fills take less
constexpr int kGpu = 0, kNpu = 1;

// One operator that takes 1 ms on the GPU and 2 ms on the NPU.
Step step(int device, std::vector<int> waits = {}) {
  return {device, {{"m", megabyte_matmul()}}, std::move(waits), true};
}
Plan plan(std::vector<Step> steps) { return {"by hand", {"gpu", "npu"}, std::move(steps), {}}; }

struct Way {
  Dominant dominant;
  ClockOptions options;
};
const Way kPrefill{Dominant::npu, {}}, kDecode{Dominant::gpu, {}}, kSlow{Dominant::gpu, {SyncCost::slow}},
    kBesideLoad{Dominant::npu, {SyncCost::fast, 0, true}};

ModelRun clocked(Plan plan, const SocProfile& profile, const Way& way) {
  plan.dominant = way.dominant;
  return run_model_clock(plan, profile, way.options);
}

// Crossings take 0.1 ms, a launch 0.05 ms, an empty queue 0.3 ms. In slow mode a copy takes 4 ms and a wait 5 ms.
SocProfile with_crossings() {
  SocProfile profile = round_profile();
  profile.sync = {4 * kMs, 5 * kMs, 0.1 * kMs, 0.5 * kMs};
  profile.npu.launch_seconds = 0.05 * kMs;
  profile.gpu.submit_empty_seconds = 0.3 * kMs;
  return profile;
}
const std::vector<Step> kInTurn = {step(kGpu), step(kNpu, {0}), step(kGpu, {1})};

TEST(model_clock, devices_run_at_the_same_time_and_in_order) {
  const ModelRun run = clocked(plan({step(kGpu), step(kNpu), step(kGpu)}), round_profile(), kPrefill);
  EXPECT_NEAR(run.seconds, 2 * kMs, kNear);
  EXPECT_NEAR(run.devices[kGpu].busy_seconds, 2 * kMs, kNear);
  EXPECT_NEAR(run.devices[kNpu].busy_seconds, 2 * kMs, kNear);
  ASSERT_EQ(run.spans.size(), 3u);
  EXPECT_EQ(run.spans[0].kind, "matmul");
  EXPECT_NEAR(run.spans[2].end_seconds, 2 * kMs, kNear);
}

TEST(model_clock, a_step_starts_when_those_it_waits_for_have_ended) {
  EXPECT_NEAR(clocked(plan(kInTurn), round_profile(), kPrefill).seconds, (1 + 2 + 1) * kMs, kNear);
}

// 1 + (0.1 + 0.05 + 2 + 0.1) + 0.3 + 1: the GPU's queue was empty when the NPU ended.
TEST(model_clock, where_the_npu_dominates_the_gpu_pays_for_its_empty_queue) {
  const ModelRun run = clocked(plan(kInTurn), with_crossings(), kPrefill);
  EXPECT_NEAR(run.seconds, 4.55 * kMs, kNear);
  EXPECT_EQ(run.crossings, 2);
}

TEST(model_clock, where_the_gpu_dominates_its_next_kernel_is_queued_already) {
  EXPECT_NEAR(clocked(plan(kInTurn), with_crossings(), kDecode).seconds, 4.25 * kMs, kNear);
}

// 1 + (4 + 0.05 + 2 + 5) + 0.3 + 1
TEST(model_clock, slow_synchronisation_copies_blocks_and_empties_the_queue) {
  EXPECT_NEAR(clocked(plan(kInTurn), with_crossings(), kSlow).seconds, 13.35 * kMs, kNear);
}

// The GPU has 3 ms of work, and the NPU ends at 2.25 ms. So the queue is never empty before step 4.
TEST(model_clock, a_queue_that_never_ran_empty_costs_nothing) {
  const Plan busy = plan({step(kNpu), step(kGpu), step(kGpu), step(kGpu), step(kGpu, {0})});
  EXPECT_NEAR(clocked(busy, with_crossings(), kPrefill).seconds, 4 * kMs, kNear);
}

// One step has two matmuls. Each has its launch and both crossings: 2 * 2.25 ms.
TEST(model_clock, every_matmul_on_the_npu_is_handed_over_and_noticed) {
  Step two = step(kNpu);
  two.operators.push_back({"n", megabyte_matmul()});
  const ModelRun run = clocked(plan({two}), with_crossings(), kPrefill);
  EXPECT_NEAR(run.seconds, 4.5 * kMs, kNear);
  EXPECT_EQ(run.crossings, 4);
}

// H9: a matmul in two graphs has two launches, one crossing before the first and one behind the last. The time is 0.1 +
// 2 * 2.05 + 0.1 ms, and 4 + 2 * 2.05 + 5 ms in slow mode.
TEST(model_clock, graphs_of_one_matmul_in_turn_cross_once) {
  Step two = step(kNpu);
  two.operators.push_back(two.operators.front());
  const ModelRun run = clocked(plan({two}), with_crossings(), kPrefill);
  EXPECT_NEAR(run.seconds, 4.3 * kMs, kNear);
  EXPECT_EQ(run.crossings, 2);
  EXPECT_NEAR(clocked(plan({two}), with_crossings(), kSlow).seconds, 13.1 * kMs, kNear);
}

// H9: while the NPU ends last, the solver's time for a cut is the clock's time for the cut and the GPU's wait behind
// it. The 96 tokens run on the NPU in a graph of 64 and one of 32. They run beside the first of 8 steps of rows on the
// GPU, or alone.
TEST(model_clock, a_cut_takes_what_the_solver_says) {
  const Operator whole{"m", megabyte_matmul(96)};
  const std::vector<Cut> cuts = {
      {CutKind::pipe, {{Side::graphs, 0, 64, 0, 1024, 64}, {Side::graphs, 64, 96, 0, 1024, 32}}},
      {CutKind::hybrid,
       {{Side::graphs, 0, 64, 128, 1024, 64},
        {Side::graphs, 64, 96, 128, 1024, 32},
        {Side::general, 0, 96, 0, 128, 96}}},
      {CutKind::sequence, {{Side::graphs, 0, 64, 0, 1024, 64}, {Side::general, 64, 96, 0, 1024, 32}}}};
  SocProfile profile = with_crossings();
  profile.gpu.flops = 100 * kMega / kMs;  // slow enough that the NPU ends last
  for (const Way& way : {kPrefill, kDecode, kSlow}) {
    const PlanCosts costs = costs_of(profile, way.options, way.dominant);
    const CutCosts of_parts{[&](const Part& part, bool both) {
                              return costs.seconds(part.side == Side::graphs ? kNpu : kGpu, part_operator(whole, part),
                                                   both);
                            },
                            costs.sync_seconds, costs.copy_seconds};
    for (const Cut& cut : cuts) {
      Step on_npu{kNpu, {}, {}, true}, on_gpu{kGpu, {}, {}, true};
      for (const Part& part : cut.parts)
        (part.side == Side::graphs ? on_npu : on_gpu).operators.push_back(part_operator(whole, part));
      Step behind = step(kGpu, {0});
      const double alone = clocked(plan({step(kGpu)}), profile, way).seconds;
      std::vector<Step> steps = {on_npu};
      if (!on_gpu.operators.empty()) steps.push_back(on_gpu);
      steps.push_back(behind);
      const Priced priced = price(cut, of_parts);
      ASSERT_GT(priced.npu_seconds, priced.gpu_seconds);
      EXPECT_NEAR(clocked(plan(steps), profile, way).seconds, priced.seconds + alone, kNear) << to_string(cut);
    }
  }
}

// The GPU asks for 1 MiB a ms, and the NPU for half of that. Together they get three quarters, so both run at half
// their speed. The GPU ends after 2 ms. By then the NPU has done 1 ms of its 2, and the rest takes 1 ms alone at full
// speed: 3 ms.
TEST(model_clock, devices_share_the_memory_while_both_need_it) {
  SocProfile profile = round_profile();
  profile.memory.shared_bytes_per_second = 0.75 * kMega / kMs;
  const ModelRun run = clocked(plan({step(kGpu), step(kNpu)}), profile, kDecode);
  EXPECT_NEAR(run.spans[0].end_seconds, 2 * kMs, kNear);
  EXPECT_NEAR(run.seconds, 3 * kMs, kNear);
  EXPECT_NEAR(run.bytes(), 2 * kMega, 1);
  EXPECT_NEAR(run.bytes_per_second(), 2 * kMega / (3 * kMs), 1e4);
}

// A launch of 1 ms needs no memory. The GPU runs alone in that time and ends.
TEST(model_clock, a_launch_leaves_the_memory_to_the_other_device) {
  SocProfile profile = round_profile();
  profile.memory.shared_bytes_per_second = 0.75 * kMega / kMs;
  profile.npu.launch_seconds = kMs;
  const ModelRun run = clocked(plan({step(kGpu), step(kNpu)}), profile, kDecode);
  // The GPU alone asks for more than the memory provides: it takes 1 / 0.75 ms. The last third of a ms runs beside the
  // NPU. From 1 ms on both run at half speed. The GPU has 0.25 ms left and takes 0.5. The NPU has done 0.25 of 2 ms and
  // ends at 3.25 ms.
  EXPECT_NEAR(run.spans[0].end_seconds, 1.5 * kMs, kNear);
  EXPECT_NEAR(run.seconds, 3.25 * kMs, kNear);
}

// The GPU takes 2 ms * 2 W, the NPU 2.05 ms * 3 W, the base 4.25 ms * 1 W: 4 + 6.15 + 4.25 = 14.4 mJ. The CPU polls at
// 10 W. The NPU waits 1 ms for the GPU, and the GPU 2.25 ms for the NPU. 0.5 ms of each wait are polled, and two
// crossings take 0.1 ms: 1.2 ms * 10 W = 12 mJ.
TEST(model_clock, energy_is_busy_time_and_the_base) {
  SocProfile profile = with_crossings();
  profile.power = {1, 2, 3, 0};
  ModelRun run = clocked(plan(kInTurn), profile, kDecode);
  EXPECT_NEAR(run.joules, 14.4e-3, kNear);
  EXPECT_NEAR(run.watts(), 14.4 / 4.25, 1e-6);
  EXPECT_NEAR(run.devices[kNpu].joules, 6.15e-3, kNear);
  EXPECT_NEAR(run.cpu_busy_seconds, 1.2 * kMs, kNear);
  profile.power.cpu_watts = 10;
  EXPECT_NEAR(clocked(plan(kInTurn), profile, kDecode).joules, 26.4e-3, kNear);
}

// Five steps run in turn, with 1 ms on the GPU and 2 ms on the NPU: 7 ms without a load.
Plan five() { return plan({step(kGpu), step(kNpu, {0}), step(kGpu, {1}), step(kNpu, {2}), step(kGpu, {3})}); }
SocProfile rendering(double share) {
  SocProfile profile = round_profile();
  profile.load = {share, 4 * kMs};
  return profile;
}

// Frames of 1 ms are queued at 0 and 4 ms. They run from 1 to 2 and from 4 to 5 ms, while the NPU multiplies. The
// second frame's period ends at 8 ms, after the run.
TEST(model_clock, frames_fit_between_the_kernels_of_a_plan_that_waits_for_the_npu) {
  const ModelRun run = clocked(five(), rendering(0.25), kBesideLoad);
  EXPECT_NEAR(run.seconds, 7 * kMs, kNear);
  EXPECT_EQ(run.frames, 1);
  EXPECT_EQ(run.frames_in_time, 1);
}

// Frames take 3 ms. The first one runs from 1 to 4, so step 2 (ready at 3) runs from 4 to 5. The second frame is queued
// at 4 and runs from 5 to 8, just in time. Step 3 ends at 7, and step 4 runs from 8 to 9.
TEST(model_clock, a_longer_frame_delays_the_plan) {
  const ModelRun run = clocked(five(), rendering(0.75), kBesideLoad);
  EXPECT_NEAR(run.seconds, 9 * kMs, kNear);
  EXPECT_EQ(run.frames, 2);
  EXPECT_EQ(run.frames_in_time, 2);
}

TEST(model_clock, a_gpu_queue_that_is_full_lets_no_frame_through) {
  Step all = step(kGpu);
  for (int i = 0; i < 9; ++i) all.operators.push_back(all.operators.front());
  const ModelRun run = clocked(plan({all}), rendering(0.25), kBesideLoad);
  EXPECT_NEAR(run.seconds, 10 * kMs, kNear);
  EXPECT_EQ(run.frames, 2) << "queued at 0 and 4 ms; the one of 8 ms has until 12";
  EXPECT_EQ(run.frames_in_time, 0);
}

TEST(model_clock, graphs_that_the_profile_does_not_have_are_compiled_once_each) {
  SocProfile profile = round_profile();
  profile.npu.compile_graph_seconds = 0.5;
  const auto on_npu = [](int64_t S, int64_t rows) { return Step{kNpu, {{"m", megabyte_matmul(S, rows)}}, {}, true}; };
  const auto compiling = [&](std::vector<Step> steps) {
    return clocked(plan(std::move(steps)), profile, kPrefill).compile_seconds;
  };
  EXPECT_EQ(compiling({on_npu(32, 1024), on_npu(64, 1024), on_npu(1, 1024)}), 0);
  EXPECT_EQ(compiling({on_npu(40, 1024), on_npu(40, 1024), on_npu(40, 512)}), 1.0);
}

TEST(model_clock, what_cannot_run_is_an_error) {
  EXPECT_THROW(clocked(plan({step(kGpu, {1}), step(kNpu, {0})}), round_profile(), kPrefill), Error);
  EXPECT_THROW(clocked(plan({step(kGpu, {1}), step(kNpu, {0})}), rendering(0.5), kBesideLoad), Error);
  const Step norm{kNpu, {{"norm", RmsNorm{}}}, {}, true};
  try {
    clocked(plan({norm}), round_profile(), kPrefill);
    FAIL() << "the NPU ran a norm";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("norm: only matrix products"));
  }
  EXPECT_THROW(clocked({"two", {"gpu", "opencl:0"}, {}, {}}, round_profile(), kPrefill), Error);
}

TEST(model_clock, costs_of_planners_are_those_of_the_clock) {
  SocProfile profile = with_crossings();
  profile.memory.shared_bytes_per_second = 0.75 * kMega / kMs;
  const PlanCosts costs = costs_of(profile, kDecode.options, kDecode.dominant);
  const Operator op{"m", megabyte_matmul()};
  EXPECT_NEAR(costs.seconds(kGpu, op, false), kMs, kNear);
  EXPECT_NEAR(costs.seconds(kNpu, op, false), 2.05 * kMs, kNear);
  EXPECT_NEAR(costs.seconds(kGpu, op, true), 2 * kMs, kNear);
  EXPECT_NEAR(costs.seconds(kNpu, op, true), 4.05 * kMs, kNear);
  EXPECT_TRUE(std::isinf(costs.seconds(kNpu, {"n", RmsNorm{}}, false)));
  EXPECT_NEAR(costs.sync_seconds, 0.2 * kMs, kNear);
  EXPECT_NEAR(costs_of(profile, kPrefill.options, kPrefill.dominant).sync_seconds, 0.5 * kMs, kNear);
  EXPECT_NEAR(costs_of(profile, kSlow.options, kSlow.dominant).sync_seconds, 5.3 * kMs, kNear);
  EXPECT_NEAR(costs_of(profile, kSlow.options, kSlow.dominant).copy_seconds, 4 * kMs, kNear);
}

TEST(model_clock, traits_name_the_graphs_that_there_are) {
  const std::vector<DeviceTraits> traits = traits_of(round_profile());
  ASSERT_EQ(traits.size(), 2u);
  EXPECT_THAT(traits[kNpu].graph_tokens, ElementsAre(1, 32, 64));
  EXPECT_FALSE(traits[kNpu].supports({"n", RmsNorm{}}).yes);
  EXPECT_TRUE(traits[kGpu].supports({"n", RmsNorm{}}).yes);
}

// q, k, v, output, gate, up and down are 7 calls a layer with 14 crossings. The head adds its own.
TEST(model_clock, a_decoder_of_separate_matmuls_crosses_fourteen_times_a_layer) {
  const SocProfile profile = soc_profile("snapdragon-8gen3");
  const Model model = shape_only_model(model_shape("smollm2-135m"), packed_format(StorageType::q4_0), true);
  sync::Pool pool;
  const Activations buffers(model.config, {64, 1, 64, 64, KvType::f16}, &pool);
  const std::vector<Operator> operators = build_decoder(model, buffers, {64, 1}, {.every_token = true});
  const std::vector<DeviceTraits> devices = traits_of(profile);
  const PlanCosts costs = costs_of(profile, {}, dominant_in(profile, 64));
  const Plan plan = find_strategy("layer").make({operators, devices, {}, false, costs});
  const ModelRun run = run_model_clock(plan, profile, {});
  EXPECT_GE(run.crossings, 30 * 14);
  EXPECT_LE(run.crossings, 30 * 14 + 2);
  for (const ModelDevice& device : run.devices) {
    EXPECT_GT(device.busy_seconds, 0);
    EXPECT_LT(device.busy_seconds, run.seconds);
  }
  EXPECT_GT(run.joules, 0);
}

}  // namespace
}  // namespace tandem
