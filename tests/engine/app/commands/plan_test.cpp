// `tandem plan` as a whole program: on this machine's measurements and on a chip's clock.
#include <map>
#include <set>

#include "tests/engine/app/commands/preferred_plans.h"
#include "tests/support/source_tree.h"

namespace tandem::testing {
namespace {

class PlanHere : public ::testing::Test {
 protected:
  json plan(const Arguments& more) const {
    return json_of(Arguments{"plan", "-m", stories(), "--device", "npu:0,host"} + more);
  }
  const Folder folder_;
};

TEST_F(PlanHere, lists_pieces_and_a_single_token_with_their_steps) {
  const json report = plan({"--prompt", "20", "--chunk", "16", "--plan", "layer"});
  EXPECT_EQ(report.at("clock"), "predicted from what was measured on this machine");
  EXPECT_EQ(report.at("plan_asked"), "layer");
  EXPECT_EQ(report.at("device"), "npu:0,host");
  EXPECT_EQ(report.at("chunk"), 16);
  std::vector<int> tokens, positions;
  for (const json& phase : report.at("phases")) {
    tokens.push_back(phase.at("tokens"));
    positions.push_back(phase.at("position"));
    EXPECT_EQ(phase.at("plan"), "layer");
    std::set<std::string> multiplies;
    for (const json& step : phase.at("steps")) {
      for (const json& op : step.at("operators")) {
        if (op.at("kind") == "matmul") multiplies.insert(step.at("device"));
      }
    }
    EXPECT_THAT(multiplies, ElementsAre("npu:0")) << "the plan `layer` is what it says";
  }
  EXPECT_THAT(tokens, ElementsAre(16, 4, 1));
  EXPECT_THAT(positions, ElementsAre(0, 16, 20));
}

TEST(PlanOfAShape, plans_a_long_prompt_in_pieces_and_a_short_one_whole) {
  const Arguments shape = {"plan", "--shape", "smollm2-135m", "--soc", "snapdragon-8gen3", "-p"};
  const json whole = json_of(shape + Arguments{"4096"}), pieces = json_of(shape + Arguments{"10000"});
  EXPECT_EQ(whole.at("phases").at(0).at("tokens"), 4096);
  EXPECT_EQ(pieces.at("phases").at(0).at("tokens"), 512);
  EXPECT_EQ(pieces.at("phases").size(), 21u) << "20 pieces, the last one of 272 tokens, and a single token";
}

// The report names the chosen strategy beside the requested one, as `run` does. The fastest strategy differs between
// runs, so the test replaces the learnt rates.
TEST_F(PlanHere, names_what_would_run_where_tensor_is_asked_for) {
  const ChildSettings own_cache{.environment = {{"XDG_CACHE_HOME", folder_.file("")}}};
  json_of({"run", "-m", stories(), "--device", "npu:0,host", "-p", "Once", "-n", "6"}, own_cache);
  const json learnt = json::parse(content_of(folder_.file("tandem/measured.json")));
  const Arguments asked = {"plan", "-m", stories(), "--device", "npu:0,host", "-p", "9", "--plan", "tensor"};
  for (const std::string name : {"layer", "rows", "tensor", "staggered", "host-only"}) {
    json kept = learnt;
    prefer(kept, {{"many", name}, {"single", name}});
    folder_.write("tandem/measured.json", kept.dump());
    const json report = json_of(asked, own_cache);
    EXPECT_EQ(report.at("plan_asked"), "tensor");
    EXPECT_EQ(report.at("phases").at(0).at("plan"), name);
    const Ended text = tandem(asked, own_cache);
    EXPECT_THAT(text.out, HasSubstr("plan asked for: tensor"));
    EXPECT_THAT(text.out, HasSubstr("9 tokens at position 0, plan " + name));
  }
}

TEST_F(PlanHere, opens_the_engine_as_its_flags_say) {
  const json report = plan({"-p", "4", "--plan", "rows", "--split", "1", "--ctx-size", "256", "--cache-type", "f32",
                            "--act", "f32", "--sync", "blocking", "--submit", "dominant", "--deadline", "600"});
  EXPECT_EQ(report.at("context"), 256);
  EXPECT_EQ(report.at("act"), "f32");
  EXPECT_EQ(plan({"-p", "4", "--plan", "layer", "--fast"}).at("act"), "i8");
  EXPECT_EQ(plan({"-p", "4", "--plan", "layer", "--exact"}).at("act"), "f16");
  EXPECT_EQ(report.at("cache_bytes"), 5 * 2 * 4 * 8 * 256 * 4);
  EXPECT_EQ(report.at("phases").at(0).at("dominant"), "gpu") << "4 tokens are submitted as one";
  EXPECT_EQ(plan({"-p", "8", "--plan", "layer", "--submit", "dominant"}).at("phases").at(0).at("dominant"), "npu");
  const json follow = plan({"-p", "8", "--plan", "layer", "--submit", "follow"});
  for (const json& phase : follow.at("phases")) EXPECT_EQ(phase.at("dominant"), "npu");
  for (const json& step : report.at("phases").at(0).at("steps")) {
    for (const json& op : step.at("operators")) {
      EXPECT_TRUE(op.at("kind") != "matmul" || step.at("device") == "npu:0") << "--split 1: " << op;
    }
  }
  const Arguments base = {"plan", "-m", stories(), "--device", "npu:0,host", "-p", "4"};
  const Ended one_core = tandem(base + Arguments{"--plan", "layer", "-t", "1"});
  EXPECT_THAT(one_core.err, HasSubstr("waits are blocking"));
  EXPECT_THAT(tandem(base + Arguments{"--plan", "layer", "-t", "1", "-q"}).err, IsEmpty());
  EXPECT_EQ(tandem(base + Arguments{"--plan", "npu-only", "--strict-device"}).status, 1);
  EXPECT_EQ(tandem(base + Arguments{"--plan", "layer", "--trace", folder_.file("t.json")}).status, 2)
      << "nothing runs that could be traced";
  std::filesystem::create_directories(folder_.file("tandem"));
  folder_.write("tandem/measured.json", "{");
  const ChildSettings broken{.environment = {{"XDG_CACHE_HOME", folder_.file("")}}};
  EXPECT_THAT(tandem(base + Arguments{"--plan", "layer", "-v"}, broken).err, HasSubstr("unreadable"));
}

TEST_F(PlanHere, keeps_the_packed_weights_where_it_is_told_to) {
  const ChildSettings own_cache{.environment = {{"XDG_CACHE_HOME", folder_.file("")}}};
  EXPECT_EQ(
      tandem(Arguments{"plan", "-m", stories(), "--device", "npu:0,host", "-p", "4", "--plan", "layer", "--pack-cache"},
             own_cache)
          .status,
      0);
  EXPECT_FALSE(std::filesystem::is_empty(folder_.file("tandem/packed")));
}

TEST(PlanOnAChip, follows_its_flags_without_a_model_file) {
  const Arguments base = {"plan", "--shape", "llama-3-8b", "--soc", "snapdragon-8gen3", "--prompt", "256"};
  const auto phase = [&](const Arguments& more) { return json_of(base + more).at("phases").at(0); };
  const auto ms = [&](const Arguments& more) { return phase(more).at("predicted_ms").get<double>(); };
  const double usual = ms({});
  EXPECT_GT(ms({"--slow-sync"}), usual);
  EXPECT_GT(ms({"--beside-load"}), usual);
  EXPECT_LT(ms({"--fast"}), 0.8 * usual) << "the NPU multiplies integers at twice the rate";
  EXPECT_THAT(tandem(base + Arguments{"--fast"}).err, IsEmpty());
  EXPECT_EQ(ms({"--act", "auto"}), ms({"--fast"})) << "the weights of the shape are integers";
  EXPECT_THAT(tandem(base + Arguments{"--act", "f32"}).err, HasSubstr("note: --act says nothing with --soc"));
  EXPECT_EQ(phase({"--weights", "F16"}).at("matmuls").at(0).at("format"), "f16");
  // This chip's profile fixes the bits of a weight, as its paper does. A profile that fixes none takes the bits of
  // the format.
  const Folder folder;
  json profile = json::parse(content_of(source_tree() / "engine/plan/model_clock/profiles/snapdragon-8gen3.json"));
  profile["weight_bits"]["value"] = 0;
  const std::string file = folder.write("chip.json", profile.dump());
  const auto token_ms = [&](const char* type) {
    const json report = json_of({"plan", "--shape", "llama-3-8b", "--soc", file, "-p", "256", "--weights", type});
    return report.at("phases").at(1).at("predicted_ms").get<double>();
  };
  EXPECT_GT(token_ms("F16"), 2 * token_ms("Q4_0")) << "more than three times the bytes";
  EXPECT_EQ(phase({"--plan", "layer"}).at("plan"), "layer");
  const Ended text = tandem(base);
  EXPECT_THAT(text.out, HasSubstr("modelled: snapdragon-8gen3"));
  EXPECT_THAT(text.err, IsEmpty());
  const Ended missing = tandem({"plan", "--prompt", "64", "--json"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_EQ(json::parse(missing.out).at("error").at("what"), "wrong usage");
  EXPECT_THAT(missing.err, StartsWith("tandem: wrong usage"));
}

// On either clock the command names the flags that cannot have an effect, in notes on standard error.
TEST(PlanOnAChip, says_which_flags_say_nothing) {
  const Arguments base = {"plan", "--shape", "llama-3-8b", "--soc", "snapdragon-8gen3", "--prompt", "64"};
  const Ended idle = tandem(base + Arguments{"--split", "0.5", "--device", "npu:0", "--weights", "F16"});
  EXPECT_EQ(idle.status, 0);
  EXPECT_THAT(idle.err, HasSubstr("note: --split says nothing with --soc"));
  EXPECT_THAT(idle.err, HasSubstr("note: --device says nothing with --soc"));
  const Ended experts = tandem(base + Arguments{"--expert-budget", "25%", "--expert-copies", "--disk-gbps", "1"});
  EXPECT_EQ(experts.status, 0);
  for (const char* flag : {"--expert-budget", "--expert-copies", "--disk-gbps"})
    EXPECT_THAT(experts.err, HasSubstr("note: " + std::string(flag) + " says nothing with --soc"));
  for (const char* plan : {"hybrimoe", "moe-fixed", "gpu-ndp", "ndp-monde"}) {
    const Ended refused = tandem({"plan", "--shape", "olmoe-1b-7b", "--soc", "m2-ultra", "--plan", plan});
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr("a chip's clock has no slots for experts and no near-memory units: " +
                                       std::string(plan) + ". Leave out --soc"));
  }
  EXPECT_THAT(idle.err, HasSubstr("fixes a weight at"));
  EXPECT_THAT(idle.err, Not(HasSubstr("--act")));
  EXPECT_THAT(tandem(base + Arguments{"--split", "0.5", "-q"}).err, IsEmpty());
  const ChildSettings elsewhere{.environment = {{"TANDEM_DEVICE", "npu:0,host"}}};
  EXPECT_THAT(tandem(base, elsewhere).err, IsEmpty()) << "a habit is no question";
  const Arguments here = {"plan", "-m", stories(), "--device", "npu:0,host", "-p", "4", "--plan", "layer"};
  EXPECT_THAT(tandem(here + Arguments{"--slow-sync"}).err, HasSubstr("--slow-sync says nothing without --soc"));
}

TEST(PlanOnAChip, of_integers_alone_multiplies_8_bit_activations_on_the_npu) {
  const auto on_npu = [](const std::string& chip, const Arguments& act) {
    int64_t count = 0;
    const json report = json_of(Arguments{"plan", "--shape", "llama-3-8b", "--soc", chip, "--prompt", "256"} + act);
    for (const json& step : report.at("phases").at(0).at("steps")) count += step.at("device") == "npu";
    return count;
  };
  EXPECT_EQ(on_npu("tesla-fsd", {}), 0);
  EXPECT_GT(on_npu("tesla-fsd", {"--act", "i8"}), 0);
  const Ended noted = tandem({"plan", "--shape", "llama-3-8b", "--soc", "m2-ultra", "--prompt", "64", "--fast"});
  EXPECT_THAT(noted.err, HasSubstr("the NPU of m2-ultra has no rate of 8-bit integers, so --act i8 changes no time"));
}

TEST(PlanOfExperts, tells_groups_their_places_and_the_engines_on_a_chip_that_has_them) {
  for (const char* shape :
       {"phi-3.5-moe", "qwen2-57b-a14b", "mixtral-8x7b", "deepseek-v2-lite", "qwen3-30b-a3b", "olmoe-1b-7b"}) {
    const json report = json_of({"plan", "--shape", shape, "--soc", "m2-ultra", "--prompt", "256", "--chunk", "128"});
    const json& experts = report.at("experts");
    EXPECT_EQ(experts.at("clock"), "modelled: m2-ultra");
    EXPECT_EQ(experts.at("chunk"), 128);
    int64_t placed = 0;
    std::set<std::string> places;
    for (const json& group : experts.at("groups")) {
      placed += group.at("experts").get<int64_t>();
      places.insert(group.at("lives_on"));
      EXPECT_LE(group.at("graph_mib").get<double>(), 1200) << shape;
      EXPECT_EQ(group.at("lives_on") == "npu", group.at("npu_ms").get<double>() < group.at("cpu_ms").get<double>())
          << shape;
    }
    EXPECT_EQ(placed, experts.at("experts").get<int64_t>()) << shape;
    EXPECT_TRUE(places.contains("npu")) << shape;
    ASSERT_EQ(experts.at("engines").size(), 7u);
    EXPECT_EQ(experts.at("engines")[3].at("engine"), "npumoe");
    EXPECT_LT(experts.at("engines")[3].at("ms"), experts.at("engines")[0].at("ms")) << shape;
    EXPECT_GT(experts.at("padded_share"), 0);
  }
}

TEST(PlanOfExperts, takes_the_whole_prompt_as_a_chunk_and_prints_tables) {
  const Arguments base = {"plan", "--shape", "phi-3.5-moe", "--prompt", "256", "--soc"};
  const Ended text = tandem(base + Arguments{"m2-max"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("## experts: 16, of which a token takes 2, chunks of 256 tokens"));
  EXPECT_THAT(text.out, HasSubstr("Room for an expert: 64, 32 or 32 rows"));
  EXPECT_THAT(text.out, HasSubstr("| expected tokens | NPU ms | CPU ms | lives on |"));
  EXPECT_THAT(text.out, HasSubstr(" layers | ms | attention ms | experts ms | graph calls | J |"));
  EXPECT_THAT(text.out, HasSubstr("| npumoe |"));
}

TEST(PlanOfExperts, says_so_where_the_chip_is_not_known_to_have_them) {
  const Arguments base = {"plan", "--shape", "phi-3.5-moe", "--prompt", "64", "--soc", "snapdragon-8gen3"};
  EXPECT_THAT(tandem(base).out, HasSubstr("the profile snapdragon-8gen3 has no section `experts`"));
  EXPECT_THAT(json_of(base).at("experts").at("missing").get<std::string>(), HasSubstr("m2-ultra"));
  EXPECT_FALSE(json_of({"plan", "--shape", "llama-3-8b", "--prompt", "64", "--soc", "m2-ultra"}).contains("experts"));
}

// The model has sixteen layers with 64 experts each, and a token goes to 8. So 256 tokens are 32 at each expert, and
// the tiers are 64, 32 and 32.
TEST(PlanOfExperts, puts_them_on_the_npu_of_a_phone_by_strategies) {
  const Arguments base = {"plan", "--shape", "olmoe-1b-7b", "--soc", "snapdragon-8gen3", "--prompt", "256", "--plan"};
  const auto prompt = [&](const Arguments& more) { return json_of(base + more).at("phases").at(0); };
  const auto graphs = [](const json& phase) {
    std::map<int64_t, int64_t> by_tokens;  // graphs of experts on the NPU
    for (const json& step : phase.at("steps")) {
      for (const json& op : step.at("operators")) {
        if (step.at("device") == "npu" && op.at("name").get<std::string>().find("_exps") != std::string::npos)
          ++by_tokens[op.at("tokens").get<int64_t>()];
      }
    }
    return by_tokens;
  };
  constexpr int64_t kLayers = 16, kProducts = 3;  // gate, up and down are separate matrices on this chip
  const json all = prompt({"npumoe", "--moe-residency", "all"});
  ASSERT_EQ(all.at("experts").size(), size_t{kLayers});
  EXPECT_EQ(graphs(all), (std::map<int64_t, int64_t>{{64, kLayers * kProducts * 16}, {32, kLayers * kProducts * 48}}));
  EXPECT_THAT(all.at("notes"), IsEmpty());
  EXPECT_EQ(graphs(prompt({"moe-naive"})), (std::map<int64_t, int64_t>{{256, kLayers * kProducts * 64}}));
  EXPECT_THAT(graphs(prompt({"tensor"})), IsEmpty());
  const double chosen = prompt({"npumoe"}).at("predicted_ms");
  EXPECT_LT(chosen, prompt({"npumoe", "--moe-residency", "all"}).at("predicted_ms").get<double>());
  EXPECT_LT(chosen, prompt({"moe-naive"}).at("predicted_ms").get<double>());
}

TEST(PlanOfExperts, on_a_phone_follows_what_was_counted) {
  const Folder folder;
  json layers = json::array();
  for (int layer = 0; layer < 16; ++layer) {
    std::vector<int> counts(64, 0);
    for (int i = 0; i < 8; ++i) counts[static_cast<size_t>(layer + i)] = 100;
    layers.push_back({{"layer", layer}, {"counts", counts}});
  }
  json calibration = {{"schema", 1},       {"model", "m"},  {"experts", 64},
                      {"experts_used", 8}, {"tokens", 100}, {"layers", layers}};
  const auto asked = [&](const std::string& name) {
    return Arguments{"plan",
                     "--shape",
                     "olmoe-1b-7b",
                     "--soc",
                     "snapdragon-8gen3",
                     "--prompt",
                     "256",
                     "--plan",
                     "npumoe-tg",
                     "--moe-group",
                     "8",
                     "--calibration",
                     folder.write(name, calibration.dump())};
  };
  const json experts = json_of(asked("counted.json")).at("phases").at(0).at("experts");
  EXPECT_EQ(experts.at(0).at("npu").at(0).at("experts"), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(experts.at(0).at("npu").at(0).at("rows_each"), 64);
  EXPECT_EQ(experts.at(9).at("npu").at(0).at("experts"), (std::vector<int>{9, 10, 11, 12, 13, 14, 15, 16}));
  calibration["experts_used"] = 4;
  calibration["tokens"] = 200;
  const Ended refused = tandem(asked("other.json"));
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("of other experts"));
}

TEST(PlanOfExperts, say_why_a_chip_s_npu_has_none_of_them) {
  const json phase = json_of({"plan", "--shape", "olmoe-1b-7b", "--soc", "tesla-fsd", "-p", "64", "--plan", "npumoe"})
                         .at("phases")
                         .at(0);
  EXPECT_THAT(phase.at("experts"), IsEmpty());
  EXPECT_THAT(phase.at("notes").dump(), HasSubstr("no 16-bit floats on the NPU of tesla-fsd"));
}

}  // namespace
}  // namespace tandem::testing
