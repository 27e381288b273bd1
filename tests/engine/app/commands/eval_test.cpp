// `tandem eval`: logits against golden ones, perplexity against its definition, and flags that may or must not change
// a bit.
#include <bit>
#include <cmath>
#include <sstream>

#include "tests/engine/app/commands/trace.h"
#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

class Eval : public ::testing::Test {
 protected:
  // Evaluates the golden ids of "lily" with the given flags.
  json eval(const Arguments& more, const ChildSettings& settings = {}) const {
    return json_of(Arguments{"eval", "-m", stories(), "--ids", ids_, "--logits", folder_.file("logits")} + more,
                   settings);
  }
  std::vector<float> logits(const Arguments& more) const {
    eval(more);
    return floats_of(folder_.file("logits"));
  }

  const Folder folder_;
  const json golden_ = golden("lily");
  const std::string ids_ = folder_.write("ids", words(golden_.at("prompt_ids").get<std::vector<int>>()) + "\n");
};

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (std::isnan(difference)) return INFINITY;
    largest = std::max(largest, difference);
  }
  return largest;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(a, b,
                            [](float x, float y) { return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y); });
}

TEST_F(Eval, has_the_bits_of_graphs_that_are_not_loaded) {
  const ChildSettings own_cache{.environment = {{"XDG_CACHE_HOME", folder_.file("cache")}}};
  const Arguments on_npu = {"--device", "npu:0,host", "--plan", "npu-only", "--chunk", "70"};
  eval(on_npu);
  const auto expected = floats_of(folder_.file("logits"));
  const json answer = eval(on_npu + Arguments{"--npu-memory", "1"}, own_cache);
  EXPECT_TRUE(same_bits(floats_of(folder_.file("logits")), expected));
  EXPECT_LE(answer.at("npu_memory").at("peak_bytes"), answer.at("npu_memory").at("budget_bytes"));
}

TEST_F(Eval, writes_the_golden_logits_of_given_ids) {
  const json answer = eval(on_host());
  EXPECT_EQ(answer.at("n_tokens"), golden_.at("logits_shape").at(0));
  EXPECT_EQ(answer.at("n_vocab"), golden_.at("logits_shape").at(1));
  EXPECT_EQ(answer.at("device"), "host");
  EXPECT_EQ(answer.at("plan"), "host-only");
  EXPECT_EQ(answer.at("clock"), "measured");
  EXPECT_GT(answer.at("eval_ms").get<double>(), 0);
  const auto expected = floats_of(golden_logits(golden_));
  // Both are f32 sums of at most 172 terms in 5 layers. A rounding is 2^-24 of logits below 20, and later layers pass
  // it on. The whole-model tests allow the same.
  EXPECT_LE(largest_difference(floats_of(folder_.file("logits")), expected), 2e-3);
  EXPECT_THAT(folder_.names(), ElementsAre("ids", "logits")) << "no file beside them";
}

TEST_F(Eval, gives_text_from_a_flag_a_file_or_standard_input_the_same_tokens) {
  const std::vector<float> expected = logits(on_host());
  const std::string text = golden_.at("prompt"), out = folder_.file("text_logits");
  const auto from = [&](const Arguments& source, const ChildSettings& settings = {}) {
    json_of(Arguments{"eval", "-m", stories(), "--logits", out} + on_host() + source, settings);
    return floats_of(out);
  };
  EXPECT_TRUE(same_bits(from({"-p", text}), expected));
  EXPECT_TRUE(same_bits(from({"-f", folder_.write("text", text)}), expected));
  EXPECT_TRUE(same_bits(from({"-f", "-"}, {.input = text}), expected));
  // "</s>" is one token, or at least four tokens, one for each character.
  EXPECT_LT(from({"-p", "Once</s>"}).size(), from({"-p", "Once</s>", "--no-special"}).size());
}

