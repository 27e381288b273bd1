// `tandem bench` as a whole program: each flag by its effect on the rows. The tests judge no time.
#include <cmath>

#include "tests/engine/app/commands/trace.h"
#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

class Bench : public ::testing::Test {
 protected:
  Arguments bench(const Arguments& more) const {
    return Arguments{"bench", "-m", stories(), "--device", "npu:0,host"} + more + Arguments{"-r", "1"};
  }
  json rows(const Arguments& more) const { return json_of(bench(more)); }
  const Folder folder_;
};

TEST_F(Bench, times_each_prompt_and_generation_at_each_depth) {
  const json all = json_of({"bench", "--model", stories(), "--device", "npu:0,host", "--plan", "layer", "-p", "8,40",
                            "-n", "2", "-d", "0,20", "--repetitions", "3"});
  const int expected[][3] = {{8, 0, 0}, {40, 0, 0}, {0, 2, 0}, {8, 0, 20}, {40, 0, 20}, {0, 2, 20}};
  ASSERT_EQ(all.size(), 6u);
  for (size_t i = 0; i < all.size(); ++i) {
    const json& row = all[i];
    EXPECT_EQ(row.at("n_prompt"), expected[i][0]);
    EXPECT_EQ(row.at("n_gen"), expected[i][1]);
    EXPECT_EQ(row.at("n_depth"), expected[i][2]);
    ASSERT_EQ(row.at("samples_ns").size(), 3u);
    // The mean and the deviation are those of the samples. A rate is tokens over time.
    const int tokens = expected[i][0] + expected[i][1];
    double mean = 0, squares = 0;
    for (size_t s = 0; s < 3; ++s) {
      const double rate = row.at("samples_ts").at(s);
      EXPECT_NEAR(rate, tokens / (row.at("samples_ns").at(s).get<double>() * 1e-9), 1e-9 * rate);
      mean += rate / 3;
    }
    for (const double rate : row.at("samples_ts")) squares += (rate - mean) * (rate - mean);
    EXPECT_NEAR(row.at("avg_ts"), mean, 1e-9 * mean);
    EXPECT_NEAR(row.at("stddev_ts"), std::sqrt(squares / 2), 1e-9 * mean);
    EXPECT_EQ(row.at("clock"), "measured");
    EXPECT_EQ(row.at("device"), "npu:0,host");
    EXPECT_EQ(row.at("model_type"), "llama 0.29M F16");
    const json one = {
        {"tokens", expected[i][0] ? tokens : 1}, {"plan", "layer"}, {"passes", expected[i][0] ? 3 : 3 * tokens}};
    EXPECT_EQ(row.at("plan_ran"), json::array({one})) << "what was timed, and nothing else";
  }
}

TEST_F(Bench, reports_loads_of_the_npus_graphs) {
  const ChildSettings own_cache{.environment = {{"XDG_CACHE_HOME", folder_.file("cache")}}};
  const Arguments prompt = bench({"-p", "80", "-n", "0", "--plan", "npu-only", "--npu-memory", "1"});
  const json row = json_of(prompt, own_cache).at(0);
  EXPECT_GT(row.at("npu_memory").at("loads"), 0);
  EXPECT_LE(row.at("npu_memory").at("peak_bytes"), 1 << 20);
}

// All of these devices keep the numeric contract if the inputs of matrices fit f16.
TEST_F(Bench, verifies_bits_where_the_contract_holds_and_says_why_where_it_does_not) {
  for (const json& row : rows({"-p", "8", "-n", "2", "--plan", "layer", "--act", "f16"})) {
    EXPECT_EQ(row.at("verified"), "bits");
    EXPECT_EQ(row.at("verified_max_difference"), 0);
    EXPECT_EQ(row.at("verification").at("bits"), true);
    EXPECT_GE(row.at("verification").at("tokens"), 4) << "a prompt, single tokens, and the row's own";
  }
  for (const json& row : rows({"-p", "8", "-n", "2", "--plan", "layer", "--act", "f32"})) {
    EXPECT_EQ(row.at("act"), "f32");
    EXPECT_THAT(row.at("verified"), ::testing::StartsWith("within "));
    EXPECT_THAT(row.at("verification").at("why_tolerance"), HasSubstr("npu:0 rounds activations"));
    EXPECT_GT(row.at("verified_max_difference").get<double>(), 0);
    EXPECT_LE(row.at("verified_max_difference"), row.at("verification").at("allowed"));
  }
  EXPECT_EQ(rows({"-p", "8", "-n", "0", "--plan", "layer", "--fast"}).at(0).at("act"), "i8");
  EXPECT_EQ(rows({"-p", "8", "-n", "0", "--plan", "layer", "--exact"}).at(0).at("act"), "f16");
  const Ended text = tandem(bench({"-p", "8", "-n", "0", "--plan", "layer"}));
  EXPECT_THAT(text.out, HasSubstr("| measured | bits | pp8 |"));
  EXPECT_THAT(text.err, HasSubstr("bit for bit"));
}

