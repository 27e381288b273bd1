#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "bench/paper/options.h"
#include "bench/paper/report.h"
#include "bench/paper_npumoe/calibrate.h"
#include "bench/paper_npumoe/row.h"
#include "sync/error.h"
#include "tests/bench/bench_program.h"
#include "tests/support/scratch_folder.h"

namespace tandem::paper_npumoe {
namespace {

using paper::number_of;
using paper::Printed;
using paper::Verdict;
using testing::bench_program;
using testing::content_of;
using testing::Ended;
using ::testing::HasSubstr;

constexpr const char* kProfile = "m2-ultra";

std::vector<Result> judged_rows() {
  Traffic traffic;
  Lab lab(soc_profile(kProfile), traffic);
  return paper::judge_all(all_rows(), lab, kBars);
}

TEST(paper_npumoe, every_printed_number_has_a_row_in_the_papers_order) {
  std::set<int> numbers;
  int last = 0;
  for (const Row& row : all_rows()) {
    const int number = paper::number_of(row.id);
    EXPECT_GE(number, last) << row.id;
    numbers.insert(last = number);
    EXPECT_LE(row.printed_low, row.printed_high) << row.id;
    EXPECT_TRUE(row.modelled || row.use == Use::unpredicted || row.use == Use::input) << row.id << " " << row.what;
    EXPECT_TRUE(row.use == Use::held_out || !row.note.empty()) << row.id << " " << row.what << " says no reason";
  }
  EXPECT_EQ(numbers.size(), 59u);
  EXPECT_EQ(*numbers.rbegin(), 59);
}

// A number that calibrate.cpp reads is no evidence.
TEST(paper_npumoe, held_out_rows_and_calibration_rows_share_no_number) {
  std::set<std::string> fitted;
  for (const Row& row : all_rows())
    if (row.use == Use::calibration) fitted.insert(row.id + row.what + row.unit);
  EXPECT_EQ(fitted.size(), 20u);
  for (const Row& row : all_rows()) {
    if (row.use != Use::held_out) continue;
    EXPECT_FALSE(fitted.contains(row.id + row.what + row.unit)) << row.what;
    for (const double number : {969.53, 3369.86, 3.78, 1.276, 0.1466, 1.43, 1.16, 0.31, 0.79})
      EXPECT_NE(row.printed_low, number) << row.id << " is a number that calibration reads";
  }
}

TEST(paper_npumoe, the_order_of_the_engines_is_the_printed_one_everywhere) {
  int orders = 0;
  for (const Result& result : judged_rows()) {
    if (!result.row.what.starts_with("order:")) continue;
    ++orders;
    EXPECT_EQ(result.verdict, Verdict::exact) << result.row.what;
  }
  EXPECT_EQ(orders, 4);
}

TEST(paper_npumoe, four_in_five_held_out_numbers_of_table_5_meet_their_bar) {
  int judged = 0, met = 0;
  for (const Result& result : judged_rows()) {
    const int number = std::stoi(result.row.id.substr(2));
    if (number < 43 || number > 47 || result.verdict == Verdict::not_judged) continue;
    ++judged;
    met += result.met;
  }
  EXPECT_GE(judged, 28);
  EXPECT_GE(10 * met, 8 * judged);
}

TEST(paper_npumoe, reports_count_what_the_rows_say) {
  const std::vector<Result> results = judged_rows();
  const paper::Summary sum = paper::summarize(results);
  EXPECT_GE(sum.met, 57);
  EXPECT_EQ(sum.judged, sum.exact + sum.within_10 + sum.within_15 + sum.missed);
  EXPECT_EQ(sum.met, sum.judged - sum.missed);
  const paper::Heading heading{"NPUMoE", "paper-npumoe", kProfile, "15 %", "they pass too", "inputs"};
  const nlohmann::json json = nlohmann::json::parse(paper::json_report(results, heading));
  EXPECT_EQ(json["rows"].size(), results.size());
  EXPECT_EQ(json["met"], sum.met);
  EXPECT_EQ(json["bench"], "paper-npumoe");
  EXPECT_THAT(paper::text_report(results, heading), HasSubstr("within 25 % and"));
  EXPECT_THAT(paper::html_report(results, heading), HasSubstr("NPUMoE's printed numbers"));
}

TEST(paper_npumoe, misses_are_graded) {
  const paper::Bars bars = kBars;
  const auto verdict = [&](double printed, double modelled, const char* unit) {
    return paper::judged({"X", "a row", unit, printed, printed, Use::held_out, Kind::ratio, ""}, modelled, bars)
        .verdict;
  };
  EXPECT_EQ(verdict(2, 2.28, "x"), Verdict::within_15);
  EXPECT_EQ(verdict(2, 2.5, "x"), Verdict::within_25);
  EXPECT_EQ(verdict(2, 1.2, "x"), Verdict::right_side);
  EXPECT_EQ(verdict(2, 0.9, "x"), Verdict::miss);
  EXPECT_EQ(verdict(2, 4, "mJ"), Verdict::miss) << "no ratio has no side";
  EXPECT_FALSE(paper::judged({"X", "a row", "x", 2, 2, Use::held_out, Kind::ratio, ""}, 2.5, bars).met);
}

// Calibration starts from constants that are off, and finds those of the built-in profile.
TEST(paper_npumoe, calibration_reproduces_the_built_in_profile) {
  const SocProfile committed = soc_profile(kProfile);
  SocProfile start = committed;
  for (const char* key : {"launch_seconds", "flops", "weight_bytes_per_second", "cpu_flops", "attention_flops",
                          "naive_sync_seconds", "cpu_watts", "static_watts"}) {
    const std::string path = std::string("experts.") + key;
    set_number(start, path, 1.5 * number_of(committed, path), "off");
  }
  Traffic traffic;
  const Calibration calibration = calibrate(start, traffic);
  EXPECT_EQ(calibration.residuals.size(), 18u);
  for (const paper::Residual& residual : calibration.residuals) {
    const double value = number_of(committed, residual.key);
    EXPECT_NEAR(residual.value, value, 0.002 * value) << residual.key;
    EXPECT_THAT(calibration.profile.sources.at(residual.key), HasSubstr("calibrated: NPUMoE, NF"));
    EXPECT_LT(std::abs(residual.error()), 0.14) << residual.key;
  }
}

TEST(paper_npumoe, the_drawn_routing_is_the_calibrated_one) {
  const RoutingModel best = calibrated_routing(soc_profile(kProfile).experts);
  EXPECT_DOUBLE_EQ(best.popularity_sigma, RoutingModel{}.popularity_sigma);
  EXPECT_DOUBLE_EQ(best.chunk_sigma, RoutingModel{}.chunk_sigma);
}

TEST(paper_npumoe, a_chip_without_experts_is_an_error_that_names_some_with) {
  Traffic traffic;
  try {
    const Lab lab(soc_profile("snapdragon-8gen3"), traffic);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("m2-ultra"));
  }
}

TEST(paper_options, are_files_a_profile_and_a_switch) {
  const auto options =
      paper::parse_options({"--json", "a", "--html", "b", "--soc", "c", "-o", "d", "--calibrate"}, "e");
  ASSERT_TRUE(options);
  EXPECT_EQ(options->json, "a");
  EXPECT_EQ(options->html, "b");
  EXPECT_EQ(options->soc, "c");
  EXPECT_EQ(options->output, "d");
  EXPECT_TRUE(options->calibrate);
  EXPECT_EQ(paper::parse_options({}, "e")->soc, "e");
  EXPECT_FALSE(paper::parse_options({"--json"}, "e"));
  EXPECT_FALSE(paper::parse_options({"--nothing", "a"}, "e"));
}

Ended program(const std::string& arguments) { return bench_program("paper-npumoe", arguments); }

TEST(paper_npumoe_program, writes_its_rows_as_text_json_and_page) {
  const testing::ScratchFolder folder;
  const std::string json = folder.file("rows.json"), html = folder.file("rows.html");
  const Ended ended = program("--soc m2-ultra --json '" + json + "' --html '" + html + "'");
  EXPECT_EQ(ended.status, 0) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("Modelled, not measured"));
  EXPECT_EQ(nlohmann::json::parse(content_of(json)).at("profile"), "m2-ultra");
  EXPECT_THAT(content_of(html), HasSubstr("<svg"));
}

TEST(paper_npumoe_program, calibrates_into_a_file_that_is_a_profile) {
  const testing::ScratchFolder folder;
  const std::string path = folder.file("mine.json");
  const Ended ended = program("--calibrate -o '" + path + "'");
  EXPECT_EQ(ended.status, 0) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("sigma of popularity 0.9"));
  EXPECT_TRUE(soc_profile(path).has_experts());
  EXPECT_EQ(program("--soc '" + path + "'").status, 0);
  EXPECT_THAT(program("--calibrate").out, HasSubstr("\"queue_gain\"")) << "without -o the profile is printed";
}

TEST(paper_npumoe_program, refuses_what_it_does_not_know) {
  EXPECT_EQ(program("--nothing").status, 2);
  const Ended ended = program("--soc apple-a18");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.out, HasSubstr("m2-ultra"));
}

}  // namespace
}  // namespace tandem::paper_npumoe
