// `tandem npu gemm`: its figures, its check, and what it rejects as wrong usage.
#include "engine/app/commands/models/npu_gemm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/engine/app/program.h"

namespace tandem {
namespace {

using ::tandem::testing::Outcome;
using ::tandem::testing::tandem_program;
using ::testing::HasSubstr;

std::vector<std::string> gemm(std::vector<std::string> more) {
  more.insert(more.begin(), {"npu", "gemm"});
  return more;
}

TEST(NpuGemm, prints_the_figures_of_a_product_as_json) {
  const Outcome run = tandem_program(gemm(
      {"--rows", "8", "--cols", "8", "--dataflow", "ws", "-M", "33", "-K", "65", "-N", "97", "--stepped", "--json"}));
  ASSERT_EQ(0, run.status) << run.err;
  const nlohmann::json json = nlohmann::json::parse(run.out);
  // 9 x 13 folds take 8 + 33 + 7 + 7 cycles each, less one in all.
  EXPECT_EQ(6434, json["cycles"]);
  EXPECT_EQ(117, json["folds"]);
  EXPECT_DOUBLE_EQ(33.0 * 65 * 97 / (64 * 6434), json["utilization"].get<double>());
  EXPECT_EQ(true, json["bit_equal"]);
  // The result is an f32 chain of 65 products below 1/sqrt(65) each. It has at most 65 roundings of sums below 8.
  EXPECT_LT(json["max_abs_error"].get<double>(), 65 * 8 * 0x1p-24);
  EXPECT_GT(json["max_abs_error"].get<double>(), 0);
}

TEST(NpuGemm, checks_every_format_and_dataflow_stepped_against_fast) {
  for (const char* format : {"fp16", "int8", "int4"}) {
    for (const char* dataflow : {"ws", "os", "is"}) {
      const Outcome run =
          tandem_program(gemm({"--rows", "5", "--cols", "7", "--dataflow", dataflow, "--format", format, "-M", "9",
                               "-K", "64", "-N", "11", "--stepped", "--json", "--seed", "3"}));
      ASSERT_EQ(0, run.status) << run.err;
      EXPECT_EQ(true, nlohmann::json::parse(run.out)["bit_equal"]) << format << " " << dataflow;
    }
  }
}

TEST(NpuGemm, tells_a_person_the_same) {
  const Outcome run = tandem_program(gemm({"--rows", "32", "--cols", "32", "-M", "7", "-K", "32", "-N", "32"}));
  ASSERT_EQ(0, run.status) << run.err;
  // One fold takes 32 + 7 + 31 + 31 cycles, less one.
  EXPECT_THAT(run.out, HasSubstr("100 in 1 folds"));
  EXPECT_THAT(run.out, HasSubstr("max abs error"));
}

TEST(NpuGemm, calls_bad_arguments_wrong_usage) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"-M", "1", "-K", "1"},
      {"-M", "0", "-K", "1", "-N", "1"},
      {"-M", "-3", "-K", "1", "-N", "1"},
      {"-M", "1", "-K", "1", "-N", "x"},
      {"-M", "1", "-K", "1", "-N", "1", "--rows", "0"},
      {"-M", "1", "-K", "1", "-N", "1", "--cols", "5000"},
      {"-M", "1", "-K", "1", "-N", "1", "--dataflow", "rs"},
      {"-M", "1", "-K", "1", "-N", "1", "--format", "fp64"},
      {"-M", "1", "-K", "33", "-N", "1", "--format", "int4"},
      {"-M", "1", "-K", "131072", "-N", "1", "--format", "int8"},
      {"-M", "1000000", "-K", "1000000", "-N", "1"},
      {"-M", "4096", "-K", "4096", "-N", "4096", "--stepped"},
      {"-M", "1", "-K", "1", "-N", "1", "--params", "/nonexistent.json"},
  };
  for (const auto& arguments : wrong) {
    const Outcome run = tandem_program(gemm(arguments));
    EXPECT_EQ(2, run.status) << ::testing::PrintToString(arguments);
    EXPECT_EQ("", run.out);
  }
  EXPECT_EQ(2, tandem_program({"npu"}).status);
}

}  // namespace
}  // namespace tandem
