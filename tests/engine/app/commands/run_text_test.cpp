// `tandem run` as a user starts it: its text, its JSON, the sources of the prompt, the ends of generation.
#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

class RunText : public ::testing::Test {
 protected:
  Arguments run(const Arguments& more) const { return Arguments{"run", "--model", stories()} + on_host() + more; }
  json story(const Arguments& more) const { return json_of(run(Arguments{"--prompt", "Once upon a time"} + more)); }
};

TEST_F(RunText, is_the_golden_text_alone_on_standard_output) {
  const json expected = golden("story");
  const std::string n = std::to_string(expected.at("greedy_ids").size());
  const Ended ended = tandem(run({"-p", "Once upon a time", "-n", n}));
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.out, expected.at("greedy_text").get<std::string>());
  EXPECT_THAT(ended.err, HasSubstr("device host; plan host-only"));
  EXPECT_THAT(ended.err, HasSubstr("stopped: length"));

  const Ended quiet = tandem(run({"-p", "Once upon a time", "-n", n, "-q"}));
  EXPECT_EQ(quiet.out, expected.at("greedy_text").get<std::string>());
  EXPECT_THAT(quiet.err, IsEmpty());
}

TEST_F(RunText, comes_as_json_with_what_the_interface_promises) {
  for (const char* prompt : {"story", "lily"}) {
    const json expected = golden(prompt);
    const size_t n = expected.at("greedy_ids").size();
    // Drafts would be used where passes of several tokens pay, so the passes would depend on the machine.
    const json answer = json_of(run({"-p", expected.at("prompt"), "--predict", std::to_string(n), "--spec", "none"}));
    EXPECT_EQ(answer.at("text"), expected.at("greedy_text"));
    EXPECT_EQ(answer.at("prompt_ids"), expected.at("prompt_ids"));
    EXPECT_EQ(answer.at("ids"), expected.at("greedy_ids"));
    EXPECT_EQ(answer.at("stop_reason"), "length");
    EXPECT_EQ(answer.at("device"), "host");
    EXPECT_EQ(answer.at("plan"), "host-only");
    EXPECT_EQ(answer.at("plan_asked"), "host-only");
    EXPECT_EQ(answer.at("act"), "f32");
    const json& timings = answer.at("timings");
    const auto prompt_tokens = expected.at("prompt_ids").size();
    EXPECT_EQ(timings.at("clock"), "measured");
    EXPECT_EQ(timings.at("prompt_tokens"), prompt_tokens);
    EXPECT_EQ(timings.at("predicted_tokens"), n);
    // A rate is tokens over time. The first token came with the prompt.
    EXPECT_NEAR(timings.at("prompt_per_second").get<double>() * timings.at("prompt_ms").get<double>() * 1e-3,
                static_cast<double>(prompt_tokens), 1e-6 * static_cast<double>(prompt_tokens));
    EXPECT_NEAR(timings.at("predicted_per_second").get<double>() * timings.at("predicted_ms").get<double>() * 1e-3,
                static_cast<double>(n - 1), 1e-6 * static_cast<double>(n));
    // The passes are the prompt, and each token except the last one.
    const json passes = json::array({{{"tokens", prompt_tokens}, {"plan", "host-only"}, {"passes", 1}},
                                     {{"tokens", 1}, {"plan", "host-only"}, {"passes", n - 1}}});
    EXPECT_EQ(answer.at("plan_ran"), passes);
  }
}

TEST_F(RunText, continues_a_file_or_standard_input_byte_for_byte) {
  const Folder folder;
  const std::string text = "Lily and Tom went\n";
  const auto prompt_ids = [&](const Arguments& source, const ChildSettings& settings = {}) {
    return json_of(run(Arguments{"-n", "1"} + source), settings).at("prompt_ids");
  };
  const json typed = prompt_ids({"-p", text});
  EXPECT_EQ(prompt_ids({"-f", folder.write("prompt.txt", text)}), typed);
  EXPECT_EQ(prompt_ids({"-f", "-"}, {.input = text}), typed);
  EXPECT_NE(prompt_ids({"--file", folder.write("prompt.txt", "Lily and Tom went")}), typed)
      << "the last newline counts";
}

