// Whole commands that put experts on the NPU. Results are exact with all flags, except those that drop tokens. The
// tests check what each flag does, and what is refused.
#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

// The model has eight experts, and each token goes to two. The host gathers and adds beside the NPU.
class MoePlans : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string ids;
    for (int i = 0; i < kTokens; ++i) ids += std::to_string(1 + i * 37 % 290) + " ";
    ids_ = folder_.write("ids", ids);
  }

  // The answer of `eval` for all tokens in one pass, and their logits.
  struct Evaluated {
    json answer;
    std::string logits;
  };
  Evaluated evaluate(const std::string& model, const Arguments& flags) const {
    const std::string logits = folder_.file("logits");
    json answer = json_of(Arguments{"eval", "-m", model, "--ids", ids_, "--act", "f16", "--logits", logits} + flags);
    return {std::move(answer), content_of(logits)};
  }
  Evaluated evaluate(const Arguments& flags) const {
    return evaluate(model_, Arguments{"--device", "npu:0,host"} + flags);
  }

  static constexpr int kTokens = 128;
  const Folder folder_;
  const std::string model_ = toy_mixture(folder_, 3, 256);
  std::string ids_;
};

TEST(PlanList, has_the_baselines_of_papers_only_when_all_plans_are_asked_for) {
  for (const char* command : {"run", "eval", "bench", "plan"}) {
    const Ended some = tandem({command, "--plan", "list"}), all = tandem({command, "--all", "--plan", "list"});
    EXPECT_EQ(some.status, 0);
    EXPECT_EQ(all.status, 0);
    EXPECT_EQ(all.out, tandem({command, "--plan", "list", "--all"}).out);
    for (const char* used : {"tensor ", "npumoe ", "auto "}) {
      EXPECT_THAT(some.out, HasSubstr("\n" + std::string(used))) << command;
      EXPECT_THAT(all.out, HasSubstr("\n" + std::string(used))) << command;
    }
    for (const char* baseline : {"padding ", "moe-cpu ", "npumoe-tg ", "ndp-monde "}) {
      EXPECT_THAT(some.out, Not(HasSubstr(baseline))) << command;
      EXPECT_THAT(all.out, HasSubstr("\n" + std::string(baseline))) << command;
    }
    EXPECT_EQ(tandem({command, "-m", "x", "--all"}).status, 2) << command << ": without --plan";
  }
}

const Arguments kAll = {"--plan", "npumoe", "--moe-residency", "all"};

TEST_F(MoePlans, give_the_same_logits_whatever_is_where) {
  const Evaluated alone = evaluate(model_, {"--device", "host", "--plan", "moe-cpu"});
  ASSERT_EQ(alone.logits.size(), size_t{kTokens} * 300 * 4);
  EXPECT_FALSE(alone.answer.contains("experts"));
  for (const char* plan : {"npumoe-tg", "npumoe-t", "npumoe-base", "moe-naive"}) {
    const Evaluated there = evaluate({"--plan", plan});
    EXPECT_TRUE(there.logits == alone.logits) << plan;
    const json& experts = there.answer.at("experts");
    EXPECT_EQ(experts.at("choices"), 3 * kTokens * 2) << plan;
    EXPECT_EQ(experts.at("dropped_share"), 0) << plan;
    EXPECT_EQ(experts.at("elsewhere_share"), 0) << plan;
  }
  EXPECT_TRUE(evaluate({"--plan", "npumoe"}).logits == alone.logits);
  EXPECT_TRUE(evaluate({"--plan", "moe-dense-only"}).logits == alone.logits);
  EXPECT_TRUE(evaluate(kAll + Arguments{"--chunk", "48"}).logits == alone.logits);
}

// Source: N2 and N3. The mean load is 32, so the tiers have 64, 32 and 16 rows. The first two experts of equal loads
// are the popular quarter.
TEST_F(MoePlans, have_the_rows_and_graphs_that_flags_ask_for) {
  const auto experts = [&](const Arguments& flags) { return evaluate(kAll + flags).answer.at("experts"); };
  const json usual = experts({});
  EXPECT_EQ(usual.at("slots"), 3 * (2 * 64 + 6 * 32));
  EXPECT_EQ(usual.at("graphs"), 3 * 2);
  EXPECT_EQ(experts({"--moe-group", "2"}).at("graphs"), 3 * 4);
  EXPECT_EQ(experts({"--moe-tier-rule", "covering"}).at("slots"), 3 * 8 * 32);
  const json roomy = experts({"--moe-tiers", "4,4,4"});
  EXPECT_EQ(roomy.at("slots"), 3 * 8 * 128);
  EXPECT_EQ(roomy.at("spilled_share"), 0) << "there is room for every token";
  EXPECT_EQ(experts({"--moe-graph-limit", "1"}), usual) << "an expert has 13 KiB";
  const json none = evaluate({"--plan", "npumoe", "--moe-residency", "faster", "--moe-graphs", "0"}).answer;
  EXPECT_FALSE(none.contains("experts"));
}