TEST_F(Bench, prints_a_table_csv_or_json) {
  const Arguments base = bench({"-p", "4", "--n-gen", "1", "--plan", "layer"});
  const Ended table = tandem(base + Arguments{"-o", "md"}), csv = tandem(base + Arguments{"--output", "csv"});
  EXPECT_THAT(table.out,
              HasSubstr("| model | size | params | backend | device | plan | act | clock | verified | test | t/s |"));
  EXPECT_THAT(table.out, HasSubstr("| pp4 |"));
  EXPECT_THAT(table.out, HasSubstr("| tg1 |"));
  EXPECT_THAT(table.err, Not(IsEmpty()));
  EXPECT_THAT(tandem(base + Arguments{"-q"}).err, IsEmpty());
  std::istringstream lines(csv.out);
  std::string header, first, second, none;
  std::getline(lines, header);
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_THAT(header, ::testing::StartsWith("model_filename,model_type,"));
  EXPECT_THAT(first, HasSubstr("\"npu:0,host\",\"layer\","));
  EXPECT_FALSE(std::getline(lines, none) && !none.empty());
  const Ended in_json = tandem(base + Arguments{"-o", "json"});
  EXPECT_EQ(json::parse(in_json.out).size(), 2u);
}

TEST_F(Bench, says_that_its_tests_need_a_larger_context) {
  const Arguments bench = Arguments{"bench", "-m", stories(), "-p", "100", "-n", "0", "-r", "1"} + on_host();
  EXPECT_THAT(tandem(bench + Arguments{"-c", "10"}).err, HasSubstr("the context holds 100 tokens: --ctx-size is too"));
  EXPECT_THAT(tandem(bench + Arguments{"-c", "100"}).err, Not(HasSubstr("--ctx-size")));
}

TEST_F(Bench, opens_the_engine_as_its_flags_say) {
  const json plain = rows({"-p", "4", "-n", "0", "--plan", "layer"})[0];
  const json row = rows({"-p",     "4",        "-n",       "0",      "--plan",       "rows", "--split", "1",
                         "-c",     "256",      "-t",       "1",      "--cache-type", "f32",  "--chunk", "2",
                         "--sync", "blocking", "--submit", "follow", "--deadline",   "600"})[0];
  EXPECT_EQ(row.at("plan"), "rows");
  EXPECT_EQ(row.at("plan_ran").at(0).at("tokens"), 2) << "--chunk";
  EXPECT_EQ(row.at("n_ctx"), 256);
  EXPECT_EQ(row.at("n_threads"), 1);
  EXPECT_EQ(row.at("type_k"), "f32");
  EXPECT_EQ(plain.at("n_ctx"), 64);
  EXPECT_EQ(row.at("cache_bytes"), 8 * plain.at("cache_bytes").get<int>()) << "4 times the positions, twice the bytes";
  EXPECT_EQ(row.at("verified"), "bits") << "whatever the flags";
  EXPECT_EQ(tandem(bench({"-p", "4", "-n", "0", "--plan", "npu-only", "--strict-device"})).status, 1);
  EXPECT_EQ(tandem(bench({"-p", "0", "-n", "0"})).status, 2) << "nothing to measure";
}

TEST_F(Bench, keeps_the_packed_weights_where_it_is_told_to) {
  const ChildSettings own_cache{.environment = {{"XDG_CACHE_HOME", folder_.file("")}}};
  EXPECT_EQ(tandem(bench({"-p", "4", "-n", "0", "--plan", "layer", "--pack-cache"}), own_cache).status, 0);
  EXPECT_FALSE(std::filesystem::is_empty(folder_.file("tandem/packed")));
}

