// `tandem run --jsonl`: many prompts of one file. Each has the answer that it has alone.
#include <sstream>

#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

std::string as_line(const json& object) { return object.dump() + "\n"; }

std::vector<json> answers_in(const std::string& out) {
  std::vector<json> all;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) all.push_back(json::parse(line, nullptr, false));
  return all;
}

class RunLines : public ::testing::Test {
 protected:
  // The ids of the answer to one prompt alone.
  static json alone(const std::string& prompt, const Arguments& more) {
    return json_of(Arguments{"run", "-m", stories(), "-p", prompt} + more).at("ids");
  }
  Ended lines(const std::string& content, const Arguments& more) const {
    return tandem(Arguments{"run", "-m", stories(), "--jsonl", folder_.write("prompts.jsonl", content)} + more);
  }
  const Folder folder_;
};

// The prompts have nothing in common, begin alike, are the beginning of the one before, or repeat. All have the tokens
// that a run of their own produces.
void expect_answers_of_runs_alone(const Folder& folder, const Arguments& how) {
  const std::string story = golden("story").at("prompt"), lily = golden("lily").at("prompt");
  const std::vector<std::string> prompts = {
      story, story + " The dog", lily, lily, lily.substr(0, lily.size() / 2), story + " The cat"};
  std::string content;
  for (const std::string& prompt : prompts) content += as_line({{"prompt", prompt}});
  const Ended ended =
      tandem(Arguments{"run", "-m", stories(), "--jsonl", folder.write("prompts.jsonl", content), "-n", "12"} + how);
  EXPECT_EQ(ended.status, 0) << ended.err;
  const std::vector<json> answers = answers_in(ended.out);
  ASSERT_EQ(answers.size(), prompts.size()) << ended.out;
  for (size_t i = 0; i < prompts.size(); ++i) {
    SCOPED_TRACE(prompts[i]);
    const json alone = json_of(Arguments{"run", "-m", stories(), "-p", prompts[i], "-n", "12"} + how);
    for (const char* key : {"text", "prompt_ids", "ids", "stop_reason", "act", "device"})
      EXPECT_EQ(answers[i].at(key), alone.at(key)) << key;
    EXPECT_EQ(answers[i].at("line"), i + 1);
  }
  const auto kept = [&](size_t i) { return answers[i].at("timings").at("kept_tokens").get<int64_t>(); };
  const auto length = [&](size_t i) { return answers[i].at("timings").at("prompt_tokens").get<int64_t>(); };
  EXPECT_EQ(kept(0), 0);
  EXPECT_GE(kept(1), length(0));
  EXPECT_EQ(kept(3), length(3) - 1);
  EXPECT_EQ(kept(4), length(4) - 1);
  EXPECT_THAT(ended.err, HasSubstr("6 prompts of"));
}

TEST_F(RunLines, are_answered_as_if_each_prompt_had_been_asked_alone) {
  expect_answers_of_runs_alone(folder_, on_host());
}

TEST_F(RunLines, are_answered_as_if_each_prompt_had_been_asked_alone_by_a_gpu_and_the_npu) {
  NEED_DEVICE("opencl:0");
  expect_answers_of_runs_alone(folder_, {"--device", "opencl:0,npu:0,host"});
}

TEST_F(RunLines, have_a_length_and_a_seed_of_their_own_or_those_of_the_flags) {
  const std::string prompt = golden("lily").at("prompt");
  const Arguments drawn = on_host() + Arguments{"--temp", "1"};
  const Ended ended = lines(as_line({{"prompt", prompt}, {"seed", 5}}) + "\n" +
                                as_line({{"prompt", prompt}, {"n_predict", 3}}) + as_line({{"prompt", prompt}}),
                            drawn + Arguments{"-n", "8", "--seed", "9"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  const std::vector<json> answers = answers_in(ended.out);
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0].at("ids"), alone(prompt, drawn + Arguments{"-n", "8", "--seed", "5"}));
  EXPECT_EQ(answers[1].at("ids"), alone(prompt, drawn + Arguments{"-n", "3", "--seed", "9"}));
  EXPECT_EQ(answers[2].at("ids"), alone(prompt, drawn + Arguments{"-n", "8", "--seed", "9"}));
  EXPECT_NE(answers[0].at("ids"), answers[2].at("ids"));
  EXPECT_EQ(answers[1].at("line"), 3) << "an empty line is a line";
}

TEST_F(RunLines, take_every_seed_that_the_flag_takes_and_tell_the_ones_that_were_drawn) {
  const std::string prompt = golden("lily").at("prompt");
  const Arguments drawn = on_host() + Arguments{"--temp", "1", "-n", "8"};
  const Ended ended = lines(R"({"seed": 18446744073709551615, "prompt": )" + json(prompt).dump() + "}\n" +
                                as_line({{"prompt", prompt}, {"seed", -1}}) + as_line({{"prompt", prompt}}),
                            drawn + Arguments{"--seed", "-1"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  const std::vector<json> answers = answers_in(ended.out);
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0].at("seed"), 18446744073709551615u);
  for (const json& answer : answers)
    EXPECT_EQ(answer.at("ids"), alone(prompt, drawn + Arguments{"--seed", answer.at("seed").dump()}));
  EXPECT_THAT(ended.err, HasSubstr("seed " + answers[2].at("seed").dump() + " (drawn"));
}

