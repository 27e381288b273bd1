#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/paper/report.h"
#include "bench/paper_gpu_ndp/calibrate.h"
#include "bench/paper_gpu_ndp/row.h"
#include "tests/bench/bench_program.h"
#include "tests/support/scratch_folder.h"

namespace tandem::paper_gpu_ndp {
namespace {

using paper::number_of;
using testing::bench_program;
using testing::content_of;
using ::testing::ElementsAre;
using testing::Ended;
using ::testing::HasSubstr;

Lab& shared_lab() {
  static Lab lab;
  return lab;
}

const std::vector<Result>& judged_rows() {
  static const std::vector<Result> results = paper::judge_all(all_rows(), shared_lab(), kBars);
  return results;
}

// ---- the machine, on numbers worked out by hand

// Qwen3's expert: 3 * 2048 * 768 * 2 = 9,437,184 bytes. At 63, 102.4 and 960 GB/s: 149.8, 92.16 and 9.83 us. A unit
// multiplies 4,718,592 times at 51.2 G a second: 92.16 us too.
TEST(paper_gpu_ndp_machine, moves_and_computes_an_expert_as_the_notes_say) {
  const NearMemoryTimes one = times_of({}, NdpModel::qwen3, 1);
  EXPECT_NEAR(one.move_expert, 149.8e-6, 0.1e-6);
  EXPECT_NEAR(one.unit_expert, 92.16e-6, 1e-9);
  EXPECT_NEAR(one.gpu_expert, 9.8304e-6, 1e-10);
  EXPECT_NEAR(one.move_activation, 4096 / 63e9, 1e-15);
  for (const NdpModel model : kNdpModels)
    for (const int64_t units : kUnitCounts) {
      const NearMemoryTimes times = times_of({}, model, units);
      EXPECT_NEAR(times.move_expert / times.unit_expert, 102.4 / 63 * static_cast<double>(units), 1e-9);
    }
}

TEST(paper_gpu_ndp_machine, holds_eighteen_of_twenty_cells) {
  EXPECT_EQ(cells(shared_lab()).size(), 18u);
  EXPECT_FALSE(is_supported({}, NdpModel::mixtral, 2));
  EXPECT_TRUE(is_supported({}, NdpModel::mixtral, 3));
  EXPECT_TRUE(is_supported({}, NdpModel::qwen3, 2));
}

// Qwen3: (16 - 1 - 3.1) / 0.453 = 26. Phi: 11.8 / 5.03 = 2. Mixtral: 11.8 / 11.27 = 1.
TEST(paper_gpu_ndp_machine, fills_the_gpu_with_whole_rounds_of_layers) {
  EXPECT_EQ(fill_of({}, NdpModel::qwen3), 26);
  EXPECT_EQ(fill_of({}, NdpModel::phi), 2);
  EXPECT_EQ(fill_of({}, NdpModel::mixtral), 1);
  EXPECT_EQ(ablation_prefetch({}, NdpModel::qwen3), 8) << "TopK";
  EXPECT_EQ(ablation_prefetch({}, NdpModel::deepseek), 6) << "TopK of the table, shared experts among them";
  EXPECT_EQ(ablation_prefetch({}, NdpModel::mixtral), 1) << "what fits";
  NdpMachine small;
  small.gpu_bytes = 1e9;
  EXPECT_EQ(fill_of(small, NdpModel::mixtral), 0);
}

TEST(paper_gpu_ndp_machine, places_whole_experts_cyclically) {
  EXPECT_THAT(cyclic_counts({0, 1, 2, 4, 6}, 2), ElementsAre(4, 1));
  EXPECT_THAT(cyclic_counts({5, 2}, 3), ElementsAre(0, 0, 2));
}

// ---- the engines

// A token of Qwen3 on any number of units: 8 T_n and the activations.
TEST(paper_gpu_ndp_lab, computes_a_token_by_tensor_parallelism_without_the_gpu) {
  const NearMemoryTimes times = times_of({}, NdpModel::qwen3, 4);
  EXPECT_NEAR(shared_lab().token_seconds(NdpModel::qwen3, 4, NdpEngine::tp),
              8 * times.unit_expert + 5 * times.move_activation, 1e-12);
  EXPECT_NEAR(shared_lab().token_seconds(NdpModel::qwen3, 4, NdpEngine::tp_lb),
              decode_balance(times, 8).on_units * times.unit_expert + 5 * times.move_activation, 1e-12);
  EXPECT_NEAR(shared_lab().token_seconds(NdpModel::qwen3, 4, NdpEngine::fiddler), 8 * 9437184 / 89.6e9, 1e-12);
}

// With every expert resident the GPU takes Eq. 3's number of them.
TEST(paper_gpu_ndp_lab, leaves_hits_beyond_the_bound_to_the_units) {
  const NearMemoryTimes times = times_of({}, NdpModel::qwen3, 4);
  const auto on_gpu = static_cast<double>(gpu_expert_bound(times, 8).used);
  EXPECT_EQ(on_gpu, 5) << "8 * 23.04 / (9.83 + 23.04)";
  EXPECT_NEAR(shared_lab().token_seconds(NdpModel::qwen3, 4, NdpEngine::all, 128),
              std::max(on_gpu * times.gpu_expert, (8 - on_gpu) * times.unit_expert + 5 * times.move_activation), 1e-12);
  EXPECT_NEAR(shared_lab().token_seconds(NdpModel::qwen3, 4, NdpEngine::all, 0),
              shared_lab().token_seconds(NdpModel::qwen3, 4, NdpEngine::tp_lb), 1e-15)
      << "no hit: Eq. 1";
}

TEST(paper_gpu_ndp_lab, gains_more_by_counts_than_by_a_share) {
  for (const Cell& cell : cells(shared_lab()))
    EXPECT_LT(prompt_of(shared_lab(), cell, NdpEngine::by_counts), prompt_of(shared_lab(), cell, NdpEngine::tp_lb));
}

TEST(paper_gpu_ndp_lab, draws_tokens_with_different_experts_and_shared_ones) {
  const Traffic traffic = drawn_traffic(NdpModel::deepseek, kSkew);
  for (const RoutedToken& token : traffic.tokens) {
    EXPECT_EQ(std::set(token.experts.begin(), token.experts.end()).size(), 8u);
    EXPECT_THAT(token.experts, ::testing::IsSupersetOf({64, 65}));
  }
  for (const std::vector<int64_t>& loads : traffic.prompts) {
    int64_t sum = 0;
    for (const int64_t load : loads) sum += load;
    EXPECT_EQ(sum, 512 * 8);
  }
}

// ---- the rows

TEST(paper_gpu_ndp, every_printed_number_has_a_row_in_the_papers_order) {
  std::set<int> numbers;
  int last = 0;
  for (const Row& row : all_rows()) {
    EXPECT_GE(number_of(row.id), last) << row.id;
    numbers.insert(last = number_of(row.id));
    EXPECT_LE(row.printed_low, row.printed_high) << row.id;
    EXPECT_TRUE(row.modelled || row.use == Use::unpredicted) << row.id << " " << row.what;
    EXPECT_TRUE(row.use == Use::held_out || !row.note.empty()) << row.id << " " << row.what << " says no reason";
  }
  for (int number = 1; number <= 26; ++number) EXPECT_TRUE(numbers.contains(number)) << "GF" << number;
}

TEST(paper_gpu_ndp, sizes_and_examples_are_exact) {
  std::set<int> exact;
  for (const Result& result : judged_rows()) {
    const int number = number_of(result.row.id);
    if (result.row.use != Use::held_out || result.row.kind != Kind::exact || (number >= 16 && number <= 19)) continue;
    EXPECT_EQ(result.verdict, paper::Verdict::exact) << result.row.id << " " << result.row.what;
    exact.insert(number);
  }
  EXPECT_THAT(exact, ElementsAre(1, 2, 3, 20, 21, 24, 25, 26));
}

TEST(paper_gpu_ndp, gains_are_within_15_percent_and_trends_are_right) {
  std::set<int> met;
  for (const Result& result : judged_rows()) {
    if (result.row.use != Use::held_out) continue;
    EXPECT_TRUE(result.met) << result.row.id << " " << result.row.what << " " << result.error;
    met.insert(number_of(result.row.id));
  }
  EXPECT_THAT(met, ::testing::IsSupersetOf({4, 5, 7, 8, 12, 13, 16, 17, 18, 19}));
}

TEST(paper_gpu_ndp, numbers_that_contradict_others_are_predicted_and_not_judged) {
  for (const Result& result : judged_rows()) {
    if (result.row.id != "GF9") continue;
    EXPECT_EQ(result.row.use, Use::conflict);
    EXPECT_LT(result.error, -0.15) << "an end-to-end mean cannot be that of the experts' decode";
  }
}

TEST(paper_gpu_ndp, held_out_rows_have_no_number_that_calibration_reads) {
  for (const Row& row : all_rows()) {
    if (row.use != Use::held_out) continue;
    for (const double number : {1.26, 1.46, 2.41, 5.49}) EXPECT_NE(row.printed_low, number) << row.id;
  }
}

TEST(paper_gpu_ndp, calibration_finds_the_skew_that_is_built_in) {
  const Calibration fitted = calibrate();
  EXPECT_NEAR(fitted.skew, kSkew, 1e-9);
  EXPECT_EQ(fitted.residuals.size(), 4u);
}

// ---- the program

TEST(paper_gpu_ndp_program, writes_its_rows_as_text_json_and_page) {
  const testing::ScratchFolder folder;
  const std::string json = folder.file("rows.json"), html = folder.file("rows.html");
  const Ended ended = bench_program("paper-gpu-ndp", "--json '" + json + "' --html '" + html + "'");
  EXPECT_EQ(ended.status, 0) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("Modelled, not measured"));
  EXPECT_EQ(nlohmann::json::parse(content_of(json)).at("rows").size(), judged_rows().size());
  EXPECT_THAT(content_of(html), HasSubstr("<svg"));
}

TEST(paper_gpu_ndp_program, refuses_what_it_does_not_know) {
  for (const char* wrong : {"--nothing", "--json", "--soc m2-ultra", "-o x"})
    EXPECT_EQ(bench_program("paper-gpu-ndp", wrong).status, 2) << wrong;
  EXPECT_EQ(bench_program("paper-gpu-ndp", "--json /nowhere/rows.json").status, 1);
}

}  // namespace
}  // namespace tandem::paper_gpu_ndp
