// `tandem bench -np`: many texts at once. The tests judge no time.
#include <sstream>

#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

TEST(BenchParallel, times_every_width_with_every_prompt_and_generation) {
  const json rows = json_of({"bench", "-m", stories(), "--device", "npu:0,host", "--act", "f16", "--parallel", "1,3",
                             "-p", "8,0", "-n", "4", "-r", "2"});
  const int expected[][3] = {{8, 4, 1}, {8, 4, 3}, {0, 4, 1}, {0, 4, 3}};
  ASSERT_EQ(rows.size(), 4u);
  for (size_t i = 0; i < rows.size(); ++i) {
    const json& row = rows[i];
    const int prompt = expected[i][0], generated = expected[i][1], width = expected[i][2];
    EXPECT_EQ(row.at("pp"), prompt);
    EXPECT_EQ(row.at("tg"), generated);
    EXPECT_EQ(row.at("pl"), width);
    EXPECT_EQ(row.at("n_kv"), width * (prompt + generated));
    EXPECT_EQ(row.at("clock"), "measured");
    EXPECT_EQ(row.at("act"), "f16");
    EXPECT_EQ(row.at("repetitions"), 2);
    EXPECT_EQ(row.at("verified").at("bits"), true) << row.at("verified");
    EXPECT_EQ(row.at("verified").at("tokens"), 3 * width) << "behind the prompt and two single tokens of each text";
    const double t_pp = row.at("t_pp"), t_tg = row.at("t_tg");
    EXPECT_NEAR(row.at("t"), t_pp + t_tg, 1e-9);
    EXPECT_NEAR(row.at("speed_tg"), width * generated / t_tg, 1e-6 * width * generated / t_tg);
    const double read = width * prompt;
    EXPECT_NEAR(row.at("speed_pp"), prompt > 0 ? read / t_pp : 0, 1e-6 * read / t_pp);
    EXPECT_NEAR(row.at("speed"), row.at("n_kv").get<double>() / (t_pp + t_tg), 1e-3 * row.at("speed").get<double>());
  }
}

TEST(BenchParallel, prints_the_columns_of_llama_batched_bench) {
  const Arguments bench{"bench", "-m", stories(), "--device", "host", "-np", "2", "-p", "4", "-n", "2", "-r", "1"};
  const Ended table = tandem(bench);
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("| PP | TG | B | N_KV | T_PP s | S_PP t/s | T_TG s | S_TG t/s | T s | S t/s |"));
  EXPECT_THAT(table.out, HasSubstr("| 4 | 2 | 2 | 12 |"));
  EXPECT_THAT(table.err, HasSubstr("of each text written together those of it alone: bits"));
  const Ended csv = tandem(bench + Arguments{"-o", "csv"});
  EXPECT_THAT(csv.out, HasSubstr("pp,tg,pl,n_kv,t_pp,speed_pp,t_tg,speed_tg,t,speed,device\n4,2,2,12,"));
}

TEST(BenchParallel, refuses_what_it_cannot_measure) {
  const Arguments bench{"bench", "-m", stories(), "--device", "host", "-np", "2"};
  EXPECT_EQ(tandem(bench + Arguments{"-p", "0", "-n", "0"}).status, 2);
  for (const Arguments& other : {Arguments{"-d", "8"}, Arguments{"--roofline"}, Arguments{"--breakdown"},
                                 Arguments{"--soc", "snapdragon-8gen3"}})
    EXPECT_EQ(tandem(bench + other).status, 2) << other.front();
  EXPECT_EQ(tandem({"bench", "-m", stories(), "-np", "0"}).status, 2);
  EXPECT_EQ(tandem({"bench", "-m", stories(), "-np", "129"}).status, 2);
  const Ended small = tandem({"bench", "-m", stories(), "--device", "host", "-np", "4", "--chunk", "3"});
  EXPECT_EQ(small.status, 2);
  EXPECT_THAT(small.err, HasSubstr("-np 4 with --chunk 3"));
  EXPECT_EQ(
      tandem({"bench", "-m", stories(), "--device", "host", "-np", "4", "--chunk", "4", "-p", "9", "-n", "2"}).status,
      0);
}

TEST(BenchMixed, serves_requests_of_random_lengths_and_says_how_much_of_the_time_made_plans) {
  const Arguments bench{"bench", "-m", stories(), "--device", "host", "-np", "3", "--mixed",
                        "9",     "-p", "20",      "-n",       "6",    "-r",  "2"};
  const json rows = json_of(bench + Arguments{"--json"});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["requests"], 9);
  EXPECT_EQ(rows[0]["pl"], 3);
  EXPECT_EQ(rows[0]["samples"].size(), 2U);
  EXPECT_GT(rows[0]["speed"], rows[0]["speed_tg"]) << "tokens of prompts count too";
  EXPECT_GT(rows[0]["tokens_per_pass"], 1);
  EXPECT_GT(rows[0]["plans_prepared"], 0);
  EXPECT_GT(rows[0]["preparing_share"], 0);
  EXPECT_LT(rows[0]["preparing_share"], 1);
  EXPECT_THAT(tandem(bench).out, HasSubstr("| 3 | 9 | 20 | 6 |"));
  EXPECT_THAT(tandem(bench + Arguments{"-o", "csv"}).out, HasSubstr("pl,requests,pp_most,"));
}

TEST(BenchMixed, needs_several_texts_and_both_lengths) {
  const Arguments bench{"bench", "-m", stories(), "--device", "host", "--mixed", "4"};
  EXPECT_EQ(tandem(bench).status, 2);
  const Ended empty = tandem(bench + Arguments{"-np", "2", "-n", "0"});
  EXPECT_EQ(empty.status, 2);
  EXPECT_THAT(empty.err, HasSubstr("a request has a prompt and an answer"));
}

}  // namespace
}  // namespace tandem::testing