// The text is the same however it was drafted. Only a prediction that is right makes drafts of that source.
TEST_F(RunLines, have_predictions_and_a_way_of_drafting_of_their_own_or_those_of_the_flags) {
  const std::string prompt = golden("lily").at("prompt");
  const Arguments how = on_host() + Arguments{"-n", "40", "--ignore-eos"};
  const json plain = json_of(Arguments{"run", "-m", stories(), "-p", prompt, "--spec", "none"} + how);
  const std::string text = plain.at("text"), other = folder_.write("other.txt", "Nothing of it.");
  const std::string content = as_line({{"prompt", prompt}, {"spec", "sam"}, {"prediction", {"Nothing.", text}}}) +
                              as_line({{"prompt", prompt}, {"prediction", text}, {"spec", "sdnpu"}}) +
                              as_line({{"prompt", prompt}, {"prediction", json::array()}}) +
                              as_line({{"prompt", prompt}, {"spec", "auto"}, {"prediction", ""}}) +
                              as_line({{"prompt", prompt}, {"spec", "pld"}});
  const Ended ended = lines(content, how + Arguments{"--spec", "none", "--prediction", other});
  EXPECT_EQ(ended.status, 0) << ended.err;
  const std::vector<json> answers = answers_in(ended.out);
  ASSERT_EQ(answers.size(), 5u) << ended.out;
  const std::vector<std::string> modes = {"sam", "sdnpu", "none", "auto", "pld"};
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].at("ids"), plain.at("ids")) << i;
    EXPECT_EQ(answers[i].at("spec").at("mode"), modes[i]);
  }
  EXPECT_EQ(answers[2].at("spec").at("why_none"), "speculative decoding was not asked for");
  EXPECT_EQ(answers[1].at("spec").at("why_none"), "");
  const std::string ten = as_line({{"prompt", prompt}, {"prediction", text}, {"spec", "sdnpu"}});
  std::string tens;
  for (int i = 0; i < 10; ++i) tens += ten;
  int64_t accepted = 0;
  for (const json& answer : answers_in(lines(tens, how + Arguments{"-np", "1"}).out)) {
    EXPECT_EQ(answer.at("ids"), plain.at("ids"));
    const json& sources = answer.at("spec").at("sources");
    if (sources.contains("prediction")) accepted += sources.at("prediction").at("accepted").get<int64_t>();
  }
  EXPECT_GT(accepted, 0);
}

TEST_F(RunLines, that_are_broken_are_told_by_their_number_and_the_rest_goes_on) {
  const std::string prompt = golden("lily").at("prompt");
  const std::string good = as_line({{"prompt", prompt}});
  std::string endless;
  for (int i = 0; i < 400; ++i) endless += "word and word ";
  const std::vector<std::pair<std::string, std::string>> broken = {
      {"{\"prompt\": ", "it is not JSON"},
      {std::string("{\"prompt\": \"a\"}\0{\"n_predict\": 4}", 32), "it is not JSON"},
      {"[1, 2]", "it is no object"},
      {"{\"n_predict\": 4}", "it has no \"prompt\""},
      {"{\"prompt\": 4}", "\"prompt\" is no text"},
      {"{\"prompt\": \"a\", \"n_predict\": -2}", "\"n_predict\" is a whole number from -1 to 2147483647"},
      {"{\"prompt\": \"a\", \"n_predict\": 1.5}", "\"n_predict\" is a whole number from -1 to 2147483647"},
      {"{\"prompt\": \"a\", \"n_predict\": 99999999999}", "\"n_predict\" is a whole number from -1 to 2147483647"},
      {"{\"prompt\": \"a\", \"seed\": -2}", "\"seed\" is a whole number from 0 to 18446744073709551615, or -1"},
      {"{\"prompt\": \"a\", \"seed\": 18446744073709551616}", "\"seed\" is a whole number from 0"},
      {"{\"prompt\": \"a\", \"temperature\": 1}", "it has the key \"temperature\""},
      {"{\"prompt\": \"a\", \"json_schema\": {\"const\": 18446744073709551616}}", "\"const\" has a whole number"},
      {"{\"prompt\": \"a\", \"seed\": 1, \"seed\": 2}", "it has the key \"seed\" twice"},
      {"{\"prompt\": \"a\", \"prediction\": 4}", "\"prediction\" is a text or a list of texts"},
      {"{\"prompt\": \"a\", \"prediction\": null}", "\"prediction\" is a text or a list of texts"},
      {"{\"prompt\": \"a\", \"prediction\": [\"b\", [\"c\"]]}", "\"prediction\" is a text or a list of texts"},
      {"{\"prompt\": \"a\", \"prediction\": {\"b\": 1}}", "\"prediction\" is a text or a list of texts"},
      {"{\"prompt\": \"a\", \"predictions\": \"b\"}", "it has the key \"predictions\""},
      {"{\"prompt\": \"a\", \"spec\": \"eagle\"}", "\"spec\" is none, auto, pld, sam or sdnpu"},
      {"{\"prompt\": \"a\", \"spec\": true}", "\"spec\" is none, auto, pld, sam or sdnpu"},
      {"{\"prompt\": \"a\", \"spec\": \"\"}", "\"spec\" is none, auto, pld, sam or sdnpu"},
      {json({{"prompt", endless}}).dump(), "the context is full"}};
  std::string content = good;
  for (const auto& [line, reason] : broken) content += line + "\n" + good;
  const Ended ended = lines(content, on_host() + Arguments{"-n", "4"});
  EXPECT_EQ(ended.status, 1);
  const std::vector<json> answers = answers_in(ended.out);
  ASSERT_EQ(answers.size(), 2 * broken.size() + 1) << ended.out;
  const json expected = alone(prompt, on_host() + Arguments{"-n", "4"});
  for (size_t i = 0; i < answers.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(answers[i].at("line"), i + 1);
    if (i % 2 == 0) {
      EXPECT_EQ(answers[i].at("ids"), expected);
      continue;
    }
    const std::string message = answers[i].at("error").at("message");
    EXPECT_THAT(message, HasSubstr(broken[i / 2].second));
    EXPECT_THAT(ended.err, HasSubstr("line " + std::to_string(i + 1) + " of"));
  }
  EXPECT_THAT(ended.err, HasSubstr(std::to_string(broken.size()) + " failed;"));
}