TEST_F(RunText, goes_on_from_a_saved_state_with_the_text_of_one_run) {
  const Folder folder;
  const std::string prompt = golden("lily").at("prompt"), state = folder.file("lily.state");
  const Arguments run = Arguments{"run", "-m", stories(), "-n", "12"} + on_host();
  const json whole = json_of(run + Arguments{"-p", prompt, "--save-state", state});
  const std::string longer = prompt + whole.at("text").get<std::string>();
  const json expected = json_of(run + Arguments{"-p", longer});
  const json found = json_of(run + Arguments{"-p", longer, "--load-state", state});
  EXPECT_EQ(found.at("ids"), expected.at("ids"));
  const int64_t kept = found.at("timings").at("kept_tokens"), read = whole.at("timings").at("prompt_tokens");
  EXPECT_GE(kept, read) << "the prompt, and what was written behind it as far as its tokens are the same";
  EXPECT_EQ(expected.at("timings").at("kept_tokens"), 0);
  const json other = json_of(run + Arguments{"-p", "The dog", "--load-state", state});
  EXPECT_EQ(other.at("ids"), json_of(run + Arguments{"-p", "The dog"}).at("ids")) << "it begins otherwise";
  const Ended wrong =
      tandem({"run", "-m", stories(), "-p", prompt, "--load-state", state, "--device", "host", "--cache-type", "f16"});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.err, HasSubstr("the saved state is of another kind"));
  EXPECT_EQ(tandem(run + Arguments{"--jsonl", "x", "--load-state", state}).status, 2);
}

TEST_F(RunText, takes_special_tokens_in_the_prompt_as_such_unless_told_otherwise) {
  const auto ids = [&](const Arguments& more) {
    return json_of(run(Arguments{"-p", "Once</s>", "-n", "1"} + more)).at("prompt_ids").get<std::vector<int>>();
  };
  EXPECT_EQ(ids({}).back(), 2);
  const std::vector<int> plain = ids({"--no-special"});
  EXPECT_EQ(std::ranges::count(plain, 2), 0);
  EXPECT_GT(plain.size(), ids({}).size());
}

TEST_F(RunText, ends_after_the_asked_number_of_tokens) {
  const std::vector<int> greedy = golden("story").at("greedy_ids");
  EXPECT_EQ(story({"-n", "7"}).at("ids"), std::vector<int>(greedy.begin(), greedy.begin() + 7));
  const json none = story({"-n", "0"});
  EXPECT_EQ(none.at("ids"), json::array());
  EXPECT_EQ(none.at("text"), "");
}

TEST_F(RunText, ends_before_a_stop_string_the_earliest_of_several) {
  const std::string text = golden("story").at("greedy_text");
  ASSERT_THAT(text, HasSubstr("named Lily. She"));
  const json stopped = story({"-n", "60", "--stop", "She", "--stop", "Lily"});
  EXPECT_EQ(stopped.at("text"), text.substr(0, text.find("Lily")));
  EXPECT_EQ(stopped.at("stop_reason"), "stop");
  EXPECT_LT(stopped.at("ids").size(), 60u);
}

TEST_F(RunText, ends_with_the_end_token_unless_told_to_go_on) {
  // The same model, except that its sixth greedy token is the end token.
  const std::vector<int> greedy = golden("story").at("greedy_ids");
  const auto first = static_cast<size_t>(std::ranges::find(greedy, greedy[5]) - greedy.begin());
  std::string file = content_of(stories());
  const std::string key = "tokenizer.ggml.eos_token_id";
  const size_t at = file.find(key) + key.size();
  ASSERT_EQ(file.substr(at, 4), std::string("\4\0\0\0", 4)) << "a number of 32 bits";
  for (int i = 0; i < 4; ++i) file[at + 4 + static_cast<size_t>(i)] = static_cast<char>(greedy[5] >> 8 * i);
  const Folder folder;
  const Arguments ends =
      Arguments{"run", "-m", folder.write("ends.gguf", file), "-p", "Once upon a time", "-n", "20"} + on_host();
  const json ended = json_of(ends);
  EXPECT_EQ(ended.at("stop_reason"), "eos");
  EXPECT_EQ(ended.at("ids"), std::vector<int>(greedy.begin(), greedy.begin() + static_cast<ptrdiff_t>(first) + 1));
  const json goes_on = json_of(ends + Arguments{"--ignore-eos"});
  EXPECT_EQ(goes_on.at("stop_reason"), "length");
  EXPECT_EQ(goes_on.at("ids"), std::vector<int>(greedy.begin(), greedy.begin() + 20));
}

TEST_F(RunText, ends_when_the_context_is_full_and_refuses_a_prompt_that_does_not_fit) {
  const size_t prompt = golden("story").at("prompt_ids").size();
  const json full = story({"-n", "-1", "-c", "16"});
  EXPECT_EQ(full.at("stop_reason"), "context_full");
  EXPECT_EQ(full.at("ids").size(), 16 - prompt + 1) << "what is in the context, and the token that did not fit";

  const Ended text = tandem(run({"-p", "Once upon a time", "-n", "-1", "--ctx-size", "16"}));
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.err, HasSubstr("--ctx-size"));

  const Ended refused = tandem(run({"-p", "Once upon a time", "-c", "4", "--json"}));
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(json::parse(refused.out).at("error").at("hint"), HasSubstr("--ctx-size"));
  EXPECT_THAT(refused.err, HasSubstr("tandem: the context is full"));
}

