// `tandem run --spec`: drafts change how a text is computed, and never the text.
#include <set>

#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

Arguments story(const Arguments& more) {
  return Arguments{"run", "-m", stories(), "-p", "Once upon a time", "-n", "150", "--ignore-eos"} + on_host() + more;
}

TEST(RunSpec, writes_the_same_text_in_every_mode) {
  const json plain = json_of(story({"--spec", "none"}));
  EXPECT_EQ(plain["spec"]["mode"], "none");
  EXPECT_EQ(plain["spec"]["why_none"], "speculative decoding was not asked for");
  EXPECT_EQ(plain["timings"]["draft_n"], 0);
  for (const char* mode : {"auto", "pld", "sam", "sdnpu"}) {
    const json drafted = json_of(story({"--spec-type", mode}));
    EXPECT_EQ(drafted["ids"], plain["ids"]) << mode;
    EXPECT_EQ(drafted["text"], plain["text"]) << mode;
    EXPECT_EQ(drafted["spec"]["mode"], mode);
    EXPECT_EQ(drafted["spec"]["why_none"], "");
    const json& timings = drafted["timings"];
    EXPECT_LE(timings["draft_n_accepted"], timings["draft_n"]) << mode;
    EXPECT_EQ(timings["predicted_passes"].get<int64_t>() + timings["draft_n_accepted"].get<int64_t>(), 149) << mode;
  }
}

TEST(RunSpec, drafts_by_default_and_as_many_as_asked_for) {
  EXPECT_EQ(json_of(story({}))["spec"]["mode"], "auto");
  const json two = json_of(story({"--spec", "sam", "--draft-max", "2"}));
  EXPECT_GT(two["timings"]["draft_n"], 0);
  EXPECT_LE(two["timings"]["draft_n"], 2 * two["timings"]["draft_passes"].get<int64_t>());
  const json none = json_of(story({"--spec", "sam", "--draft-max", "0"}));
  EXPECT_EQ(none["timings"]["draft_n"], 0);
  EXPECT_EQ(none["spec"]["why_none"], "at most 0 drafts were asked for");
}

TEST(RunSpec, drafts_from_a_text_that_the_answer_may_look_like) {
  const Folder folder;
  const json plain = json_of(story({"--spec", "none"}));
  const std::string same = folder.write("same.txt", plain["text"]), other = folder.write("other.txt", "Nothing of it.");
  const json drafted = json_of(story({"--spec", "sdnpu", "--prediction", same, "--prediction", other}));
  EXPECT_EQ(drafted["ids"], plain["ids"]);
  // Measured times decide whether drafts run. Such drafts are right, because the text is the predicted one.
  const json source = drafted["spec"]["sources"].value("prediction", json({{"drafts", 0}, {"accepted", 0}}));
  EXPECT_GE(source["accepted"], source["drafts"].get<double>() / 2);
}

TEST(RunSpec, goes_on_without_a_prediction_that_is_no_text) {
  const Folder folder;
  const std::string plain = tandem(story({"--spec", "none"})).out;
  for (const std::string& bytes : {std::string("\xFF\xFE no text"), std::string("a\0b", 3), std::string("cut \xC3")}) {
    const std::string file = folder.write("prediction", bytes);
    const Ended ended = tandem(story({"--spec", "sam", "--prediction", file}));
    EXPECT_EQ(ended.status, 0);
    EXPECT_EQ(ended.out, plain);
    EXPECT_THAT(ended.err, HasSubstr("the prediction is not used: " + file + " is no text in UTF-8"));
  }
  const std::string empty = folder.write("empty", "");
  EXPECT_THAT(tandem(story({"--spec", "sam", "--prediction", empty})).err, Not(HasSubstr("not used")));
}

TEST(RunSpec, writes_many_texts_as_it_writes_each_alone) {
  const Folder folder;
  const std::string lines =
      folder.write("prompts.jsonl", "{\"prompt\": \"Once upon a time\"}\n{\"prompt\": \"Lily had a cat. Lily had\"}\n");
  const Arguments many = Arguments{"run", "-m", stories(), "--jsonl", lines, "-n", "80", "--json"} + on_host();
  const Ended plain = tandem(many + Arguments{"--spec", "none"}), drafted = tandem(many + Arguments{"--spec", "sam"});
  std::istringstream one(plain.out), other(drafted.out);
  int texts = 0;
  for (std::string a, b; std::getline(one, a) && std::getline(other, b); ++texts)
    EXPECT_EQ(json::parse(a)["ids"], json::parse(b)["ids"]);
  EXPECT_EQ(texts, 2) << drafted.err;
}