TEST_F(RunLines, from_standard_input_are_answered_before_the_next_one_is_there) {
  Child child(Arguments{"run", "-m", stories(), "--jsonl", "-", "-n", "3"} + on_host(), {.keeps_input_open = true});
  const std::string line = as_line({{"prompt", "Once"}});
  child.write_until_read(line + line.substr(0, 3));
  EXPECT_TRUE(child.wait_until([&] { return child.out().find('\n') != std::string::npos; })) << child.err();
  child.close_input();
  const Ended ended = child.wait();
  EXPECT_EQ(ended.status, 1) << "the second line is cut off";
  EXPECT_EQ(answers_in(ended.out).size(), 2u);
}

// A long text stands before short ones. With two texts at a time the short ones end first.
TEST_F(RunLines, are_answered_in_their_order_or_as_they_end) {
  const std::string prompt = golden("lily").at("prompt");
  std::string content = as_line({{"prompt", prompt}, {"n_predict", 30}});
  for (const char* other : {"The", "A dog"}) content += as_line({{"prompt", other}, {"n_predict", 2}});
  const auto order = [&](const Arguments& how) {
    std::vector<int> numbers;
    const Ended ended = lines(content, on_host() + Arguments{"--ignore-eos"} + how);
    for (const json& answer : answers_in(ended.out)) numbers.push_back(answer.at("line"));
    return numbers;
  };
  EXPECT_THAT(order({"--parallel", "2"}), ::testing::ElementsAre(1, 2, 3));
  EXPECT_THAT(order({"-np", "2", "--unordered"}), ::testing::ElementsAre(2, 3, 1));
  EXPECT_THAT(order({"-np", "1", "--unordered"}), ::testing::ElementsAre(1, 2, 3)) << "one after another";
}

TEST_F(RunLines, may_be_files_of_their_own) {
  const std::string lily = golden("lily").at("prompt"), story = golden("story").at("prompt");
  const std::string first = folder_.write("lily.txt", lily), missing = folder_.file("missing.txt"),
                    last = folder_.write("story.txt", story);
  const Arguments how = on_host() + Arguments{"-n", "5"};
  const Ended ended = tandem(Arguments{"run", "-m", stories(), "-f", first, "-f", missing, "--file", last} + how);
  EXPECT_EQ(ended.status, 1) << "one cannot be read";
  const std::vector<json> answers = answers_in(ended.out);
  ASSERT_EQ(answers.size(), 3u) << ended.out;
  EXPECT_EQ(answers[0].at("file"), first);
  EXPECT_EQ(answers[0].at("ids"), alone(lily, how));
  EXPECT_EQ(answers[1].at("file"), missing);
  EXPECT_THAT(answers[1].at("error").at("message").get<std::string>(), HasSubstr("cannot read the file"));
  EXPECT_EQ(answers[2].at("ids"), alone(story, how));
  EXPECT_EQ(tandem({"run", "-m", stories(), "-f", first, "-f", last, "--soc", "snapdragon-8gen3"}).status, 2);
}

TEST_F(RunLines, are_one_text_beside_no_other) {
  EXPECT_EQ(tandem({"run", "-m", stories(), "--jsonl", "x.jsonl", "-p", "Once"}).status, 2);
  EXPECT_EQ(tandem({"run", "-m", stories(), "--jsonl", "x.jsonl", "--soc", "snapdragon-8gen3"}).status, 2);
  const Ended none = tandem({"run", "-m", stories(), "--jsonl", folder_.file("missing.jsonl")});
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err, HasSubstr("missing.jsonl"));
}

}  // namespace
}  // namespace tandem::testing
