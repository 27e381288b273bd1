// `tandem replay-moe` as a whole program: its rows, its forms of input, and what it refuses.
#include <set>

#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

// Four tokens of two sequences, one layer of eight experts.
constexpr const char* kTrace =
    R"({"type":"meta","model":"m","experts":8,"top_k":2,"moe_layers":[3]}
{"seq":0,"pos":0,"experts":[[0,1]],"weights":[[0.6,0.4]]}
{"seq":0,"pos":1,"experts":[[0,2]],"weights":[[0.4,0.6]]}
{"seq":1,"pos":0,"experts":[[1,2]],"weights":[[0.5,0.5]]}
{"seq":1,"pos":1,"experts":[[0,1]],"weights":[[0.9,0.1]]}
)";

class ReplayMoe : public ::testing::Test {
 protected:
  json rows(const Arguments& more) const { return json_of(Arguments{"replay-moe", trace_} + more).at("rows"); }
  std::string refusal(const Arguments& arguments, int status) const {
    const Ended ended = tandem(Arguments{"replay-moe"} + arguments);
    EXPECT_EQ(ended.status, status) << ::testing::PrintToString(arguments) << ended.err;
    return ended.err;
  }

  const Folder folder_;
  const std::string trace_ = folder_.write("trace.jsonl", kTrace);
};

// LRU, 2 slots: {0 1}, then 0 is hit and 1 leaves for 2, then 2 is hit and 0 leaves for 1, then 1 is hit.
TEST_F(ReplayMoe, has_a_row_for_each_policy_and_budget) {
  const json answer = json_of({"replay-moe", trace_, "--policy", "lru,belady", "--budget", "25,100"});
  EXPECT_EQ(answer.at("schema"), 1);
  EXPECT_EQ(answer.at("trace").at("experts"), 8);
  EXPECT_EQ(answer.at("trace").at("sequences"), 2);
  ASSERT_EQ(answer.at("rows").size(), 4u);
  const json& row = answer.at("rows").at(0);
  EXPECT_EQ(row, json::parse(R"({"policy": "lru", "budget_percent": 25.0, "reset": "kept", "lookup": "together",
      "slots_per_layer": 2, "requests": 8, "hits": 3, "hit_rate": 0.375, "hits_by_layer": [3]})"));
  EXPECT_EQ(json_of({"replay-moe", "--policy", "lru", "--budget", "25", trace_}).at("rows").at(0), row)
      << "the file may stand last";
  EXPECT_EQ(answer.at("rows").at(3).at("hits"), 5) << "with all slots each expert is missed once";
}

TEST_F(ReplayMoe, takes_all_policies_and_three_budgets_by_default) {
  const json all = rows({});
  ASSERT_EQ(all.size(), 27u);
  std::set<std::string> names;
  for (const json& row : all) names.insert(row.at("policy"));
  EXPECT_EQ(names.size(), 9u);
  EXPECT_EQ(all.at(0).at("lookup"), "together");
  EXPECT_EQ(all.at(2).at("slots_per_layer"), 6);
}

TEST_F(ReplayMoe, begins_anew_with_each_sequence_on_demand) {
  EXPECT_EQ(rows({"--policy", "lru", "--budget", "25", "--reset", "each"}).at(0).at("hits"), 2) << "0 | 1";
  EXPECT_EQ(rows({"--policy", "lru", "--budget", "25", "--reset", "kept"}).at(0).at("hits"), 3);
}

TEST_F(ReplayMoe, looks_experts_up_one_by_one_on_demand) {
  // Singly: 0 1 fill the slots. 2 (0.6) throws out 0, the older request, and 0 throws out 1. Then 1 throws out 2, the
  // other expert of its token, 2 throws out 0, 0 throws out 1, and 1 throws out 2.
  const json both = rows({"--policy", "lru", "--budget", "25", "--lookup", "together,single"});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both.at(0).at("hits"), 3);
  EXPECT_EQ(both.at(1).at("lookup"), "single");
  EXPECT_EQ(both.at(1).at("hits"), 0);
}

