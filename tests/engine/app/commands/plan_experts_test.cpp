// `tandem plan-experts` as a whole program. The rules have tests of their own (tests/engine/moe/). These tests check
// keys, text and errors.
#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

const Arguments kLayer{"plan-experts", "--loads", "4,3,5,1,2", "--cached", "0,1,4"};
const Arguments kCosts{"--costs",
                       "cpu_fixed=0,cpu_per_token=1,cpu_first=0,gpu_fixed=1,gpu_per_token=0,gpu_offset=0,transfer=3"};
const Arguments kUnits{"plan-experts", "--ndp", "2",       "--t-g", "1",        "--t-n", "4", "--t-w", "3",
                       "--t-a",        "0.5",   "--top-k", "4",     "--prompt", "2"};
const Arguments kRates{"--expert-bytes",   "4", "--expert-macs",      "1", "--gpu-bytes-per-s", "4",
                       "--gpu-macs-per-s", "8", "--unit-bytes-per-s", "1", "--unit-macs-per-s", "0.5"};

std::vector<std::string> names_in(const json& answer) {
  std::vector<std::string> names;
  for (const json& row : answer["schedules"]) names.push_back(row["schedule"]);
  return names;
}

TEST(PlanExperts, prints_every_schedule_of_the_papers_figure_as_json) {
  const json answer = json_of(kLayer + kCosts + Arguments{"--schedule", "all", "--exhaustive"});
  EXPECT_EQ(names_in(answer), (std::vector<std::string>{"greedy", "no-transfer", "fixed", "gpu-only", "two-ended",
                                                        "counts", "refined", "best", "fiddler", "optimum"}));
  const json& greedy = answer["schedules"][0];
  EXPECT_EQ(greedy["makespan"], 4);
  EXPECT_EQ(greedy["cpu"], json({3, 4}));
  EXPECT_EQ(greedy["gpu"], json({0, 1, 2}));
  EXPECT_EQ(greedy["moved"], json({2}));
  EXPECT_EQ(greedy["cpu_end"], 3);
  EXPECT_EQ(greedy["gpu_end"], 4);
  EXPECT_EQ(greedy["timeline"].back(), json::parse(R"({"lane": "gpu", "expert": 2, "begin": 3, "end": 4})"));
  EXPECT_EQ(answer["schedules"][2]["makespan"], 6);
  EXPECT_EQ(answer["schedules"][3]["makespan"], 7);
  EXPECT_EQ(answer["best"], "greedy");
}

TEST(PlanExperts, computes_the_schedules_that_are_named) {
  EXPECT_EQ(names_in(json_of(kLayer + kCosts + Arguments{"--schedule", "fixed,counts"})),
            (std::vector<std::string>{"fixed", "counts"}));
  EXPECT_EQ(names_in(json_of(kLayer + kCosts)).size(), 9u) << "all but the optimum";
  const json none = json_of({"plan-experts", "--loads", "2", "--cached", "none", "--costs", "gpu_fixed=1,cpu_fixed=9"});
  EXPECT_EQ(none["schedules"][3]["moved"], json({0}));
  EXPECT_EQ(none["best"], "gpu-only") << "costs that are not given are 0, so a transfer takes no time";
}