TEST_F(Eval, reports_the_perplexity_that_its_logits_say) {
  const json answer = eval(on_host() + Arguments{"--perplexity"});
  const std::vector<float> all = floats_of(folder_.file("logits"));
  const std::vector<int> ids = golden_.at("prompt_ids");
  const size_t vocabulary = all.size() / ids.size();
  long double sum = 0;
  for (size_t t = 0; t + 1 < ids.size(); ++t) {
    const float* row = &all[t * vocabulary];
    long double normaliser = 0;
    for (size_t i = 0; i < vocabulary; ++i) normaliser += std::exp(static_cast<long double>(row[i]));
    sum += std::log(normaliser) - static_cast<long double>(row[ids[t + 1]]);
  }
  const auto mean = static_cast<double>(sum / static_cast<long double>(ids.size() - 1));
  EXPECT_EQ(answer.at("nll_tokens"), ids.size() - 1) << "nothing predicts the first token";
  EXPECT_NEAR(answer.at("mean_nll"), mean, 1e-9);
  EXPECT_NEAR(answer.at("perplexity"), std::exp(mean), 1e-8);
  EXPECT_NEAR(answer.at("mean_nll"), golden_.at("prompt_mean_nll"), 1e-3);  // by the sum that the reference reports

  const Ended text = tandem(Arguments{"eval", "-m", stories(), "--ids", ids_, "--perplexity"} + on_host());
  EXPECT_THAT(text.out, ::testing::StartsWith("perplexity "));
  EXPECT_NEAR(std::stod(text.out.substr(11)), std::exp(mean), 1e-4 * std::exp(mean)) << "six digits";
  EXPECT_THAT(text.err, HasSubstr("device host; plan host-only"));
  const Ended quiet = tandem(Arguments{"eval", "-m", stories(), "--ids", ids_, "--perplexity", "-q"} + on_host());
  EXPECT_EQ(quiet.out, text.out);
  EXPECT_THAT(quiet.err, IsEmpty());
}

// Checks the numeric contract through the command line.
TEST_F(Eval, gives_the_same_bits_however_work_is_cut_and_waited_for) {
  const std::vector<float> expected = logits({"--device", "host", "--plan", "host-only", "--act", "f16"});
  for (const Arguments& same :
       {Arguments{"--plan", "layer"}, Arguments{"--plan", "layer", "--chunk", "3"},
        Arguments{"--plan", "rows", "--split", "0.5"}, Arguments{"--plan", "layer", "--sync", "blocking"},
        Arguments{"--plan", "layer", "--submit", "follow"}, Arguments{"--plan", "layer", "-c", "4096"},
        Arguments{"--plan", "layer", "-t", "1"}, Arguments{"--plan", "layer", "--deadline", "600"},
        Arguments{"--plan", "npu-only"}}) {
    EXPECT_TRUE(same_bits(logits(Arguments{"--device", "npu:0,host", "--act", "f16"} + same), expected))
        << ::testing::PrintToString(same);
  }
  EXPECT_EQ(eval(on_host() + Arguments{"--chunk", "3"}).at("chunk"), 3);
  EXPECT_EQ(eval(on_host() + Arguments{"--ctx-size", "100"}).at("context"), 100);
}

TEST_F(Eval, rounds_activations_and_cache_only_where_it_is_told_to) {
  const auto with = [&](const char* act, const char* cache) {
    return logits({"--device", "host", "--plan", "host-only", "--act", act, "--cache-type", cache});
  };
  const std::vector<float> exact = with("f32", "f32"), act = with("f16", "f32"), cache = with("f32", "f16");
  EXPECT_FALSE(same_bits(act, exact));
  EXPECT_FALSE(same_bits(cache, exact));
  EXPECT_FALSE(same_bits(cache, act));
  // Steps of f16 are 2^13 times those of f32. So rounding to f16 moves logits much farther from the golden ones.
  const auto expected = floats_of(golden_logits(golden_));
  const double distance = largest_difference(exact, expected);
  EXPECT_GT(largest_difference(act, expected), 10 * distance);
  EXPECT_GT(largest_difference(cache, expected), 10 * distance);
}