TEST(RunSpec, checks_drafts_by_running_each_token_again_alone) {
  const json plain = json_of(story({"--spec", "none"}));
  EXPECT_EQ(plain["spec"]["checked"], 0);
  for (const char* mode : {"auto", "pld", "sam", "sdnpu"}) {
    const json checked = json_of(story({"--spec", mode, "--spec-check"}));
    EXPECT_EQ(checked["ids"], plain["ids"]) << mode;
    EXPECT_EQ(checked["spec"]["checked"], 149) << mode << ": all but the first, which the prompt gave";
  }
  EXPECT_THAT(tandem(story({"--spec", "sam", "--spec-check"})).err, HasSubstr("149 tokens ran again alone"));
  EXPECT_THAT(tandem(story({"--spec", "none", "--spec-check"})).err, HasSubstr("--spec-check excludes --spec none"));
}

TEST(RunSpec, checks_many_texts_in_shared_passes) {
  const Folder folder;
  const std::string lines = folder.write("prompts.jsonl",
                                         "{\"prompt\": \"Once upon a time\"}\n"
                                         "{\"prompt\": \"Lily had a cat. Lily had\", \"spec\": \"sam\"}\n"
                                         "{\"prompt\": \"Once\", \"spec\": \"none\"}\n");
  const Ended ended = tandem(
      Arguments{"run", "-m", stories(), "--jsonl", lines, "-n", "80", "--ignore-eos", "-np", "2", "--spec-check"} +
      on_host());
  EXPECT_EQ(ended.status, 0) << ended.err;
  std::istringstream answers(ended.out);
  std::vector<int> checked;
  for (std::string line; std::getline(answers, line);) checked.push_back(json::parse(line)["spec"]["checked"]);
  EXPECT_EQ(checked, (std::vector{79, 79, 0}));
}

// The model drafts for itself. Its passes take as long as those of the text, so drafts seldom pay.
TEST(RunSpec, drafts_by_a_model_of_the_same_vocabulary) {
  const Folder folder;
  const json plain = json_of(story({"--spec", "none"}));
  for (const char* mode : {"auto", "sdnpu"}) {
    const json drafted = json_of(story({"--spec", mode, "--draft-model", stories(), "--spec-check"}));
    EXPECT_EQ(drafted["ids"], plain["ids"]) << mode;
    EXPECT_EQ(drafted["spec"]["checked"], 149) << mode;
    EXPECT_EQ(drafted["spec"]["model"]["problem"], "");
    const json source = drafted["spec"]["sources"].value("model", json({{"drafts", 0}, {"accepted", 0}}));
    EXPECT_GE(source["accepted"].get<double>(), 0.9 * source["drafts"].get<double>()) << mode;
  }
  const std::string lines =
      folder.write("prompts.jsonl", "{\"prompt\": \"Once upon a time\"}\n{\"prompt\": \"Lily had a cat. Lily had\"}\n");
  const Arguments many = Arguments{"run", "-m", stories(), "--jsonl", lines, "-n", "80"} + on_host();
  const Ended alone = tandem(many + Arguments{"--spec", "none"}),
              drafted = tandem(many + Arguments{"--draft-model", stories()});
  EXPECT_EQ(drafted.status, 0) << drafted.err;
  std::istringstream one(alone.out), other(drafted.out);
  int texts = 0;
  for (std::string a, b; std::getline(one, a) && std::getline(other, b); ++texts)
    EXPECT_EQ(json::parse(a)["ids"], json::parse(b)["ids"]);
  EXPECT_EQ(texts, 2);
}

