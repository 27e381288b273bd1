// Every strategy, for every number of tokens from 1 to 600. Each element of each matmul is written once, the NPU runs
// standard sizes only, and padding overlaps no token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/plan/strategy.h"
#include "sync/error.h"
#include "tests/engine/plan/cover.h"
#include "tests/engine/plan/fake_costs.h"
#include "tests/engine/plan/fake_devices.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kPowersOfTwo;
using testing::kWithDecode;

constexpr int64_t kRows = 640, kColumns = 64;

// A norm, a matmul of S tokens, an operator that uses it, and an output for the last token, in buffers of
// `room` tokens.
struct Pass {
  Pass(int64_t S, int64_t room) {
    const auto slot = [&](int64_t tokens, int64_t width) {
      return Operand{&pool.acquire(static_cast<size_t>(tokens * width) * 4, sync::SlotUse::activations, "m"), 0};
    };
    const Operand x = slot(room, kColumns), normed = slot(room, kColumns), y = slot(room, kRows);
    RmsNorm norm;
    norm.S = S;
    norm.width = norm.x_stride = norm.y_stride = kColumns;
    norm.x = x;
    norm.y = normed;
    norm.weight = slot(1, kColumns);
    MatMul matmul;
    matmul.S = S;
    matmul.K = matmul.x_stride = kColumns;
    matmul.row_end = matmul.y_stride = kRows;
    matmul.w = {packed_format(StorageType::f16), kRows, kColumns, slot(kRows, kColumns)};
    matmul.x = normed;
    matmul.y = y;
    MatMul last = matmul;
    last.S = 1;
    last.x = matmul.x.advanced(static_cast<size_t>((S - 1) * kColumns) * 4);
    last.y = slot(1, kRows);
    operators = {
        {"norm", norm}, {"matmul", matmul}, {"after", Add{S, kColumns, x, y, kColumns, kRows}}, {"output", last}};
  }
  sync::Pool pool;
  std::vector<Operator> operators;
};

std::vector<DeviceTraits> devices_with(const std::vector<int64_t>& sizes) {
  DeviceTraits npu = testing::fake_npu(sizes);
  npu.row_step = 64;
  return {testing::fake_gpu(), npu, testing::fake_host()};
}

Plan make(const Strategy& strategy, const Pass& pass, std::span<const DeviceTraits> devices, bool strict = false) {
  PlanRequest request{pass.operators, devices, {}, strict};
  request.costs.seconds = [](int device, const Operator& op, bool) {
    const auto* matmul = std::get_if<MatMul>(&op.body);
    const auto tokens = static_cast<double>(tokens_of(op));
    const double rows = matmul ? static_cast<double>(matmul->row_end - matmul->row_begin) / kRows : 0.1;
    return 1e-3 + tokens * rows * (device == 0 ? 1 : 0.3);
  };
  request.costs.sync_seconds = 0.01;
  // Engines also set shares for strategies that do not weigh costs themselves.
  if (!strategy.weighs) request.shares.by_shape[shape_of(std::get<MatMul>(pass.operators[1].body))] = {0.4, 0.6};
  return strategy.make(request);
}

int64_t tokens_between(const Operand& from, const Operand& to, int64_t stride) {
  return static_cast<int64_t>(to.offset_bytes - from.offset_bytes) / 4 / stride;
}

// The rectangles of the batch's own tokens that the parts of a matmul write.
std::vector<testing::Rectangle> written(const Plan& plan, const Operator& whole) {
  const auto& matmul = std::get<MatMul>(whole.body);
  std::vector<testing::Rectangle> parts;
  for (const Step& step : plan.steps) {
    for (const Operator& op : step.operators) {
      const auto* part = std::get_if<MatMul>(&op.body);
      if (!part || op.name != whole.name) continue;
      const int64_t begin = tokens_between(matmul.y, part->y, matmul.y_stride);
      EXPECT_EQ(tokens_between(matmul.x, part->x, matmul.x_stride), begin);
      parts.push_back({begin, std::min(begin + part->S, matmul.S), part->row_begin, part->row_end});
    }
  }
  return parts;
}

