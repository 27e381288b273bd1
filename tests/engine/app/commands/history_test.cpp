// `tandem history`, and `--history` of `tandem run` and `tandem chat`: texts that were written before make drafts.
#include <sys/stat.h>

#include <fstream>
#include <regex>

#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

class HistoryCommand : public ::testing::Test {
 protected:
  Ended run(const Arguments& more) const {
    return tandem(Arguments{"run", "-m", stories(), "-p", "Once upon a time", "-n", "80", "--ignore-eos"} + on_host() +
                  more);
  }
  json stats() const { return json_of({"history", "stats", file_}); }

  const Folder folder_;
  const std::string file_ = folder_.file("history");
};

TEST_F(HistoryCommand, counts_texts_that_were_added) {
  const std::string one = folder_.write("one.txt", "Once upon a time there was a cat."),
                    two = folder_.write("two.txt", "A dog.");
  const Ended none = tandem({"history", "stats", file_});
  EXPECT_EQ(none.status, 1) << "there is no such file";
  EXPECT_THAT(none.err, HasSubstr(file_));
  EXPECT_EQ(json_of({"history", "add", file_, "-m", stories(), "-f", one, two})["records"], 2);
  EXPECT_EQ(tandem({"history", "add", file_, "-m", stories(), "--file", one, "--history-max", "1"}).status, 0);
  const json counted = stats();
  EXPECT_EQ(counted["records"], 3);
  const auto tokens_of = [&](const std::string& text) {
    return json_of({"tokenize", "-m", stories(), "-f", text}).at("ids").size();
  };
  EXPECT_EQ(counted["tokens"], 2 * tokens_of(one) + tokens_of(two));
  EXPECT_EQ(counted["bytes"], std::filesystem::file_size(file_));
  EXPECT_THAT(tandem({"history", "stats", file_}).out, StartsWith("3 records, "));
  const Ended itself = tandem({"history", "add", file_, "-m", stories(), "-f", one, file_});
  EXPECT_EQ(itself.status, 1);
  EXPECT_THAT(itself.err, HasSubstr("the file to write is one that --file reads"));
  EXPECT_EQ(stats(), counted);
  EXPECT_EQ(tandem({"history", "clear", file_}).out, "");
  EXPECT_EQ(stats(), json::parse(R"({"records": 0, "tokens": 0, "bytes": 48, "dropped_bytes": 0})"));
  EXPECT_EQ(json_of({"history", "clear", file_}), stats());
}

// A flag that would have no effect is refused.
TEST_F(HistoryCommand, has_a_limit_only_with_a_history) {
  for (const Arguments& flags : {Arguments{"--history-max", "2"}, Arguments{"--history-prompts"}}) {
    const Ended alone = run(flags);
    EXPECT_EQ(alone.status, 2);
    EXPECT_THAT(alone.err, HasSubstr(flags[0] + " requires --history"));
    EXPECT_EQ(run(flags + Arguments{"--history", file_}).status, 0);
  }
}

