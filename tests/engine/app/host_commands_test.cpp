// `run` and `eval` on the host's own loops and a random model: they print what the engine computes.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/run/serve/perplexity.h"
#include "engine/run/serve/sampler.h"
#include "tests/engine/app/program.h"
#include "tests/engine/run/host_engine.h"

namespace tandem {
namespace {

using nlohmann::json;
using testing::HostEngines;
using testing::Outcome;

constexpr const char* kText = "the other hen of the others";

class HostCommands : public ::testing::Test {
 protected:
  json command(const std::string& name, std::vector<std::string> flags) const {
    flags.insert(flags.begin(),
                 {name, "-m", engines_.path(), "-p", kText, "--device", "host", "--plan", "host-only", "--json", "-q"});
    const Outcome outcome = testing::tandem_program(flags);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.status == 0 ? json::parse(outcome.out) : json::object();
  }
  std::string logits_of(const std::string& cache_type) const {
    const std::string path = engines_.path() + ".logits";
    command("eval", {"--logits", path, "--cache-type", cache_type});
    std::ifstream file(path, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    std::filesystem::remove(path);
    return bytes;
  }
  std::vector<int32_t> prompt(const Engine& engine) const { return engine.model().tokenizer().encode(kText, {}); }

  const HostEngines engines_{"commands"};
};

TEST_F(HostCommands, run_gives_the_prompts_ids_and_those_of_the_answer) {
  const json run = command("run", {"-n", "5", "--ignore-eos"});
  const auto engine = engines_.open();
  std::vector<int32_t> ids;
  Sequence text = engine->cache().new_sequence();
  Logits logits = extend(*engine, text, prompt(*engine));
  for (int i = 0; i < 5; ++i) {
    ids.push_back(greedy_choice(logits));
    logits = extend(*engine, text, std::span(&ids.back(), 1));
  }
  EXPECT_EQ(run.at("prompt_ids").get<std::vector<int32_t>>(), prompt(*engine));
  EXPECT_EQ(run.at("ids").get<std::vector<int32_t>>(), ids);
  const json& timings = run.at("timings");
  EXPECT_EQ(timings.at("predicted_tokens"), 5);
  const double rate = timings.at("predicted_per_second"), seconds = timings.at("predicted_ms").get<double>() * 1e-3;
  EXPECT_NEAR(rate * seconds, 4, 1e-6) << "the first token's logits came with the prompt";
}

TEST_F(HostCommands, run_draws_by_the_seed_that_it_is_given) {
  const auto ids = [&](const char* seed) {
    return command("run", {"-n", "20", "--ignore-eos", "--temp", "3", "--top-k", "0", "--top-p", "1", "--min-p", "0",
                           "--seed", seed})
        .at("ids");
  };
  EXPECT_EQ(ids("7"), ids("7"));
  EXPECT_NE(ids("7"), ids("8"));
}

TEST_F(HostCommands, eval_judges_each_token_by_the_logits_of_the_one_before) {
  const auto engine = Engine::open([&] {
    EngineOptions options = engines_.options();
    options.logit_rows = options.chunk;
    return options;
  }());
  const std::vector<int32_t> ids = prompt(*engine);
  const auto V = static_cast<size_t>(engine->model().config().vocabulary);
  LogLikelihood expected;
  Sequence text = engine->cache().new_sequence();
  extend_all(*engine, text, ids, [&](int64_t first, std::span<const float> logits) {
    ASSERT_EQ(first, 0);
    for (size_t s = 0; s + 1 < ids.size(); ++s) {
      expected.negative_log_sum += negative_log_likelihood(logits.subspan(s * V, V), ids[s + 1]);
      ++expected.tokens;
    }
  });
  // In pieces of three tokens the last logits of one piece judge the first token of the next.
  for (const char* chunk : {"64", "3"}) {
    const json eval = command("eval", {"--perplexity", "--chunk", chunk});
    EXPECT_DOUBLE_EQ(eval.at("perplexity"), expected.perplexity()) << "in pieces of " << chunk;
    EXPECT_EQ(eval.at("nll_tokens"), ids.size() - 1);
  }
}

TEST_F(HostCommands, eval_rounds_keys_and_values_only_where_the_cache_is_told_to) {
  const std::string narrow = logits_of("f16"), wide = logits_of("f32");
  ASSERT_EQ(narrow.size(), wide.size());
  EXPECT_NE(narrow, wide);
  EXPECT_EQ(logits_of("f32"), wide);
}

}  // namespace
}  // namespace tandem