void expect_sound(const Plan& plan, const Pass& pass, const std::vector<int64_t>& sizes) {
  for (const Operator& op : pass.operators) {
    if (!std::holds_alternative<MatMul>(op.body)) continue;
    ASSERT_EQ(testing::fault_of_cover(written(plan, op), tokens_of(op), kRows), "") << op.name;
  }
  for (const Step& step : plan.steps) {
    for (const Operator& op : step.operators) {
      if (std::holds_alternative<MatMul>(op.body)) check_regions(op);
      const bool standard = sizes.empty() || std::ranges::count(sizes, tokens_of(op)) > 0;
      ASSERT_TRUE(step.device != 1 || standard || plan.name == "online") << op.name << " of " << tokens_of(op);
    }
  }
}

TEST(EveryLength, gives_a_sound_plan_in_buffers_with_room_for_padding_and_without) {
  for (const auto& sizes : {kWithDecode, kPowersOfTwo, std::vector<int64_t>{}}) {
    const std::vector<DeviceTraits> all = devices_with(sizes);
    for (int64_t S = 1; S <= 600; ++S) {
      for (const int64_t room : {int64_t{1024}, S}) {
        const Pass pass(S, room);
        for (const Strategy& strategy : strategies_for_any_model()) {
          SCOPED_TRACE(std::string(strategy.name) + ", " + std::to_string(S) + " tokens in buffers of " +
                       std::to_string(room) + ", " + std::to_string(sizes.size()) + " sizes");
          // Only `sequence` uses the host beside the NPU.
          const bool with_host = std::string(strategy.name) == "sequence" || std::string(strategy.name) == "host-only";
          const Plan plan = make(strategy, pass, std::span(all).first(with_host ? 3 : 2));
          ASSERT_NO_FATAL_FAILURE(expect_sound(plan, pass, sizes));
        }
      }
    }
  }
}

// With all small sizes no length falls back, so a strict plan also works.
TEST(EveryLength, is_served_strictly_where_small_sizes_fill_the_margin) {
  const std::vector<DeviceTraits> devices = devices_with(kWithDecode);
  for (int64_t S = 1; S <= 600; S += 7) {
    const Pass pass(S, S);
    for (const char* name : {"tensor", "rows", "layer", "pipe", "chunked", "staggered"}) {
      SCOPED_TRACE(std::string(name) + ", " + std::to_string(S) + " tokens");
      EXPECT_THAT(make(find_strategy(name), pass, std::span(devices).first(2), true).notes, IsEmpty());
    }
  }
}

TEST(EveryLength, that_no_graph_fits_falls_back_and_says_so) {
  const std::vector<DeviceTraits> devices = devices_with(kPowersOfTwo);
  const Pass pass(33, 33);
  for (const char* name : {"layer", "padding", "pipe", "chunked", "rows"}) {
    const Plan plan = make(find_strategy(name), pass, std::span(devices).first(2));
    ASSERT_FALSE(plan.notes.empty()) << name;
    EXPECT_THAT(plan.notes.front(), HasSubstr("npu:0 has no graphs for 33 tokens")) << name;
    EXPECT_THAT(plan.notes.front(), HasSubstr("it runs on opencl:0")) << name;
    EXPECT_THROW(make(find_strategy(name), pass, std::span(devices).first(2), true), Error) << name;
  }
}

// The tokens of each part of the first matmul, in the plan's order: "npu 128".
std::vector<std::string> parts_of(const Plan& plan) {
  std::vector<std::string> parts;
  for (const Step& step : plan.steps) {
    for (const Operator& op : step.operators)
      if (op.name == "matmul") parts.push_back((step.device == 1 ? "npu " : "gpu ") + std::to_string(tokens_of(op)));
  }
  return parts;
}