// A text of many tokens, so that the history has an index. Texts are the same with it, without it and with a damaged
// one, and drafts come from the history.
TEST_F(HistoryCommand, has_an_index_of_many_texts_which_no_text_depends_on) {
  const std::string story = run({"--spec", "none"}).out, index = file_ + ".index";
  std::string long_text;
  for (int i = 0; i < 2000; ++i) long_text += "The dog " + std::to_string(i) + " ran. ";
  const std::string first = folder_.write("first.txt", long_text), second = folder_.write("second.txt", story);
  const json added = json_of({"history", "add", file_, "-m", stories(), "-f", first, second, first});
  ASSERT_GT(added["tokens"], 33000) << "more than a start reads without an index";
  EXPECT_EQ(added["index_bytes"], std::filesystem::file_size(index));
  EXPECT_THAT(tandem({"history", "stats", file_}).out, HasSubstr("index: "));
  const std::string history = content_of(file_), whole = content_of(index);
  std::string flipped = whole, other_magic = whole;
  flipped[whole.size() / 2] = static_cast<char>(flipped[whole.size() / 2] ^ 4);
  other_magic[0] = 'x';
  const auto write_index = [&](const std::string& bytes) { std::ofstream(index, std::ios::binary) << bytes; };
  const auto expect_the_text = [&](const std::string& with) {
    std::ofstream(file_, std::ios::binary) << history;
    const json answer =
        json::parse(run({"--history", file_, "--spec", "sam", "--json"}).out);  // sam drafts wherever something matches
    EXPECT_EQ(answer["text"], story) << with;
    EXPECT_GT(answer["spec"]["sources"]["history"]["accepted"], 20) << with;
  };
  expect_the_text("a whole index");
  std::filesystem::remove(index);
  expect_the_text("no index");
  EXPECT_EQ(content_of(index), whole) << "it was made anew";
  for (const std::string& broken : {flipped, whole.substr(0, whole.size() - 1), std::string()}) {
    write_index(broken);
    expect_the_text("a broken index");
    EXPECT_EQ(content_of(index), whole) << "it was made anew";
  }
  write_index(other_magic);
  expect_the_text("a file of something else");
  EXPECT_EQ(content_of(index), other_magic);
  EXPECT_FALSE(stats().contains("index_bytes"));
  write_index(whole);
  EXPECT_FALSE(json_of({"history", "clear", file_}).contains("index_bytes"));
  EXPECT_FALSE(std::filesystem::exists(index));
}

