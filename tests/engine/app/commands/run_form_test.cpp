// `tandem run --json-schema`, `--grammar` and `--json-object`: texts keep their form, and what cannot be enforced is
// refused before a model is opened.
#include <sstream>

#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

constexpr const char* kSchema =
    R"({"type": "object", "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer",
        "minimum": 0, "maximum": 120}}, "required": ["name", "age"], "additionalProperties": false})";

class RunForm : public ::testing::Test {
 protected:
  Arguments story(const Arguments& more) const {
    return Arguments{"run", "-m", stories(), "-p", "Once upon a time", "-n", "80"} + on_host() + more;
  }
  // The refusal of a form; the model is nowhere, and nobody looks for it.
  Ended refused(const Arguments& form) const {
    return tandem(Arguments{"run", "-m", "/nowhere/x.gguf", "-p", "x"} + form);
  }
  const Folder folder_;
};

void expect_person(const json& text) {
  const json value = json::parse(text.get<std::string>(), nullptr, false);
  ASSERT_TRUE(value.is_object()) << text;
  EXPECT_EQ(value.size(), 2u);
  EXPECT_TRUE(value.at("name").is_string());
  EXPECT_TRUE(value.at("age").is_number_integer() && value.at("age") <= 120) << text;
}

TEST_F(RunForm, writes_json_by_a_schema_whatever_is_drawn_or_drafted) {
  const std::string schema = folder_.write("person.json", kSchema);
  for (const char* temperature : {"0", "0.8", "2"}) {
    const Arguments how = {"--json-schema", schema, "--temp", temperature, "--seed", "5"};
    const json plain = json_of(story(how + Arguments{"--spec", "none"}));
    expect_person(plain.at("text"));
    EXPECT_EQ(plain.at("stop_reason"), "eos");
    EXPECT_EQ(json_of(story(how + Arguments{"--spec", "auto"})).at("ids"), plain.at("ids"));
  }
  const Ended piped = tandem(story({"--json-schema", schema}));
  EXPECT_EQ(piped.status, 0) << piped.err;
  expect_person(json(piped.out));
}

TEST_F(RunForm, writes_any_object_or_what_a_grammar_has) {
  const std::string object = json_of(story({"--json-object", "--temp", "1", "--seed", "2"})).at("text");
  EXPECT_TRUE(object.starts_with("{")) << object;
  const std::string grammar = folder_.write("answer.gbnf", "root ::= (\"yes\" | \"no\") \"!\"{3}");
  const std::string answer = json_of(story({"--grammar", grammar})).at("text");
  EXPECT_TRUE(answer == "yes!!!" || answer == "no!!!") << answer;
}

TEST_F(RunForm, is_that_of_each_line_or_of_the_flags) {
  const json schema = json::parse(kSchema);
  const std::string grammar = folder_.write("digits.gbnf", "root ::= [0-9]{4}");
  std::string content;
  for (const json& line : {json{{"prompt", "Once"}, {"json_schema", schema}}, json{{"prompt", "Once"}},
                           json{{"prompt", "Once"}, {"grammar", "root ::= \"so\""}},
                           json{{"prompt", "Once"}, {"json_schema", {{"not", true}}}},
                           json{{"prompt", "Once"}, {"grammar", "root ::="}, {"json_schema", true}}})
    content += line.dump() + "\n";
  const Ended ended = tandem(Arguments{"run", "-m", stories(), "--jsonl", folder_.write("lines.jsonl", content), "-n",
                                       "80", "-np", "3", "--grammar", grammar} +
                             on_host());
  EXPECT_EQ(ended.status, 1) << "two lines are broken";
  std::vector<json> answers;
  std::istringstream lines(ended.out);
  for (std::string line; std::getline(lines, line);) answers.push_back(json::parse(line));
  ASSERT_EQ(answers.size(), 5u) << ended.out;
  expect_person(answers[0].at("text"));
  EXPECT_EQ(answers[1].at("text").get<std::string>().size(), 4u);
  EXPECT_EQ(answers[2].at("text"), "so");
  EXPECT_THAT(answers[3].dump(), HasSubstr("not"));
  EXPECT_THAT(answers[4].dump(), HasSubstr("error"));
}

TEST_F(RunForm, is_refused_by_name_and_place_before_a_model_is_opened) {
  const auto file = [&](const char* content) { return folder_.write("form", content); };
  const std::pair<Arguments, std::vector<std::string>> cases[] = {
      {{"--json-schema", "/nowhere/s.json"}, {"/nowhere/s.json", "No such file"}},
      {{"--json-schema", "/tmp"}, {"It is a folder"}},
      {{"--grammar", "/tmp"}, {"It is a folder"}},
      {{"--json-schema", file("{\"type\":\n\"null\",}")}, {"it is no JSON", "line 2"}},
  };
  for (const auto& [form, words] : cases) {
    const Ended ended = refused(form);
    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.out, IsEmpty());
    for (const std::string& word : words) EXPECT_THAT(ended.err, HasSubstr(word));
  }
  const Ended keyword = refused({"--json-schema", file(R"({"properties": {"a": {"not": {}}}})")});
  EXPECT_EQ(keyword.status, 1);
  EXPECT_THAT(keyword.err, HasSubstr("\"not\""));
  EXPECT_THAT(keyword.err, HasSubstr("#/properties/a/not"));
  const Ended grammar = refused({"--grammar", file("root ::= \"a\"\nb ::= [")});
  EXPECT_EQ(grammar.status, 1);
  EXPECT_THAT(grammar.err, HasSubstr("line 2"));
}

TEST_F(RunForm, is_one_alone) {
  const std::string schema = folder_.write("person.json", kSchema);
  const Ended both = refused({"--json-schema", schema, "--grammar", schema});
  EXPECT_EQ(both.status, 2);
  EXPECT_THAT(both.err, HasSubstr("--json-schema excludes --grammar"));
  EXPECT_EQ(refused({"--grammar", schema, "--json-object"}).status, 2);
  EXPECT_EQ(refused({"--json-schema", schema, "--json-object"}).status, 2);
}

// The schema may come through a pipe, which is read once.
TEST_F(RunForm, may_come_through_a_pipe) {
  ChildSettings settings;
  settings.input = R"({"const": "piped"})";
  const Ended ended = tandem(story({"--json-schema", "-"}), settings);
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.out, "\"piped\"");
}

}  // namespace
}  // namespace tandem::testing