TEST(Baselines, run_the_graphs_that_heterollm_names) {
  const std::vector<DeviceTraits> devices = devices_with(kPowersOfTwo);
  const Pass pass(300, 1024);
  const auto parts = [&](const char* name) {
    return parts_of(make(find_strategy(name), pass, std::span(devices).first(2)));
  };
  EXPECT_THAT(parts("padding"), ::testing::ElementsAre("npu 512"));
  EXPECT_THAT(parts("pipe"), ::testing::ElementsAre("npu 256", "npu 32", "npu 32"));
  EXPECT_THAT(parts("online"), ::testing::ElementsAre("npu 300"));
  EXPECT_THAT(parts("chunked"), ::testing::ElementsAre("npu 256", "npu 256"));
  EXPECT_THAT(parts("layer"), ::testing::ElementsAre("npu 256", "npu 32", "npu 32")) << "320 tokens cost less than 512";
}

TEST(Baselines, online_says_that_it_compiles) {
  const std::vector<DeviceTraits> devices = devices_with(kPowersOfTwo);
  const Pass pass(135, 1024);
  EXPECT_THAT(make(find_strategy("online"), pass, std::span(devices).first(2)).notes,
              ::testing::Contains(HasSubstr("compiled for 135 tokens")));
}

TEST(Tensor, tells_how_each_shape_was_decided) {
  const std::vector<DeviceTraits> devices = devices_with(kPowersOfTwo);
  const Pass pass(300, 1024);
  const Plan plan = make(find_strategy("tensor"), pass, std::span(devices).first(2));
  ASSERT_EQ(plan.decisions.size(), 2u) << "300 tokens, and the last one";
  EXPECT_EQ(plan.decisions[0].name, "matmul");
  EXPECT_EQ(plan.decisions[0].shape.S, 300);
  EXPECT_EQ(plan.decisions[0].operators, 1);
  EXPECT_THAT(plan.decisions[0].decision.why, HasSubstr("takes"));
  EXPECT_EQ(plan.decisions[1].name, "output");
  EXPECT_EQ(plan.decisions[1].decision.chosen.cut.kind, CutKind::gpu_all) << "32 on the NPU for one";
}

TEST(Tensor, decides_once_for_all_matmuls_of_one_shape) {
  Pass pass(64, 64);
  const Operator matmul = pass.operators[1];
  for (int layer = 0; layer < 4; ++layer) pass.operators.push_back({"blk." + std::to_string(layer), matmul.body});
  const std::vector<DeviceTraits> devices = devices_with(kPowersOfTwo);
  int asked = 0;
  PlanRequest request{pass.operators, std::span(devices).first(2), {}, false};
  request.costs.seconds = [&](int, const Operator& op, bool) {
    asked += tokens_of(op) > 1;
    return 1.0;
  };
  const Plan plan = find_strategy("tensor").make(request);
  EXPECT_EQ(plan.decisions[0].operators, 5);
  const int asked_for_five = asked;
  request.operators = std::span(pass.operators).first(4);
  asked = 0;
  find_strategy("tensor").make(request);
  EXPECT_EQ(asked, asked_for_five);
}

TEST(Tensor, leaves_what_the_npu_would_round_to_the_gpu) {
  for (const StorageType type : {StorageType::f32, StorageType::bf16}) {
    Pass pass(64, 64);
    std::get<MatMul>(pass.operators[1].body).w.format = packed_format(type);
    const std::vector<DeviceTraits> devices = devices_with(kPowersOfTwo);
    const Plan plan = make(find_strategy("tensor"), pass, std::span(devices).first(2));
    EXPECT_THAT(parts_of(plan), ::testing::ElementsAre("gpu 64")) << info(type).name;
  }
}

TEST(Tensor, goes_as_rows_where_the_user_gives_the_shares) {
  const Pass pass(64, 64);
  const std::vector<DeviceTraits> devices = devices_with(kPowersOfTwo);
  PlanRequest request{pass.operators, std::span(devices).first(2), {}, false};
  request.shares.otherwise = {0.5, 0.5};
  request.costs.seconds = [](int, const Operator&, bool) -> double { throw Error("asked", "costs"); };
  const Plan plan = find_strategy("tensor").make(request);
  EXPECT_THAT(parts_of(plan), ::testing::UnorderedElementsAre("gpu 64", "npu 64"));
  EXPECT_THAT(plan.decisions, IsEmpty());
}

}  // namespace
}  // namespace tandem
