// `tandem bench`: which tests it runs and what it prints about them. The tests judge no time.
#include "engine/app/commands/bench/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "engine/app/commands/bench/bench_breakdown.h"
#include "engine/app/commands/bench/bench_roofline.h"
#include "engine/app/commands/bench/bench_row.h"
#include "engine/measure/roofline_loops.h"
#include "sync/error.h"
#include "tests/engine/app/program.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using app::BenchFlags;
using app::BenchRow;
using nlohmann::json;
using ::tandem::testing::Outcome;
using ::tandem::testing::tandem_program;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> test_names(const BenchFlags& flags) {
  std::vector<std::string> names;
  for (const BenchRow& row : app::bench_rows(flags)) names.push_back(row.test());
  return names;
}

TEST(BenchRows, are_every_test_at_every_depth_under_llama_benchs_names) {
  BenchFlags flags;
  flags.n_prompt = {256, 0};
  flags.n_gen = {64, 16};
  flags.n_depth = {0, 1024};
  EXPECT_THAT(test_names(flags), ElementsAre("pp256", "tg64", "tg16", "pp256 @ d1024", "tg64 @ d1024", "tg16 @ d1024"));
}

TEST(BenchRows, cannot_be_none) {
  BenchFlags flags;
  flags.n_prompt = flags.n_gen = {0};
  EXPECT_THROW(app::bench_rows(flags), Error);
}

TEST(BenchRows, turn_seconds_into_rates_with_their_mean_and_spread) {
  BenchRow row{0, 8, 100, {2, 4}, {}, {}};
  EXPECT_THAT(row.rates(), ElementsAre(4.0, 2.0));  // tokens that were in the context before do not count
  const auto [mean, deviation] = app::mean_and_spread(row.rates());
  EXPECT_DOUBLE_EQ(mean, 3);
  EXPECT_DOUBLE_EQ(deviation, std::sqrt(2.0));  // (1 + 1) / (2 - 1)
}

std::vector<app::BenchPass> passes(int64_t n_prompt, int64_t n_gen, int64_t n_depth, int64_t chunk) {
  return app::passes_of({n_prompt, n_gen, n_depth, {}, {}, {}}, chunk);
}

TEST(BenchRows, are_passes_of_one_piece_each_with_logits_of_the_last_token_of_a_prompt) {
  EXPECT_THAT(passes(600, 0, 10, 256),
              ElementsAre(app::BenchPass{{256, 0}, 10}, app::BenchPass{{256, 0}, 266}, app::BenchPass{{88, 1}, 522}));
  EXPECT_THAT(passes(0, 2, 7, 256), ElementsAre(app::BenchPass{{1, 1}, 7}, app::BenchPass{{1, 1}, 8}));
}

std::string printed(const Breakdown& breakdown) {
  BenchRow row{0, 2, 0, {0.5}, {}, breakdown};
  ::testing::internal::CaptureStdout();
  app::print_breakdown(row);
  return ::testing::internal::GetCapturedStdout();
}

TEST(BenchBreakdown, says_what_is_special_about_its_times_and_nothing_otherwise) {
  Breakdown breakdown{1.0, 2, {{"gpu", "matmul", 4, 0.25, 1e9, 2e9}, {"gpu", Breakdown::kIdle, 0, 0.75, 0, 0}}, false};
  EXPECT_EQ(printed(breakdown),
            "\ntg2: 2 recorded passes, 1000.00 ms (500.00 ms when nothing is recorded)\n\n"
            "| device | time in | launches | ms | share | GB/s | GFLOP/s |\n"
            "| --- | --- | ---: | ---: | ---: | ---: | ---: |\n"
            "| gpu | matmul | 4 | 250.000 | 25.0 % | 4.00 | 8.00 |\n"
            "| gpu | idle / launching |  | 750.000 | 75.0 % |  |  |\n");
  breakdown.alone = true;
  EXPECT_THAT(printed(breakdown), HasSubstr("kernel by kernel"));
  breakdown.lines[0].what = kSeveral;
  EXPECT_THAT(printed(breakdown), HasSubstr("whole steps"));
  breakdown.lines[1].seconds = 0.7;
  EXPECT_THAT(printed(breakdown), HasSubstr("Notice: the lines of gpu add up to 950.000 ms, 50.000 ms less"));
}

