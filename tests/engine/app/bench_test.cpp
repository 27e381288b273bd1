// `tandem bench`: which tests it runs and what it prints of them. No time is judged.
#include "engine/app/commands/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/app/commands/bench_row.h"
#include "sync/error.h"
#include "tests/engine/app/program.h"
#include "tests/support/gguf_writer.h"

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
  BenchRow row{0, 8, 100, {2, 4}};
  EXPECT_THAT(row.rates(), ElementsAre(4.0, 2.0));  // what was in the context before does not count
  const auto [mean, deviation] = app::mean_and_spread(row.rates());
  EXPECT_DOUBLE_EQ(mean, 3);
  EXPECT_DOUBLE_EQ(deviation, std::sqrt(2.0));  // (1 + 1) / (2 - 1)
}

// The program on a random model of two layers that the test writes itself; its context holds 128 tokens.
class BenchProgram : public ::testing::Test {
 protected:
  BenchProgram() { testing::write_file(path_, testing::write_gguf(testing::TinyModel{})); }
  ~BenchProgram() override { std::filesystem::remove(path_); }

  Outcome bench(std::vector<std::string> more) const {
    std::vector<std::string> arguments{"bench", "-m", path_, "--device", "host", "--plan", "host-only", "-r", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return tandem_program(arguments);
  }

  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("tandem_bench_" + std::to_string(getpid()) + ".gguf")).string();
};

TEST_F(BenchProgram, times_every_test_at_every_depth) {
  const Outcome outcome = bench({"-p", "8", "-n", "2", "-d", "0,16", "--json"});
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

TEST_F(BenchProgram, opens_a_context_that_holds_the_deepest_test) {
  const Outcome outcome = bench({"-p", "0", "-n", "3", "-d", "197"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("| tg3 @ d197 |"));
}

TEST_F(BenchProgram, refuses_a_depth_that_is_no_number_of_tokens) {
  EXPECT_EQ(bench({"-d", "-1"}).status, 2);
  EXPECT_EQ(bench({"-d", "deep"}).status, 2);
}

}  // namespace
}  // namespace tandem