TEST_F(HistoryCommand, that_others_may_read_keeps_its_mode_and_a_note_says_so) {
  run({"--history", file_});
  EXPECT_THAT(run({"--history", file_}).err, Not(HasSubstr("its mode is")));
  ASSERT_EQ(chmod(file_.c_str(), 0644), 0);
  EXPECT_THAT(run({"--history", file_}).err, HasSubstr(file_ + ": its mode is 644"));
  EXPECT_THAT(run({"--history", file_, "-q"}).err, Not(HasSubstr("its mode is")));
  struct stat status {};
  ASSERT_EQ(stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
}

TEST_F(HistoryCommand, makes_drafts_of_what_was_written_before) {
  const Ended first = run({"--history", file_, "--spec", "none", "--json"}),
              again = run({"--history", file_, "--spec", "sam", "--json"});
  ASSERT_EQ(again.status, 0) << again.err;
  const json one = json::parse(first.out), two = json::parse(again.out);
  EXPECT_EQ(two["ids"], one["ids"]);
  EXPECT_GT(two["spec"]["sources"]["history"]["accepted"], 20);
  EXPECT_LT(two["timings"]["predicted_passes"], one["timings"]["predicted_passes"]);
  EXPECT_EQ(stats()["records"], 2);
  EXPECT_EQ(stats()["tokens"], 160);
  struct stat status {};
  ASSERT_EQ(stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(HistoryCommand, keeps_prompts_if_it_is_asked_to) {
  const json answer = json_of(Arguments{"run", "-m", stories(), "-p", "Once upon a time", "-n", "10", "--ignore-eos",
                                        "--history", file_, "--history-prompts", "--spec", "none"} +
                              on_host());
  EXPECT_EQ(stats()["tokens"], answer["prompt_ids"].size() + answer["ids"].size());
}

TEST_F(HistoryCommand, that_cannot_be_used_does_not_stop_the_text) {
  const std::string letter = folder_.write("letter.txt", "This is a letter and no history.");
  const std::string plain = run({}).out, circle = folder_.file("circle");
  std::filesystem::create_symlink(circle, circle);
  for (const std::string& bad :
       {letter, folder_.file("none/history"), std::filesystem::path(letter).parent_path().string(), circle}) {
    const Ended ended = run({"--history", bad});
    EXPECT_EQ(ended.status, 0) << bad;
    EXPECT_EQ(ended.out, plain) << bad;
    EXPECT_THAT(ended.err, HasSubstr("history")) << bad;
  }
  EXPECT_EQ(content_of(letter), "This is a letter and no history.");
}

TEST_F(HistoryCommand, refuses_what_is_no_history) {
  const std::string letter = folder_.write("letter.txt", "This is a letter and no history.");
  const std::string circle = folder_.file("circle");
  std::filesystem::create_symlink(circle, circle);
  EXPECT_EQ(tandem({"history", "stats", circle}).status, 1);
  EXPECT_EQ(tandem({"history", "clear", circle}).status, 1);
  EXPECT_EQ(tandem({"history", "add", circle, "-m", stories(), "-f", letter}).status, 1);
  EXPECT_EQ(tandem({"history", "stats", letter}).status, 1);
  EXPECT_EQ(tandem({"history", "clear", letter}).status, 1);
  EXPECT_EQ(tandem({"history", "add", letter, "-m", stories(), "-f", letter}).status, 1);
  EXPECT_EQ(tandem({"history", "add", file_, "-m", stories(), "-f", letter, folder_.file("none")}).status, 1);
  EXPECT_EQ(tandem({"history", "stats", file_}).status, 1) << "nothing was added";
  EXPECT_EQ(tandem({"history", "stats"}).status, 2);
  EXPECT_EQ(tandem({"history", "add", file_, "-f", letter}).status, 2);
  EXPECT_EQ(tandem({"history"}).status, 2);
  EXPECT_EQ(run({"--history-prompts"}).status, 2) << "there is no history";
  EXPECT_EQ(content_of(letter), "This is a letter and no history.");
}

// Answers of one conversation are drafts of the next one.
TEST_F(HistoryCommand, makes_drafts_of_earlier_conversations) {
  const auto chat = [&](const Arguments& more) {
    return tandem(
        Arguments{"chat", "-m", stories(), "--chat-template", "chatml", "--ignore-eos", "-n", "80"} + on_host() + more,
        {.input = "Once upon a time\n/stats\n"});
  };
  const Ended first = chat({"--history", file_, "--spec", "none"}), again = chat({"--history", file_, "--spec", "sam"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(again.out, first.out);
  std::smatch accepted;
  ASSERT_TRUE(std::regex_search(again.err, accepted, std::regex("drafts: ([0-9]+) of [0-9]+ accepted"))) << again.err;
  EXPECT_GT(std::stoi(accepted[1]), 20);
  EXPECT_EQ(stats()["records"], 2);
  EXPECT_EQ(stats()["tokens"], 160);
  EXPECT_EQ(chat({"--history", file_, "--history-prompts", "--history-max", "1"}).out, first.out);
  EXPECT_EQ(stats()["records"], 3);
  EXPECT_GT(stats()["tokens"], 240) << "the prompt is kept, too";
}

TEST_F(HistoryCommand, is_a_note_of_a_conversation_where_it_cannot_be_used) {
  const auto chat = [&](const Arguments& more) {
    return tandem(Arguments{"chat", "-m", stories(), "--chat-template", "chatml", "-n", "4"} + on_host() + more,
                  {.input = "Hi\nHi\n"});
  };
  const std::string no_text = folder_.write("prediction", "\xFF\xFE no text"), text = folder_.write("text", "A dog.");
  const Ended plain = chat({}),
              ended = chat({"--prediction", no_text, "--prediction", text, "--history", "/proc/self/no/history"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.out, plain.out);
  EXPECT_THAT(ended.err, HasSubstr("the prediction is not used: " + no_text));
  const size_t once = ended.err.find("was not kept in the history");
  ASSERT_NE(once, std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("was not kept in the history", once + 1), std::string::npos) << ended.err;
  EXPECT_THAT(chat({"--history", text}).err, HasSubstr("the history is not used"));
}

}  // namespace
}  // namespace tandem::testing
