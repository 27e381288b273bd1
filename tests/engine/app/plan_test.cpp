// `tandem plan`, and what --soc adds to other commands. Times come from the model clock or are only compared with
// each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/app/commands/planning/plan_report.h"
#include "tests/engine/app/program.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using nlohmann::json;
using ::tandem::testing::Outcome;
using ::tandem::testing::tandem_program;
using ::testing::HasSubstr;

json phases_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "plan");
  arguments.push_back("--json");
  const Outcome outcome = tandem_program(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return outcome.status == 0 ? json::parse(outcome.out) : json{{"phases", json::array()}};
}

// Expects that exactly one part computes each output row of each token.
void expect_covered(const json& matmul) {
  std::map<std::pair<int64_t, int64_t>, int> seen;  // corners of each part's area
  int64_t area = 0;
  for (const json& part : matmul.at("chosen").at("parts")) {
    const int64_t tokens = part.at("token_end").get<int64_t>() - part.at("token_begin").get<int64_t>();
    const int64_t rows = part.at("row_end").get<int64_t>() - part.at("row_begin").get<int64_t>();
    EXPECT_EQ((seen[{part.at("token_begin"), part.at("row_begin")}]++), 0);
    area += tokens * rows;
  }
  EXPECT_EQ(area, matmul.at("S").get<int64_t>() * matmul.at("N").get<int64_t>());
}

TEST(PlanProgram, plans_a_published_model_on_a_chip_without_a_file) {
  const json report = phases_of({"--shape", "llama-3-8b", "--soc", "snapdragon-8gen3", "--prompt", "300"});
  ASSERT_EQ(report.at("phases").size(), 2u);
  EXPECT_EQ(report.at("clock"), "modelled: snapdragon-8gen3");
  const json& prefill = report.at("phases")[0];
  EXPECT_EQ(prefill.at("tokens"), 300);
  EXPECT_EQ(prefill.at("plan"), "tensor");
  ASSERT_FALSE(prefill.at("matmuls").empty());
  int64_t matmuls = 0;
  for (const json& matmul : prefill.at("matmuls")) {
    expect_covered(matmul);
    EXPECT_FALSE(matmul.at("why").get<std::string>().empty());
    double least = std::numeric_limits<double>::infinity();
    for (const json& candidate : matmul.at("candidates")) least = std::min(least, candidate.at("ms").get<double>());
    EXPECT_EQ(matmul.at("chosen").at("ms"), least);
    for (const json& part : matmul.at("chosen").at("parts")) {
      if (part.at("side") == "npu") {
        EXPECT_THAT((std::set<int64_t>{1, 32, 64, 128, 256, 512, 1024}), ::testing::Contains(part.at("graph_tokens")));
      }
    }
    matmuls += matmul.at("operators").get<int64_t>();
  }
  EXPECT_EQ(matmuls, 32 * 7 + 1);  // q, k, v, o, gate, up and down of each layer; the output matrix
  EXPECT_GT(prefill.at("joules").get<double>(), 0);
  EXPECT_EQ(report.at("phases")[1].at("phase"), "decode");
}

TEST(PlanProgram, gives_each_step_a_device_and_an_interval_behind_what_it_waits_for) {
  const json report = phases_of({"--shape", "smollm2-135m", "--soc", "snapdragon-8gen3", "--prompt", "64"});
  for (const json& phase : report.at("phases")) {
    const json& steps = phase.at("steps");
    for (const json& step : steps) {
      EXPECT_TRUE(step.at("device") == "gpu" || step.at("device") == "npu");
      EXPECT_LE(step.at("start_ms").get<double>(), step.at("end_ms").get<double>());
      for (const json& awaited : step.at("waits"))
        EXPECT_LE(steps[awaited.get<size_t>()].at("end_ms").get<double>(), step.at("start_ms").get<double>());
      EXPECT_LE(step.at("end_ms").get<double>(), phase.at("predicted_ms").get<double>() + 1e-9);
    }
  }
}