// This model's weights are F16. --act i8 needs integer weights, so it changes nothing here, and the command says so.
TEST_F(Eval, takes_8_bit_activations_where_weights_are_integers) {
  const Ended noted = tandem(Arguments{"eval", "-m", stories(), "--ids", ids_, "--perplexity", "--device", "host",
                                       "--plan", "host-only", "--act", "i8"});
  EXPECT_EQ(noted.status, 0);
  EXPECT_THAT(noted.err, HasSubstr("--act i8: all matrices are F16, BF16 or F32, and multiply f32 activations"));
  EXPECT_EQ(eval({"--device", "host", "--plan", "host-only", "--act", "i8"}).at("act"), "i8");
  EXPECT_TRUE(same_bits(logits({"--device", "host", "--plan", "host-only", "--act", "i8"}),
                        logits({"--device", "host", "--plan", "host-only", "--act", "f32"})));
  const std::string some_integers = repository_data("mixed-models/first.gguf");
  const auto with = [&](const char* act) {
    const std::string path = folder_.file("i8.logits");
    json_of(Arguments{"eval", "-m", some_integers, "--ids", ids_, "--device", "host", "--plan", "host-only", "--act",
                      act, "--logits", path});
    return floats_of(path);
  };
  EXPECT_FALSE(same_bits(with("i8"), with("f32")));
}

TEST_F(Eval, takes_fast_for_8_bit_activations) {
  const Arguments host = {"--device", "host", "--plan", "host-only"};
  const std::string some_integers = repository_data("mixed-models/first.gguf");
  const auto with = [&](const Arguments& act) {
    const std::string path = folder_.file("fast.logits");
    const json answer = json_of(Arguments{"eval", "-m", some_integers, "--ids", ids_, "--logits", path} + host + act);
    EXPECT_EQ(answer.at("act"), "i8");
    return floats_of(path);
  };
  EXPECT_TRUE(same_bits(with({"--fast"}), with({"--act", "i8"})));
  const Ended noted = tandem(Arguments{"eval", "-m", stories(), "--ids", ids_, "--perplexity", "--fast"} + host);
  EXPECT_THAT(noted.err, HasSubstr("all matrices are F16, BF16 or F32, and multiply f32 activations"));
  EXPECT_EQ(tandem(Arguments{"eval", "-m", stories(), "--ids", ids_, "--fast", "--act", "f16"} + host).status, 2);
}

// --act auto chooses 8-bit activations only if all matrices have integers, because plans have equal bits then.
TEST_F(Eval, chooses_8_bit_activations_by_the_weights) {
  const std::string shape = folder_.write(
      "shape.json", R"({"schema": 1, "architecture": "llama", "layers": 2, "hidden": 64, "feed_forward": 96,
                        "heads": 2, "vocabulary": 300, "context_length": 128})");
  const std::string integers = folder_.file("integers.gguf");
  ASSERT_EQ(tandem({"make-random", "--shape", shape, "--type", "q8_0", "-o", integers, "-q"}).status, 0);
  const std::string ids = folder_.write("few.ids", "1 5 9 200 299 7\n");
  const auto act = [&](const std::string& model, const Arguments& flags) {
    return json_of(Arguments{"eval", "-m", model, "--ids", ids, "--device", "npu:0,host"} + flags).at("act");
  };
  EXPECT_EQ(act(integers, {"--act", "auto"}), "i8");
  for (const Arguments& exact : {Arguments{}, Arguments{"--exact"}}) EXPECT_EQ(act(integers, exact), "f16");
  EXPECT_EQ(act(stories(), {"--act", "auto"}), "f16") << "its weights are F16";
  EXPECT_EQ(act(repository_data("mixed-models/first.gguf"), {"--act", "auto"}), "f16") << "some of them are dense";
  for (const Arguments& two : {Arguments{"--exact", "--fast"}, Arguments{"--exact", "--act", "auto"}})
    EXPECT_EQ(tandem(Arguments{"eval", "-m", integers, "--ids", ids} + two).status, 2);
}