TEST_F(MoePlans, that_drop_tokens_say_so) {
  const Arguments tight = kAll + Arguments{"--moe-tiers", "0.5,0.5,0.5"};
  const Evaluated exact = evaluate(tight), dropped = evaluate(tight + Arguments{"--overflow", "drop"});
  EXPECT_GT(exact.answer.at("experts").at("spilled_share"), 0);
  EXPECT_TRUE(exact.answer.at("bits").at("same_on_every_plan"));
  // Tokens that one layer drops change the routing in the next layer.
  EXPECT_GT(dropped.answer.at("experts").at("dropped_share"), 0);
  EXPECT_EQ(dropped.answer.at("experts").at("spilled_share"), 0);
  EXPECT_FALSE(dropped.answer.at("bits").at("same_on_every_plan"));
  EXPECT_FALSE(dropped.logits == exact.logits);
  const auto run = tandem({"run", "-m", model_, "-p", "a b c d e f g h i j k l m n o p q r s t u v w x y z", "-n", "2",
                           "--device", "npu:0,host", "--plan", "npumoe-tg", "--overflow", "drop"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("dropped"));
  EXPECT_THAT(run.err, HasSubstr("no drafts are used"));
  const auto drafted = tandem({"run", "-m", model_, "-p", "a b c a b", "-n", "2", "--device", "npu:0,host", "--plan",
                               "npumoe-tg", "--overflow", "drop", "--spec", "sam"});
  EXPECT_THAT(drafted.err, HasSubstr("drafts may change the text"));
}

// Forty drafts of one token want the same experts, which hold 16 rows.
TEST_F(MoePlans, that_drop_tokens_are_found_out_by_a_check_of_drafts) {
  std::string same;
  for (int i = 0; i < 60; ++i) same += " a";
  const Arguments checked =
      Arguments{"run",      "-m",         model_,   "-p",     same,    "-n",  "60",          "--ignore-eos",
                "--device", "npu:0,host", "--plan", "npumoe", "--act", "f16", "--draft-max", "63"} +
      Arguments{"--moe-residency", "all", "--moe-tiers", "0.5,0.5,0.5", "--spec-check"};
  const Ended exact = tandem(checked + Arguments{"--spec", "sam"});
  EXPECT_EQ(exact.status, 0) << exact.err;
  EXPECT_THAT(exact.err, HasSubstr("59 tokens ran again alone and had the same bits"));
  const Ended dropped = tandem(checked + Arguments{"--spec", "sam", "--overflow", "drop"});
  EXPECT_EQ(dropped.status, 1);
  EXPECT_THAT(dropped.err, HasSubstr("drafts changed the bits of a text (--spec-check)"));
  EXPECT_THAT(dropped.err,
              ::testing::ContainsRegex("behind token [0-9]+ of the text .id [0-9]+.*logit [0-9]+ is [0-9a-f]{8} "
                                       "with drafts and [0-9a-f]{8} alone .bit [0-9]+"));
  // These passes have one token each.
  const Ended plain = tandem(checked + Arguments{"--spec", "auto", "--overflow", "drop"});
  EXPECT_EQ(plain.status, 0) << plain.err;
  EXPECT_THAT(plain.err, Not(HasSubstr("ran again alone"))) << "there are no drafts to check";
}

TEST_F(MoePlans, follow_a_calibration) {
  const std::string calibration = folder_.file("calibration.json");
  const json counted = json_of({"calibrate-moe", "-m", model_, "--ids", ids_, "-o", calibration, "--device", "host"});
  const json experts =
      evaluate(kAll + Arguments{"--calibration", calibration, "--moe-tier-rule", "covering", "--moe-tiers", "4,1,0.5"})
          .answer.at("experts");
  EXPECT_EQ(experts.at("spilled_share"), 0) << "loads are known, and a tier covers each";
  // The calibration counted each expert's share of the 128 tokens. The tiers have 128, 32 and 16 rows.
  int64_t slots = 0;
  for (const json& layer : counted.at("layers"))
    for (const int64_t count : layer.at("counts").get<std::vector<int64_t>>())
      slots += count <= 16 ? 16 : count <= 32 ? 32 : 128;
  EXPECT_EQ(experts.at("slots"), slots);
}

TEST_F(MoePlans, are_known_to_plan_and_bench) {
  // A model's first prompt assumes equal loads, 16 tokens for each expert.
  const json plan = json_of({"plan", "-m", model_, "--prompt", "64", "--device", "npu:0,host", "--plan", "npumoe-tg",
                             "--moe-group", "4", "--chunk", "64"});
  const json& layers = plan.at("phases").at(0).at("experts");
  ASSERT_EQ(layers.size(), 2u) << "the last layer has one token";
  EXPECT_EQ(layers.at(0).at("npu").size(), 3u);
  EXPECT_EQ(layers.at(0).at("npu").at(0), json({{"rows_each", 32}, {"experts", {0, 1}}}));
  EXPECT_EQ(layers.at(0).at("expected_elsewhere_share"), 0);
  const auto text = tandem({"plan", "-m", model_, "--prompt", "64", "--device", "npu:0,host", "--plan", "npumoe-tg"});
  EXPECT_THAT(text.out, HasSubstr("| 0 | 2 x 32, 6 x 16 | none | 0.0 % |"));
  const json rows = json_of(
      {"bench", "-m", model_, "-p", "64", "-n", "0", "-r", "1", "--device", "npu:0,host", "--plan", "npumoe-tg"});
  EXPECT_GT(rows.at(0).at("experts").at("slots"), 0);
  EXPECT_EQ(rows.at(0).at("verified"), "bits");
}

// Every token goes to the first expert, or to all experts. In both cases the copies compute what the dense
// model computes.
TEST_F(MoePlans, of_the_most_uneven_and_the_most_even_routing_are_exact) {
  const std::string made = folder_.file("made.gguf");
  const Evaluated dense = evaluate(stories(), {"--device", "host", "--plan", "host-only"});
  for (const char* used : {"1", "4"}) {
    ASSERT_EQ(tandem({"make-moe", "-m", stories(), "--experts", "4", "--used", used, "--kind", "cloned", "--router",
                      "even", "-o", made, "-q"})
                  .status,
              0);
    for (const Arguments& flags : {kAll, kAll + Arguments{"--moe-group", "1"}, Arguments{"--plan", "moe-naive"}}) {
      const Evaluated there = evaluate(made, Arguments{"--device", "npu:0,host"} + flags);
      EXPECT_TRUE(there.logits == evaluate(made, {"--device", "host", "--plan", "host-only"}).logits);
      if (used == std::string("1")) {
        EXPECT_TRUE(there.logits == dense.logits);
      }
      EXPECT_GT(there.answer.at("experts").at("slots"), 0);
    }
  }
}

TEST_F(MoePlans, refuse_what_makes_no_sense) {
  const auto refused = [&](const Arguments& flags) {
    const auto run = tandem(Arguments{"eval", "-m", model_, "--ids", ids_, "--device", "npu:0,host"} + flags);
    EXPECT_NE(run.status, 0);
    return run.err;
  };
  EXPECT_THAT(refused({"--moe-group", "9"}), HasSubstr("as many experts as the model"));
  EXPECT_THAT(refused({"--moe-tiers", "2,1,0"}), HasSubstr("--moe-tiers"));
  EXPECT_THAT(refused({"--moe-tiers", "1,2,3"}), HasSubstr("do not fall"));
  EXPECT_THAT(refused({"--moe-tiers", "1,2"}), HasSubstr("--moe-tiers"));
  EXPECT_THAT(refused({"--overflow", "ignore"}), HasSubstr("--overflow"));
  EXPECT_THAT(refused({"--calibration", folder_.write("none.json", "{}")}), HasSubstr("none.json"));
  const std::string other = folder_.file("other.json");
  const auto shape = folder_.write("other_shape.json",
                                   R"({"schema": 1, "name": "other", "architecture": "qwen3moe", "layers": 2,
                                       "hidden": 64, "feed_forward": 96, "heads": 2, "vocabulary": 300,
                                       "context_length": 256, "experts": 4, "experts_used": 2,
                                       "expert_feed_forward": 64})");
  const std::string model = folder_.file("other.gguf");
  ASSERT_EQ(tandem({"make-random", "--shape", shape, "--type", "q8_0", "-o", model, "-q"}).status, 0);
  ASSERT_EQ(tandem({"calibrate-moe", "-m", model, "--ids", ids_, "-o", other, "--device", "host", "-q"}).status, 0);
  EXPECT_THAT(refused({"--calibration", other}), HasSubstr("of another model"));
}

}  // namespace
}  // namespace tandem::testing