TEST(PlanProgram, compiles_graphs_only_in_the_plan_online) {
  for (const std::string plan : {"online", "padding", "pipe", "chunked", "layer", "tensor"}) {
    const json report =
        phases_of({"--shape", "internlm2-1.8b", "--soc", "snapdragon-8gen3", "--prompt", "135", "--plan", plan});
    EXPECT_EQ(report.at("phases")[0].at("compile_ms").get<double>() > 0, plan == "online") << plan;
  }
}

TEST(PlanProgram, shows_what_slow_synchronisation_and_a_rendering_program_cost) {
  const std::vector<std::string> base = {"--shape", "llama-3-8b", "--soc", "snapdragon-8gen3", "--prompt", "256"};
  const auto with = [&](const std::string& flag) {
    std::vector<std::string> arguments = base;
    if (!flag.empty()) arguments.push_back(flag);
    return phases_of(arguments).at("phases")[0].at("predicted_ms").get<double>();
  };
  EXPECT_GT(with("--slow-sync"), with(""));
  EXPECT_GT(with("--beside-load"), with(""));
}

TEST(PlanProgram, declines_an_encoder_by_name) {
  const Outcome outcome = tandem_program({"plan", "--shape", "bge-small", "--soc", "snapdragon-8gen3"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("the passes of an encoder have no model clock: bge-small (bert)"));
}

TEST(PlanProgram, names_what_it_does_not_know) {
  const auto fails = [](const std::vector<std::string>& arguments, const std::string& says) {
    const Outcome outcome = tandem_program(arguments);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(says));
  };
  fails({"plan", "--shape", "gpt-9", "--soc", "snapdragon-8gen3"}, "gpt-9");
  fails({"plan", "--shape", "llama-3-8b", "--soc", "abacus"}, "abacus");
  fails({"plan", "--shape", "llama-3-8b"}, "--soc");
  fails({"plan", "--shape", "llama-3-8b", "--soc", "snapdragon-8gen3", "--weights", "Q99"}, "Q99");
  fails({"plan", "--shape", "llama-3-8b", "--soc", "snapdragon-8gen3", "--plan", "magic"}, "magic");
  fails({"plan", "--shape", "llama-3-8b", "--soc", "snapdragon-8gen3", "--prompt", "0"}, "prompt");
}

class PlanOfAFile : public ::testing::Test {
 protected:
  PlanOfAFile() { testing::write_file(path_, testing::write_gguf(testing::TinyModel{})); }
  const testing::ScratchFolder folder_;
  const std::string path_ = folder_.file("tiny.gguf");
};

TEST_F(PlanOfAFile, tells_pieces_and_tokens_as_they_would_run_here) {
  const json report =
      phases_of({"-m", path_, "--prompt", "40", "--chunk", "32", "--device", "npu:0,host", "--plan", "layer"});
  // The prompt is cut into two pieces where this machine is predicted to end first. One more token follows.
  ASSERT_EQ(report.at("phases").size(), 3u);
  const int64_t first = report.at("phases")[0].at("tokens"), second = report.at("phases")[1].at("tokens");
  EXPECT_EQ(report.at("phases")[1].at("position"), first);
  EXPECT_EQ(first + second, 40);
  EXPECT_LE(std::max(first, second), 32);
  for (const json& phase : report.at("phases")) EXPECT_GT(phase.at("predicted_ms").get<double>(), 0);
}

TEST_F(PlanOfAFile, is_run_on_a_chips_clock_beside_the_measured_one_where_asked) {
  const std::vector<std::string> arguments = {"bench", "-m", path_,      "-p",   "16",     "-n",        "2",
                                              "-r",    "1",  "--device", "host", "--plan", "host-only", "--json"};
  EXPECT_EQ(tandem_program(arguments).status, 0);
  std::vector<std::string> with = arguments;
  with[12] = "auto";
  with.insert(with.end(), {"--soc", "snapdragon-8gen3"});
  const Outcome outcome = tandem_program(with);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const json& row : json::parse(outcome.out)) {
    EXPECT_EQ(row.at("clock"), "measured");
    EXPECT_EQ(row.at("model_clock").at("clock"), "modelled");
    EXPECT_GT(row.at("model_clock").at("avg_ts").get<double>(), 0);
  }
}

}  // namespace
}  // namespace tandem