TEST_F(Eval, says_what_falls_back_what_waits_and_what_a_chip_would_take) {
  const Arguments base = {"eval", "-m", stories(), "--ids", ids_, "--device", "npu:0,host"};
  const Ended noted = tandem(base + Arguments{"--plan", "npu-only", "-t", "1"});
  EXPECT_EQ(noted.status, 0) << noted.err;
  EXPECT_THAT(noted.err, HasSubstr("note: npu:0 does not run"));
  EXPECT_THAT(noted.err, HasSubstr("waits are blocking"));
  EXPECT_EQ(tandem(base + Arguments{"--plan", "npu-only", "--strict-device"}).status, 1);

  const Arguments on_chip = {"--plan", "layer", "--chunk", "8", "--soc", "snapdragon-8gen3"};
  const json chip = json_of(base + on_chip).at("model_clock");
  const json plan = json_of(Arguments{"plan", "-m", stories(), "--prompt", "17"} + on_chip);
  double pieces = 0;
  for (const json& phase : plan.at("phases")) {
    if (phase.at("phase") == "prefill") pieces += phase.at("predicted_ms").get<double>();
  }
  EXPECT_EQ(chip.at("clock"), "modelled");
  EXPECT_NEAR(chip.at("eval_ms"), pieces, 1e-9);
  EXPECT_THAT(tandem(base + on_chip).err, HasSubstr("on snapdragon-8gen3: "));
}

TEST_F(Eval, draws_its_last_piece) {
  const std::string path = folder_.file("trace.svg");
  eval(on_host() + Arguments{"--chunk", "8", "--trace", path});
  EXPECT_THAT(content_of(path), HasSubstr("<svg xmlns="));
  EXPECT_THAT(content_of(path), HasSubstr("blk.0."));
}

TEST_F(Eval, traces_its_pieces_and_tells_of_broken_measurements_when_it_may) {
  const std::string path = folder_.file("trace.json");
  const json answer = eval(on_host() + Arguments{"--chunk", "8", "--trace", path});
  const Trace trace = read_trace(path);
  EXPECT_EQ(trace.at("orchestrator").size(), 3u) << "8, 8 and 1 tokens";
  EXPECT_LE(overlap_us(trace.at("host")), 1e-3);
  EXPECT_LE(sum_us(trace.at("host")), sum_us(trace.at("orchestrator")));
  EXPECT_LE(sum_us(trace.at("orchestrator")), 1e3 * answer.at("eval_ms").get<double>());

  std::filesystem::create_directories(folder_.file("cache/tandem"));
  folder_.write("cache/tandem/measured.json", "{");
  const ChildSettings broken{.environment = {{"XDG_CACHE_HOME", folder_.file("cache")}}};
  const Arguments plain = Arguments{"eval", "-m", stories(), "--ids", ids_} + on_host();
  EXPECT_THAT(tandem(plain + Arguments{"-v"}, broken).err, HasSubstr("unreadable"));
}