// Runs the program on a random model of two layers that the test writes itself. The model's context holds 128 tokens.
class BenchProgram : public ::testing::Test {
 protected:
  BenchProgram() { testing::write_file(path_, testing::write_gguf(testing::TinyModel{})); }

  Outcome bench(std::vector<std::string> more) const {
    std::vector<std::string> arguments{"bench", "-m", path_, "--device", "host", "--plan", "host-only"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return tandem_program(arguments);
  }

  const testing::ScratchFolder folder_;
  const std::string path_ = folder_.file("tiny.gguf");
};

TEST_F(BenchProgram, times_every_test_at_every_depth) {
  const Outcome outcome = bench({"-p", "8", "-n", "2", "-d", "0,16", "-r", "2", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json rows = json::parse(outcome.out);
  ASSERT_EQ(rows.size(), 4u);
  const int expected[][3] = {{8, 0, 0}, {0, 2, 0}, {8, 0, 16}, {0, 2, 16}};
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].at("n_prompt"), expected[i][0]);
    EXPECT_EQ(rows[i].at("n_gen"), expected[i][1]);
    EXPECT_EQ(rows[i].at("n_depth"), expected[i][2]);
    EXPECT_EQ(rows[i].at("samples_ns").size(), 2u);
    for (const json& nanoseconds : rows[i].at("samples_ns")) EXPECT_GT(nanoseconds.get<double>(), 0);
  }
}