TEST_F(Bench, adds_a_roofline_a_breakdown_and_a_chips_clock_where_asked) {
  const json row =
      rows({"-p", "8", "-n", "0", "--plan", "layer", "--roofline", "--breakdown", "--soc", "snapdragon-8gen3"})[0];
  EXPECT_NEAR(row.at("fma_share"), row.at("gflops").get<double>() / row.at("fma_peak_gflops").get<double>(), 1e-9);
  EXPECT_GT(row.at("dram_read_gbps").get<double>(), 0);
  EXPECT_FALSE(row.contains("int8_share")) << "no integers are multiplied";
  const json fast = rows({"-p", "8", "-n", "0", "--plan", "layer", "--roofline", "--fast"})[0];
  EXPECT_NEAR(fast.at("int8_share"), fast.at("gflops").get<double>() / fast.at("int8_peak_gops").get<double>(), 1e-9);
  EXPECT_GT(fast.at("int8_peak_one_core_gops").get<double>(), 0);
  EXPECT_THAT(tandem(bench({"-p", "8", "-n", "0", "--plan", "layer", "--roofline", "--fast"})).out,
              HasSubstr("| test | GOP/s | int8 peak, 1 core | all cores | share |"));
  std::map<std::string, double> ms_of;
  for (const json& line : row.at("breakdown").at("lines")) ms_of[line.at("device")] += line.at("ms").get<double>();
  EXPECT_EQ(ms_of.size(), 2u);
  const double wall_ms = row.at("breakdown").at("wall_ms");
  for (const auto& [device, ms] : ms_of) EXPECT_NEAR(ms, wall_ms, 0.03 * wall_ms) << device;
  EXPECT_EQ(row.at("model_clock").at("clock"), "modelled");
  EXPECT_GT(row.at("model_clock").at("avg_ts").get<double>(), 0);
  EXPECT_EQ(tandem(bench({"--breakdown", "--trace", folder_.file("t.json")})).status, 2);
}

// The time from a text to its vector. An encoder reads a text in one piece, however long it is.
TEST_F(Bench, times_the_vectors_of_an_encoder) {
  const std::string shape = folder_.write(
      "shape.json", R"({"schema": 1, "architecture": "bert", "layers": 2, "hidden": 64, "feed_forward": 96, "heads": 4,
                       "vocabulary": 320, "context_length": 128, "pooling": "mean"})");
  const std::string model = folder_.file("encoder.gguf");
  ASSERT_EQ(tandem({"make-random", "--shape", shape, "--type", "F16", "-o", model}).status, 0);
  const Arguments bench = {"bench", "-m", model, "--device", "npu:0,host", "--plan", "layer", "-r", "2"};
  const Ended ended = tandem(bench + Arguments{"-p", "8,100", "--json"});
  EXPECT_THAT(ended.err, HasSubstr("prompts at the beginning of a text alone"));
  EXPECT_THAT(tandem(bench + Arguments{"-p", "8", "-n", "0"}).err,
              HasSubstr("vector equals that of host-only: bit for bit"));
  const json rows = json::parse(ended.out);
  ASSERT_EQ(rows.size(), 2u);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].at("n_prompt"), i == 0 ? 8 : 100);
    EXPECT_EQ(rows[i].at("samples_ns").size(), 2u);
    EXPECT_EQ(rows[i].at("plan_ran"), json::array({{{"tokens", i == 0 ? 8 : 100}, {"plan", "layer"}, {"passes", 2}}}));
    EXPECT_EQ(rows[i].at("verified"), "bits");
  }
  EXPECT_THAT(tandem(bench + Arguments{"-p", "0", "-n", "4"}).err, HasSubstr("nothing to measure"));
  EXPECT_THAT(tandem(bench + Arguments{"-p", "8", "--roofline"}).err, HasSubstr("is not counted"));
}

TEST_F(Bench, traces_what_it_times) {
  const std::string path = folder_.file("trace.json");
  const json all = rows({"-p", "8", "-n", "2", "--plan", "layer", "--trace", path});
  const Trace trace = read_trace(path);
  EXPECT_EQ(trace.at("orchestrator").size(), 2u * (1 + 2)) << "once to warm up and once timed";
  for (const char* device : {"npu:0", "host"}) EXPECT_LE(overlap_us(trace.at(device)), 1e-3) << device;
  EXPECT_THAT(folder_.names(), ElementsAre("trace.json"));
}

TEST_F(Bench, tells_of_broken_measurements_when_it_may) {
  std::filesystem::create_directories(folder_.file("tandem"));
  folder_.write("tandem/measured.json", "{");
  const ChildSettings broken{.environment = {{"XDG_CACHE_HOME", folder_.file("")}}};
  EXPECT_THAT(tandem(bench({"-p", "2", "-n", "0", "--plan", "layer", "-v"}), broken).err, HasSubstr("unreadable"));
}

}  // namespace
}  // namespace tandem::testing