TEST(PlanExperts, draws_lanes_as_text) {
  const Ended ended = tandem(kLayer + kCosts + Arguments{"--schedule", "greedy"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("| greedy | 4 | 0 0-1, 1 1-2, 2 3-4 | 3 0-1, 4 1-3 | 2 0-3 |"));
  EXPECT_THAT(ended.out, HasSubstr("best: greedy"));
}

// Source: memory that is shared (T_w), and an expert that takes no time there (T_g).
TEST(PlanExperts, gives_the_gpu_everything_where_nothing_has_to_move) {
  const Arguments free{"plan-experts", "--ndp", "2",       "--t-g", "0",        "--t-n", "4", "--t-w", "0",
                       "--t-a",        "0.5",   "--top-k", "4",     "--prompt", "2"};
  const json answer = json_of(free);
  EXPECT_EQ(answer["decode"], json::parse(R"({"E_g": 4.0, "E_n": 0.0})"));
  EXPECT_EQ(answer["E_max"]["real"], (4 * 4 + 3 * 0.5) / 4);
  EXPECT_EQ(answer["E_max"]["used"], 4);
  const Ended refused = tandem({"plan-experts", "--ndp", "2", "--t-g", "0", "--t-n", "0", "--t-w", "0", "--t-a", "0.5",
                                "--top-k", "4", "--prompt", "2"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("--t-n: '0'")) << "a sum of all three is divided by";
}

// The values are those of tests/engine/moe/near_memory_test.cpp. Eq. 1: 3 + 4 + 1/2 = 7.5; m = 2: (1.5 + 8 - 6) / 7.5.
TEST(PlanExperts, balances_near_memory_units_and_a_gpu) {
  const json answer = json_of(kUnits);
  EXPECT_NEAR(answer["decode"]["E_g"].get<double>(), 2 + 3.5 / 7.5, 1e-12);
  EXPECT_NEAR(answer["decode"]["E_n"].get<double>(), 2 - 3.5 / 7.5, 1e-12);
  EXPECT_NEAR(answer["prefill"]["literal"]["E_g"].get<double>(), 2 + 2.5 / 7.5, 1e-12);
  EXPECT_NEAR(answer["prefill"]["share"]["share"].get<double>(), (2 + 3.5 / 7.5) / 4, 1e-12);
  EXPECT_FALSE(answer["prefill"].contains("counts"));
  EXPECT_EQ(answer["E_max"]["real"], 3.5);
  EXPECT_EQ(answer["E_max"]["used"], 3);
  const json counted = json_of(kUnits + kRates + Arguments{"--loads", "1,8,2"});
  EXPECT_EQ(counted["prefill"]["counts"], json::parse(R"({"m": 1, "on_gpu": [1], "seconds": 6.5})"));
  const Ended text = tandem(kUnits + kRates + Arguments{"--loads", "1,8,2"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("1 experts on the GPU [1], 6.5 s"));
}

TEST(PlanExperts, refuses_units_that_do_not_hold_the_experts) {
  const Ended fails = tandem(kUnits + Arguments{"--unit-gib", "32", "--experts-gib", "90", "--json"});
  EXPECT_EQ(fails.status, 1);
  EXPECT_THAT(json::parse(fails.out)["error"]["message"], HasSubstr("2 units of 32 GiB have 64"));
  EXPECT_EQ(tandem(kUnits + Arguments{"--unit-gib", "32", "--experts-gib", "64"}).status, 0);
}

TEST(PlanExperts, names_the_flag_and_the_element_that_are_wrong) {
  struct Fault {
    Arguments arguments;
    std::string named;
  };
  const Arguments one{"plan-experts", "--loads", "1,2"};
  for (const Fault& fault : std::vector<Fault>{
           {{"plan-experts", "--loads", "1,0", "--costs", "transfer=1"}, "expert 1"},
           {{"plan-experts", "--loads", "1,,2", "--costs", "transfer=1"}, "--loads"},
           {{"plan-experts", "--loads", "1.5", "--costs", "transfer=1"}, "--loads"},
           {{"plan-experts", "--costs", "transfer=1"}, "--loads"},
           {one, "--costs"},
           {one + Arguments{"--costs", "transfer=-1"}, "transfer=-1"},
           {one + Arguments{"--costs", "transfer=nan"}, "transfer=nan"},
           {one + Arguments{"--costs", "transfer"}, "--costs"},
           {one + Arguments{"--costs", "transfer=1,transfer=1"}, "given once"},
           {one + Arguments{"--costs", "transfers=1"}, "transfers=1"},
           {one + Arguments{"--costs", "transfer=1", "--cached", "0,0"}, "cached twice"},
           {one + Arguments{"--costs", "transfer=1", "--cached", "2"}, "expert 2"},
           {one + Arguments{"--costs", "transfer=1", "--schedule", "fastest"}, "fastest"},
           {one + Arguments{"--costs", "transfer=1", "--schedule", "fixed,fixed"}, "fixed"},
           {one + Arguments{"--costs", "transfer=1", "--t-g", "1"}, "--ndp"},
           {one + Arguments{"--costs", "transfer=1", "--unit-gib", "1"}, "--ndp"},
           {{"plan-experts", "--loads", "1,1,1,1,1,1,1,1,1,1,1,1,1", "--costs", "transfer=1", "--exhaustive"}, "12"},
           {{"plan-experts", "--ndp", "2", "--t-g", "1"}, "--t-n"},
           {kUnits + Arguments{"--loads", "1"}, "--expert-bytes"},
           {kUnits + kRates, "--loads"},
           {kUnits + Arguments{"--cached", "none"}, "--cached"},
           {kUnits + Arguments{"--unit-gib", "1"}, "--experts-gib"},
           {{"plan-experts"}, "--loads"},
       }) {
    const Ended ended = tandem(fault.arguments);
    EXPECT_EQ(ended.status, 2) << ::testing::PrintToString(fault.arguments);
    EXPECT_THAT(ended.err, HasSubstr(fault.named)) << ::testing::PrintToString(fault.arguments);
    EXPECT_THAT(ended.out, IsEmpty());
  }
}

}  // namespace
}  // namespace tandem::testing
