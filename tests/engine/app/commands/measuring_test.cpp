// The commands that measure, as whole programs: `profile`, `calibrate`, `bench-sync`, `npu gemm`. The tests judge
// no time.
#include <set>

#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

class Measuring : public ::testing::Test {
 protected:
  const Folder folder_;
  // The test keeps its measurements in a folder of its own, which is empty at first.
  const ChildSettings own_cache_{.environment = {{"XDG_CACHE_HOME", folder_.file("cache")}}};
};

TEST_F(Measuring, bench_sync_lists_the_plans_of_its_decode_step) {
  EXPECT_THAT(tandem({"bench-sync", "--plan", "list", "--all"}).out, HasSubstr("\npipe "));
}

TEST_F(Measuring, profile_keeps_what_it_measured_and_measures_again_when_asked) {
  const Arguments base = {"profile",    "--model", stories(), "--quick", "--device",
                          "npu:0,host", "--chunk", "4",       "-t",      "2"};
  const json first = json_of(base, own_cache_), second = json_of(base, own_cache_),
             again = json_of(base + Arguments{"--again"}, own_cache_);
  EXPECT_EQ(first.at("known_points"), 0);
  EXPECT_EQ(first.at("measured_points"), first.at("rows").size());
  EXPECT_EQ(first.at("interrupted"), false);
  EXPECT_EQ(second.at("measured_points"), 0);
  EXPECT_EQ(second.at("rows"), first.at("rows")) << "the very same numbers";
  EXPECT_EQ(again.at("measured_points"), first.at("measured_points"));
  EXPECT_NE(again.at("rows"), first.at("rows"));
  std::set<std::string> kinds;
  for (const json& row : first.at("rows")) {
    EXPECT_LE(row.at("tokens"), 4) << "--chunk";
    EXPECT_LE(row.at("least_us"), row.at("median_us"));
    EXPECT_LE(row.at("median_us"), row.at("most_us"));
    kinds.insert(row.at("device").get<std::string>() + " " + row.at("op").get<std::string>());
  }
  for (const char* kind : {"npu:0 matmul", "host matmul", "host attention"}) EXPECT_TRUE(kinds.contains(kind)) << kind;

  const json larger = json_of({"profile", "-m", stories(), "--device", "npu:0", "--chunk", "16"}, own_cache_);
  std::set<int> sizes;
  for (const json& row : larger.at("rows")) sizes.insert(row.at("tokens").get<int>());
  EXPECT_EQ(*sizes.rbegin(), 16);
  EXPECT_GT(sizes.size(), 2u) << "without --quick there are sizes between";

  const Ended text = tandem(base + Arguments{"-q"}, own_cache_);
  EXPECT_THAT(text.out, HasSubstr("| operator | shape | device | tokens |"));
  EXPECT_THAT(text.out, HasSubstr("0 points measured, " + std::to_string(first.at("rows").size()) + " known"));
  EXPECT_THAT(text.err, IsEmpty());
  folder_.write("cache/tandem/measured.json", "{");
  EXPECT_THAT(tandem(base + Arguments{"-v"}, own_cache_).err, HasSubstr("unreadable"));
}

TEST_F(Measuring, calibrate_writes_a_profile_that_other_commands_take) {
  const std::string profile = folder_.file("here.json");
  const Arguments base = {"calibrate", "-m", stories(), "--device", "npu:0,host", "-t", "2"};
  const json answer = json_of(base + Arguments{"-o", profile}, own_cache_);
  EXPECT_EQ(answer.at("profile"), profile);
  EXPECT_GT(answer.at("measured_points"), 0);
  EXPECT_THAT(folder_.names(), ::testing::Contains("here.json"));
  const json modelled = json_of({"plan", "-m", stories(), "--soc", profile, "--prompt", "32", "--plan", "layer"});
  EXPECT_THAT(modelled.at("clock"), StartsWith("modelled: "));
  EXPECT_GT(modelled.at("phases").at(0).at("predicted_ms"), 0);

  const Ended text = tandem(
      {"calibrate", "--model", stories(), "--device", "npu:0", "-t", "2", "--output", folder_.file("none.json"), "-v"});
  EXPECT_EQ(text.status, 0) << "the host stands in for the GPU";
  EXPECT_THAT(text.out, HasSubstr("| gpu.flops |"));
  const Ended nowhere = tandem(base + Arguments{"-o", folder_.file("no/where.json"), "-q"}, own_cache_);
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("no/where.json"));
  const Ended no_npu = tandem({"calibrate", "-m", stories(), "--device", "host", "-o", folder_.file("host.json")});
  EXPECT_EQ(no_npu.status, 1);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("host.json")));
}