TEST_F(Eval, maps_the_packed_weights_that_a_first_run_has_kept) {
  namespace fs = std::filesystem;
  const Folder own;
  const ChildSettings own_cache{.environment = {{"XDG_CACHE_HOME", own.file("")}}};
  const std::string out = own.file("logits.f32"), packed = own.file("tandem/packed");
  const auto eval = [&](const Arguments& more) {
    const Ended ended =
        tandem(Arguments{"eval", "-m", stories(), "--ids", ids_, "--logits", out} + on_host() + more, own_cache);
    EXPECT_EQ(ended.status, 0) << ended.err;
    return std::pair(content_of(out), ended.err);
  };
  const std::string expected = eval({}).first;
  EXPECT_FALSE(fs::exists(packed)) << "nothing is kept unless it is asked for";
  EXPECT_EQ(eval({"--pack-cache"}).first, expected);
  fs::path kept;
  for (const fs::directory_entry& file : fs::directory_iterator(packed)) {
    if (file.path().extension() == ".packed") kept = file.path();
  }
  ASSERT_FALSE(kept.empty());
  const auto [mapped, nothing_wrong] = eval({"--pack-cache"});
  EXPECT_EQ(mapped, expected);
  EXPECT_THAT(nothing_wrong, Not(HasSubstr("made anew")));
  const uint64_t bytes = fs::file_size(kept);

  fs::resize_file(kept, bytes / 2);
  const auto [logits, noted] = eval({"--pack-cache"});
  EXPECT_EQ(logits, expected);
  EXPECT_THAT(noted, HasSubstr("kept packed weights are not used"));
  EXPECT_EQ(fs::file_size(kept), bytes) << "made anew";

  fs::resize_file(kept, bytes / 2);
  fs::resize_file(kept, bytes);  // zeros
  const auto [not_of_zeros, said] = eval({"--pack-cache"});
  EXPECT_EQ(not_of_zeros, expected);
  EXPECT_THAT(said, HasSubstr("made anew"));
}

// Several texts share passes here, and each is longer than a piece. Each has the perplexity that it has alone, bit
// for bit.
TEST_F(Eval, of_many_texts_gives_the_perplexity_of_each) {
  const std::vector<std::string> texts = {golden("lily").at("prompt"), golden("story").at("prompt"), "The dog ran."};
  std::vector<json> alone;
  for (const std::string& text : texts)
    alone.push_back(json_of(Arguments{"eval", "-m", stories(), "-p", text, "--perplexity"} + on_host()));
  std::string lines;
  for (const std::string& text : texts) lines += json({{"prompt", text}}).dump() + "\n";
  lines += "[]\n";
  const auto expect = [&](const Ended& ended, const char* key, int failed) {
    EXPECT_EQ(ended.status, failed > 0 ? 1 : 0) << ended.err;
    std::istringstream in(ended.out);
    size_t i = 0;
    for (std::string line; std::getline(in, line); ++i) {
      const json answer = json::parse(line);
      ASSERT_TRUE(answer.contains(key)) << line;
      if (i >= texts.size()) continue;
      for (const char* figure : {"n_tokens", "perplexity", "mean_nll", "nll_tokens"})
        EXPECT_EQ(answer.at(figure), alone[i].at(figure)) << figure << " of " << texts[i];
    }
    EXPECT_EQ(i, texts.size() + static_cast<size_t>(failed));
  };
  const Arguments eval = Arguments{"eval", "-m", stories()} + on_host() + Arguments{"--chunk", "8"};
  expect(tandem(eval + Arguments{"--jsonl", folder_.write("lines", lines), "-np", "2"}), "line", 1);
  Arguments files = eval;
  for (size_t i = 0; i < texts.size(); ++i)
    files = files + Arguments{"-f", folder_.write("text" + std::to_string(i), texts[i])};
  expect(tandem(files), "file", 0);
  expect(tandem(files + Arguments{"--parallel", "1", "--unordered"}), "file", 0);
  EXPECT_EQ(tandem(files + Arguments{"--logits", folder_.file("logits")}).status, 2);
}

TEST_F(Eval, leaves_no_file_when_it_fails) {
  const Ended wrong_id = tandem({"eval", "-m", stories(), "--ids", folder_.write("wrong", "1 99999"), "--logits",
                                 folder_.file("logits"), "--json"});
  EXPECT_EQ(wrong_id.status, 1);
  EXPECT_THAT(json::parse(wrong_id.out).at("error").at("message"), HasSubstr("99999"));
  const Ended no_folder =
      tandem(Arguments{"eval", "-m", stories(), "--ids", ids_, "--logits", folder_.file("no/where")} + on_host());
  EXPECT_EQ(no_folder.status, 1);
  EXPECT_THAT(no_folder.err, HasSubstr("no/where"));
  EXPECT_THAT(folder_.names(), ElementsAre("ids", "wrong"));
}

}  // namespace
}  // namespace tandem::testing