// Twelve times eight tokens one behind the other do not fit into its context.
TEST_F(BenchProgram, begins_every_repetition_at_its_depth) {
  const Outcome outcome = bench({"-p", "8", "-n", "0", "-r", "12", "--json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err << outcome.out;
}

TEST_F(BenchProgram, opens_a_context_that_holds_the_deepest_test) {
  const Outcome outcome = bench({"-p", "0", "-n", "3", "-d", "197", "-r", "1"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("| tg3 @ d197 |"));
}

TEST_F(BenchProgram, compares_each_test_with_what_the_cores_can_do) {
  const Outcome outcome = bench({"-p", "4", "-n", "1", "-d", "5", "-r", "1", "--roofline", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json rows = json::parse(outcome.out);
  ASSERT_EQ(rows.size(), 2u);
  // The tiny model has 2 layers: q, k and v are 64 x (64 + 2 x 32), attention's output is 64 x 64, gate and up are 64 x
  // 192, down is 96 x 64. A layer has 30720 weights. The output matrix is 64 x 320. Rows come in panels of 64, and all
  // of these matrices fill theirs.
  constexpr double kLayers = 2, kLayerWeights = 64 * 128 + 64 * 64 + 64 * 192 + 96 * 64, kOutputWeights = 64 * 320;
  // The last layer computes q, k and v for four tokens, and everything else for the one token with logits.
  constexpr double kQkvWeights = 64 * 128, kLastLayer = 4 * kQkvWeights + (kLayerWeights - kQkvWeights);
  // 4 heads of 16 make 4 x 16 x 4 flops a position. Tokens see 6, 7, 8 and 9 positions.
  EXPECT_EQ(rows[0].at("flops"), 2 * (4 * kLayerWeights + kLastLayer + kOutputWeights) + 256 * (6 + 7 + 8 + 9 + 9));
  EXPECT_EQ(rows[1].at("flops"), 2 * (kLayers * kLayerWeights + kOutputWeights) + kLayers * 256 * 6);
  // The bytes are f32 weights, keys and values of 2 x 16 in f16 at 6 positions, and one row of the embedding.
  EXPECT_EQ(rows[1].at("bytes_per_token"), 4 * (kLayers * kLayerWeights + kOutputWeights) + kLayers * 6 * 128 + 256);
  for (const json& row : rows) {
    for (const char* key : {"gbps", "dram_read_gbps", "dram_read_one_thread_gbps", "gflops", "fma_peak_gflops",
                            "fma_peak_one_core_gflops", "dram_share", "fma_share"}) {
      EXPECT_GT(row.at(key).get<double>(), 0) << key;
    }
    EXPECT_DOUBLE_EQ(row.at("gbps"), row.at("bytes_per_token").get<double>() * row.at("avg_ts").get<double>() * 1e-9);
    EXPECT_DOUBLE_EQ(row.at("fma_share"), row.at("gflops").get<double>() / row.at("fma_peak_gflops").get<double>());
  }
}

TEST_F(BenchProgram, says_under_the_table_what_the_peaks_were_measured_with) {
  const Outcome outcome = bench({"-p", "4", "-n", "0", "-r", "1", "--roofline"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(roofline_loops().instruction_set));
  EXPECT_THAT(outcome.out, HasSubstr("memory read GB/s"));
}

TEST_F(BenchProgram, says_where_the_time_of_each_test_went) {
  const Outcome outcome = bench({"-p", "8", "-n", "3", "-d", "2", "-r", "1", "--breakdown", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json rows = json::parse(outcome.out);
  ASSERT_EQ(rows.size(), 2u);
  for (size_t i = 0; i < rows.size(); ++i) {
    const json& breakdown = rows[i].at("breakdown");
    const int passes = i == 0 ? 1 : 3;
    EXPECT_EQ(breakdown.at("passes"), passes);
    EXPECT_EQ(breakdown.at("notices"), json::array()) << "the lines of a device add up to the wall clock";
    std::map<std::string, json> lines;
    double sum = 0;
    for (const json& line : breakdown.at("lines")) {
      EXPECT_EQ(line.at("device"), "host");
      lines[line.at("what")] = line;
      sum += line.at("ms").get<double>();
    }
    EXPECT_NEAR(sum, breakdown.at("wall_ms").get<double>(), 0.03 * breakdown.at("wall_ms").get<double>());
    // A pass runs two layers of four matrices each, and the output matrix.
    EXPECT_EQ(lines.at("matmul").at("launches"), 9 * passes);
    EXPECT_EQ(lines.at("attention").at("launches"), 2 * passes);
    EXPECT_EQ(lines.at("embed").at("launches"), passes);
    EXPECT_EQ(lines.at("waits for others").at("ms"), 0) << "there is nobody else";
  }
  // 4 heads x 4 x 16 flops a position. Tokens see 3 to 10 positions, and the last layer runs attention for the last
  // token only.
  for (const json& line : rows[0].at("breakdown").at("lines")) {
    if (line.at("what") != "attention") continue;
    EXPECT_EQ(line.at("flops"), 256 * (3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 10));
  }
}

TEST_F(BenchProgram, prints_a_breakdown_under_the_table_and_takes_no_trace_with_it) {
  const Outcome outcome = bench({"-p", "0", "-n", "1", "-r", "1", "--breakdown"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("tg1: 1 recorded pass,"));
  EXPECT_THAT(outcome.out, HasSubstr("| host | matmul | 9 |"));
  EXPECT_THAT(outcome.out, HasSubstr("| host | idle / launching |"));
  EXPECT_EQ(bench({"--breakdown", "--trace", "trace.json"}).status, 2);
}

TEST_F(BenchProgram, refuses_a_depth_that_is_no_number_of_tokens) {
  EXPECT_EQ(bench({"-d", "-1"}).status, 2);
  EXPECT_EQ(bench({"-d", "deep"}).status, 2);
}

}  // namespace
}  // namespace tandem