// With alpha 0 every S stays 0, and with an EMA alpha of 1 only the last token counts.
TEST_F(ReplayMoe, takes_the_constants_of_its_policies) {
  const auto hits = [&](const Arguments& more) {
    return rows(Arguments{"--budget", "37.5", "--reset", "kept"} + more).at(0).at("hits").get<int>();
  };
  EXPECT_EQ(hits({"--policy", "mrs", "--alpha", "0"}), hits({"--policy", "mrs", "--alpha", "0", "--top", "1"}));
  EXPECT_EQ(hits({"--policy", "mrs", "--top", "2k"}), hits({"--policy", "mrs", "--top", "4"}));
  EXPECT_GE(hits({"--policy", "ema", "--ema-alpha", "1"}), 3);
}

TEST_F(ReplayMoe, prints_both_lookups_and_the_lead_of_mrs) {
  const Ended ended = tandem({"replay-moe", trace_, "--policy", "lru,mrs", "--budget", "25"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("together"));
  EXPECT_THAT(ended.out, HasSubstr("single"));
  EXPECT_THAT(ended.out, HasSubstr("2 of 8 experts"));
  EXPECT_THAT(ended.out, HasSubstr("mrs at 25 %, together: "));
  EXPECT_THAT(ended.out, HasSubstr("points"));
}

TEST_F(ReplayMoe, reads_logs_of_vllm_and_csv) {
  const std::string log = folder_.write("log.jsonl", R"({"type":"meta","model_id":"m","layers_logged":[0],"top_k":2}
{"row":0,"layer":0,"topk_ids":[5,1],"topk_weights":[0.7,0.3]}
{"row":1,"layer":0,"topk_ids":[5,2],"topk_weights":[0.7,0.3]}
)");
  const json read = json_of({"replay-moe", log, "--policy", "lru", "--budget", "50", "--experts", "60"});
  EXPECT_EQ(read.at("rows").at(0).at("slots_per_layer"), 30);
  EXPECT_EQ(read.at("rows").at(0).at("hits"), 1);
  const Ended assumed = tandem({"replay-moe", log, "--json"});
  EXPECT_EQ(json::parse(assumed.out).at("trace").at("experts"), 6);
  EXPECT_THAT(assumed.err, HasSubstr("largest id"));
  const std::string csv = folder_.write("t.csv", "layer,expert\n0,1\n0,2\n0,1\n0,3\n");
  const json of_csv = json_of({"replay-moe", csv, "--policy", "lru", "--budget", "50", "--top-k", "2"});
  EXPECT_EQ(of_csv.at("rows").at(0).at("requests"), 4);
  EXPECT_EQ(of_csv.at("trace").at("form"), "csv");
  EXPECT_THAT(tandem({"replay-moe", csv, "--top-k", "2", "--reset", "each"}).err, HasSubstr("one sequence"));
}

// One file without addresses of other files. The shape has as many experts as the trace, 2 of 8.
TEST_F(ReplayMoe, writes_a_page_that_stands_alone) {
  const std::string page = folder_.file("page.html");
  const Ended ended =
      tandem({"replay-moe", trace_, "--html", page, "--shape", toy_mixture(folder_, 2, 128), "--weights", "q8_0",
              "--card", "name=<small>,gbps=960,memory=16,link=63", "--card", "here"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  const std::string html = content_of(page);
  EXPECT_THAT(html, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(html, HasSubstr("Hits over budget"));
  EXPECT_THAT(html, HasSubstr("belady"));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(html, HasSubstr("Modelled, not measured"));
  EXPECT_THAT(html, HasSubstr("&lt;small&gt;"));
  EXPECT_THAT(html, HasSubstr("tokens/s"));
  EXPECT_THAT(html, HasSubstr("this machine, which reads "));
  for (const char* outside : {"<script", "src=", "href=", "@import", "url("})
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  EXPECT_THAT(refusal({trace_, "--html", page, "--shape", "phi-3.5-moe", "--card", "gbps=1"}, 2), HasSubstr("missing"));
  EXPECT_THAT(refusal({trace_, "--card", "gbps=1,memory=1,link=1"}, 2), HasSubstr("--html"));
}

// LRU with 2 slots holds experts 0 and 2 when the token in the middle asks for 1 and 2. So one of them is there: the
// processor takes the other in one unit, and moving it takes 3 units before the GPU's one.
TEST_F(ReplayMoe, draws_what_each_schedule_does_with_a_token_and_a_chunk) {
  const std::string page = folder_.file("page.html");
  const Ended ended = tandem({"replay-moe", trace_, "--policy", "belady,lru", "--html", page, "--costs",
                              "cpu_per_token=1,gpu_fixed=1,transfer=3"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  const std::string html = content_of(page);
  EXPECT_THAT(html, HasSubstr("What each schedule does"));
  EXPECT_THAT(html,
              HasSubstr("Token 2 of the trace in layer 3: 2 experts with 1 token each. The GPU holds 1 of them."));
  EXPECT_THAT(html, HasSubstr("<p>fixed: 1</p>"));
  EXPECT_THAT(html, HasSubstr("<p>gpu-only: 4</p>"));
  EXPECT_THAT(html, HasSubstr("Tokens 2 to 3 of the trace"));
  EXPECT_THAT(html, HasSubstr("A cache with lru and 25 % of the experts"));
  EXPECT_THAT(html, HasSubstr("the costs are those of --costs: cpu_per_token=1"));
  EXPECT_THAT(refusal({trace_, "--html", page, "--costs", "gpu_fixed=-1"}, 2),
              HasSubstr("a cost is a number from 0 to 1e15"));
  EXPECT_THAT(refusal({trace_, "--costs", "gpu_fixed=1"}, 2), HasSubstr("--html"));
}

TEST_F(ReplayMoe, refuses_what_it_cannot_replay) {
  EXPECT_THAT(refusal({}, 2), HasSubstr("TRACE"));
  EXPECT_THAT(refusal({trace_, "--policy", "fifo"}, 2), HasSubstr("fifo"));
  for (const char* budget : {"0", "-5", "100.5", "nan", "all", "25,0"})
    EXPECT_THAT(refusal({trace_, "--budget", budget}, 2), HasSubstr("a budget is a number above 0")) << budget;
  EXPECT_THAT(refusal({trace_, "--alpha", "1.5"}, 2), HasSubstr("1.5"));
  EXPECT_THAT(refusal({trace_, "--top", "0"}, 2), HasSubstr("multiple of k"));
  EXPECT_THAT(refusal({trace_, "--top", "k"}, 2), HasSubstr("multiple of k"));
  EXPECT_THAT(refusal({trace_, "--lookup", "both"}, 2), HasSubstr("both"));
  EXPECT_THAT(refusal({trace_, "--experts", "0"}, 2), HasSubstr("whole number"));
  EXPECT_THAT(refusal({folder_.file("none")}, 1), HasSubstr("none"));
  EXPECT_THAT(refusal({folder_.write("empty", "")}, 1), HasSubstr("empty"));
  EXPECT_THAT(refusal({trace_, "--experts", "9"}, 1), HasSubstr("--experts"));
  const std::string cut = std::string(kTrace).substr(0, std::string(kTrace).size() - 20);
  EXPECT_THAT(refusal({folder_.write("cut", cut)}, 1), HasSubstr("line 5"));
  EXPECT_THAT(refusal({folder_.write("t.csv", "layer,expert\n0,1\n")}, 1), HasSubstr("--top-k N"));
  const Ended as_json = tandem({"replay-moe", folder_.file("none"), "--json"});
  EXPECT_TRUE(json::parse(as_json.out).contains("error"));
}

}  // namespace
}  // namespace tandem::testing