TEST(RunSpec, refuses_draft_models_that_cannot_draft) {
  const Folder folder;
  const std::string other = toy_mixture(folder, 1, 64), letter = folder.write("letter.gguf", "This is a letter.");
  const Ended vocabulary = tandem(story({"--draft-model", other}));
  EXPECT_EQ(vocabulary.status, 1);
  EXPECT_EQ(vocabulary.out, "");
  EXPECT_THAT(vocabulary.err, HasSubstr("the draft model has another vocabulary: " + other));
  for (const std::string& bad : {letter, folder.file("missing.gguf")}) {
    const Ended ended = tandem(story({"--draft-model", bad}));
    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.err, HasSubstr(bad));
  }
  for (const std::string mode : {"none", "pld", "sam"})
    EXPECT_THAT(tandem(story({"--spec", mode, "--draft-model", stories()})).err,
                HasSubstr("--draft-model excludes --spec " + mode));
}

TEST(RunSpec, says_how_many_drafts_were_accepted) {
  EXPECT_THAT(
      tandem(story({"--spec", "sam"})).err,
      ::testing::ContainsRegex("drafts \\(sam\\): [0-9]+ of [0-9]+ accepted \\(context [0-9]+ of [0-9]+\\), [0-9.]+ "
                               "tokens a pass, [0-9.]+ ms a token; passes of so many tokens: 1 in "));
  EXPECT_THAT(tandem(story({"--spec", "none"})).err, Not(HasSubstr("drafts (")));
  EXPECT_THAT(tandem(story({"-q"})).err, Not(HasSubstr("drafts (")));
}

// Each pass has drafts, or a reason why it has none.
TEST(RunSpec, says_why_passes_have_no_drafts) {
  const Arguments once = Arguments{"run", "-m", stories(), "-p", "Once", "-n", "6", "--ignore-eos"} + on_host();
  EXPECT_THAT(tandem(once).err, HasSubstr("drafts (auto): none, 1.00 tokens a pass"));
  EXPECT_THAT(tandem(once).err, HasSubstr("passes without drafts: "));
  EXPECT_THAT(tandem(once).err, HasSubstr(", as nothing matched"));
  EXPECT_THAT(tandem(story({"--draft-max", "0"})).err,
              HasSubstr("drafts (auto): none: at most 0 drafts were asked for"));
  const std::set<std::string> known = {"no_match", "no_gain", "new_width", "no_budget", "no_room", "prompt"};
  for (const char* mode : {"auto", "pld", "sam", "sdnpu"}) {
    const json drafted = json_of(story({"--spec", mode}));
    int64_t passes = drafted["timings"]["draft_passes"];
    for (const auto& [why, plain] : drafted["spec"]["plain_passes"].items()) {
      EXPECT_TRUE(known.contains(why)) << why;
      passes += plain.get<int64_t>();
    }
    EXPECT_EQ(passes, drafted["timings"]["predicted_passes"]) << mode;
    EXPECT_GT(drafted["spec"]["ms_a_token"], 0);
  }
}

// Each unusable file is one note, however many texts there are.
TEST(RunSpec, says_once_what_it_goes_on_without) {
  const Folder folder;
  std::string lines;
  for (int i = 0; i < 4; ++i) lines += "{\"prompt\": \"Once upon a time\"}\n";
  const auto ended = [&](const std::string& history) {
    return tandem(Arguments{"run", "-m", stories(), "--jsonl", folder.write("prompts.jsonl", lines), "-n", "8", "-np",
                            "2", "--history", history} +
                  on_host());
  };
  const auto times = [](const std::string& text, const std::string& part) {
    int count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  };
  const Ended letter = ended(folder.write("letter", "This is a letter and no history at all. It has some words."));
  EXPECT_EQ(letter.status, 0);
  EXPECT_EQ(times(letter.err, "the history is not used"), 1) << letter.err;
  const Ended nowhere = ended("/proc/self/no/history");
  EXPECT_EQ(nowhere.status, 0);
  EXPECT_EQ(times(nowhere.err, "was not kept in the history"), 1) << nowhere.err;
}

TEST(RunSpec, refuses_values_that_make_no_sense) {
  EXPECT_EQ(tandem(story({"--spec", "eagle"})).status, 2);
  EXPECT_EQ(tandem(story({"--draft-max", "64"})).status, 2);
  EXPECT_EQ(tandem(story({"--draft-max", "-1"})).status, 2);
  const Ended missing = tandem(story({"--prediction", "/nowhere/text.txt"}));
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.err, HasSubstr("/nowhere/text.txt"));
}

}  // namespace
}  // namespace tandem::testing