TEST_F(Measuring, bench_sync_measures_the_named_policies_lengths_and_devices) {
  const std::string page = folder_.file("report.html");
  const Arguments base = {"bench-sync", "--device", "npu:0", "--quick", "-t", "2"};
  const json report = json_of(Arguments{"bench-sync", "--device", "npu:0,host", "--quick"} +
                              Arguments{"--policies", "event,blocking", "--sizes", "0,20us", "--rounds", "3", "--html",
                                        page, "-m", stories(), "--plan", "npu-only"});
  ASSERT_EQ(report.at("devices").size(), 2u);
  EXPECT_EQ(report.at("devices").at(0).at("id"), "npu:0");
  std::set<std::string> policies;
  std::set<double> lengths;
  for (const json& row : report.at("devices").at(0).at("rows")) {
    policies.insert(row.at("policy"));
    lengths.insert(row.at("work_us").get<double>());
    const bool counted = row.at("status") == "measured" && row.at("spinners") == 0;
    EXPECT_TRUE(!counted || row.at("round_trip").at("count") == 3) << row;
    EXPECT_EQ(row.at("lost_steps"), 0);
  }
  EXPECT_EQ(policies, (std::set<std::string>{"blocking", "event"}));
  EXPECT_EQ(lengths.size(), 2u);
  EXPECT_EQ(report.at("decode").at("plan"), "npu-only") << "what a model's decode step gains";
  EXPECT_TRUE(content_of(page).starts_with("<!DOCTYPE html>"));

  const Ended text = tandem(base + Arguments{"--policies", "blocking", "--sizes", "0", "--rounds", "2"});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out, HasSubstr("blocking"));
  EXPECT_THAT(text.err, HasSubstr("measuring npu:0"));
  const Ended quiet = tandem(base + Arguments{"--policies", "blocking", "--sizes", "0", "--rounds", "2", "-q"});
  EXPECT_THAT(quiet.err, IsEmpty());
  EXPECT_EQ(tandem(base + Arguments{"--sizes", "long"}).status, 2);
}

TEST_F(Measuring, bench_sync_counts_what_memory_ordering_allows) {
  const json report = json_of({"bench-sync", "--litmus", "--device", "host", "--iterations", "3", "-v"});
  ASSERT_FALSE(report.at("rows").empty());
  for (const json& test : report.at("rows")) {
    EXPECT_EQ(test.at("forbidden"), 0) << test;
    EXPECT_GE(test.at("together"), 3) << test;
  }
}

TEST_F(Measuring, npu_gemm_counts_cycles_and_checks_its_result) {
  const auto gemm = [](const Arguments& more) {
    return json_of(Arguments{"npu", "gemm", "--rows", "8", "--cols", "8", "-M", "9", "-K", "64", "-N", "17"} + more);
  };
  // 8 x 3 folds take 8 + 9 + 7 + 7 cycles each, less one in all.
  const json ws = gemm({"--dataflow", "ws"});
  EXPECT_EQ(ws.at("folds"), 8 * 3);
  EXPECT_EQ(ws.at("cycles"), 8 * 3 * (8 + 9 + 7 + 7) - 1);
  EXPECT_FALSE(ws.contains("bit_equal"));
  EXPECT_EQ(gemm({"--dataflow", "os", "--stepped"}).at("bit_equal"), true);
  EXPECT_NE(gemm({"--dataflow", "os"}).at("cycles"), ws.at("cycles"));
  const json int8 = gemm({"--format", "int8"});
  EXPECT_LT(int8.at("max_abs_error").get<double>(), 1e-5) << "one rounding of a scaled sum below 64";
  EXPECT_EQ(int8.at("format"), "int8");
  const auto error_of_seed = [&](const char* seed) { return gemm({"--seed", seed}).at("max_abs_error"); };
  EXPECT_EQ(error_of_seed("3"), error_of_seed("3"));
  EXPECT_NE(error_of_seed("3"), error_of_seed("4")) << "other operands";

  const std::string params = folder_.write("npu.json", R"({"schema": 1, "array": {"rows": 16, "cols": 4}})");
  const json other = json_of({"npu", "gemm", "--params", params, "-M", "1", "-K", "16", "-N", "4"});
  EXPECT_EQ(other.at("rows"), 16);
  EXPECT_EQ(other.at("cols"), 4);
  EXPECT_EQ(other.at("folds"), 1);
  const Ended text = tandem({"npu", "gemm", "-M", "1", "-K", "16", "-N", "4"});
  EXPECT_THAT(text.out, HasSubstr("max abs error"));
}

}  // namespace
}  // namespace tandem::testing