TEST_F(RunText, takes_model_and_devices_from_the_environment_where_no_flag_says_otherwise) {
  const Arguments plain = {"run", "-p", "Once upon a time", "-n", "5", "--plan", "host-only"};
  const ChildSettings environment{.environment = {{"TANDEM_MODEL", stories()}, {"TANDEM_DEVICE", "host"}}};
  const json answer = json_of(plain, environment);
  EXPECT_EQ(answer.at("device"), "host");
  EXPECT_EQ(answer.at("ids").size(), 5u);
  const Arguments by_any_plan = {"run", "-p", "Once upon a time", "-n", "5"};
  const json list =
      json_of(by_any_plan, {.environment = {{"TANDEM_MODEL", stories()}, {"TANDEM_DEVICE", "npu:0,host"}}});
  EXPECT_EQ(list.at("device"), "npu:0,host");
  const Ended refused = tandem(plain + Arguments{"-m", "/nowhere.gguf", "--device", "host"}, environment);
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("/nowhere.gguf"));
}

// The kept measurements cannot be read. The program reports it only at log levels above warnings.
TEST_F(RunText, is_told_about_as_the_log_level_asks) {
  const Folder cache;
  const auto says = [&](const Arguments& more, std::map<std::string, std::string> environment = {}) {
    std::filesystem::create_directories(cache.file("tandem"));
    cache.write("tandem/measured.json", "not JSON");
    environment["XDG_CACHE_HOME"] = cache.file("");
    const Ended ended = tandem(run(Arguments{"-p", "Once", "-n", "1"} + more), {.environment = environment});
    EXPECT_EQ(ended.status, 0) << ended.err;
    return ended.err.find("unreadable") != std::string::npos;
  };
  EXPECT_FALSE(says({}));
  EXPECT_TRUE(says({"-v"}));
  EXPECT_TRUE(says({"--verbose", "-v"}));
  EXPECT_FALSE(says({"--quiet"}));
  EXPECT_TRUE(says({}, {{"TANDEM_LOG", "info"}}));
  EXPECT_FALSE(says({"-v"}, {{"TANDEM_LOG", "error"}})) << "the environment wins";
}

// The model's training used 512 tokens.
TEST(LongerThanTrained, is_noted_by_every_command_that_holds_so_much) {
  const Folder folder;
  std::string ids;
  for (int i = 0; i < 520; ++i) ids += std::to_string(10 + i % 400) + " ";
  const std::string file = folder.write("ids", ids);
  const Arguments model = Arguments{"-m", stories()}, text_of_one = model + Arguments{"-p", "Once", "-n", "1"};
  const std::vector<std::pair<Arguments, std::string>> beyond = {
      {Arguments{"run", "-c", "100000"} + text_of_one + on_host(), "100000"},
      {Arguments{"run", "-c", "600", "--jsonl", "-", "-np", "2"} + model + on_host(), "600"},
      {Arguments{"eval", "--ids", file} + model + on_host(), "520"},
      {Arguments{"eval", "-c", "700", "-p", "Once"} + model + on_host(), "700"},
      {Arguments{"bench", "-p", "520", "-n", "0", "-r", "1"} + model + on_host(), "520"},
      {Arguments{"bench", "-p", "0", "-n", "1", "-d", "513", "-r", "1"} + model + on_host(), "514"},
      {Arguments{"bench", "-p", "400", "-n", "120", "-np", "1", "-r", "1"} + model + on_host(), "520"},
      {Arguments{"plan", "-p", "520"} + model + on_host(), "520"},
      {Arguments{"plan", "-p", "520", "--soc", "snapdragon-8gen3"} + model, "520"}};
  for (const auto& [arguments, tokens] : beyond) {
    const Ended ended = tandem(arguments);
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("note: a context of " + tokens + " tokens is longer than the 512 that the model"))
        << ::testing::PrintToString(arguments);
  }
  for (const Arguments& within :
       {Arguments{"run", "-c", "512"} + text_of_one + on_host(), Arguments{"run"} + text_of_one + on_host(),
        Arguments{"bench", "-p", "8", "-n", "0", "-r", "1"} + model + on_host(),
        Arguments{"run", "-c", "600", "-q"} + text_of_one + on_host()})
    EXPECT_THAT(tandem(within).err, Not(HasSubstr("longer than"))) << ::testing::PrintToString(within);
}

}  // namespace
}  // namespace tandem::testing
