// `tandem history`, and `tandem run --history`: texts that were written before make drafts.
#include <sys/stat.h>

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
  EXPECT_EQ(stats(), json::parse(R"({"records": 0, "tokens": 0, "bytes": 0, "dropped_bytes": 0})"));
  EXPECT_EQ(tandem({"history", "add", file_, "-m", stories(), "-f", one, two}).status, 0);
  EXPECT_EQ(tandem({"history", "add", file_, "-m", stories(), "--file", one, "--history-max", "1"}).status, 0);
  const json counted = stats();
  EXPECT_EQ(counted["records"], 3);
  const auto tokens_of = [&](const std::string& text) {
    return json_of({"tokenize", "-m", stories(), "-f", text}).at("ids").size();
  };
  EXPECT_EQ(counted["tokens"], 2 * tokens_of(one) + tokens_of(two));
  EXPECT_EQ(counted["bytes"], std::filesystem::file_size(file_));
  EXPECT_THAT(tandem({"history", "stats", file_}).out, StartsWith("3 records, "));
  EXPECT_EQ(tandem({"history", "clear", file_}).status, 0);
  EXPECT_EQ(stats()["records"], 0);
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
  const std::string plain = run({}).out;
  for (const std::string& bad :
       {letter, folder_.file("none/history"), std::filesystem::path(letter).parent_path().string()}) {
    const Ended ended = run({"--history", bad});
    EXPECT_EQ(ended.status, 0) << bad;
    EXPECT_EQ(ended.out, plain) << bad;
    EXPECT_THAT(ended.err, HasSubstr("history")) << bad;
  }
  EXPECT_EQ(content_of(letter), "This is a letter and no history.");
}

TEST_F(HistoryCommand, refuses_what_is_no_history) {
  const std::string letter = folder_.write("letter.txt", "This is a letter and no history.");
  EXPECT_EQ(tandem({"history", "stats", letter}).status, 1);
  EXPECT_EQ(tandem({"history", "clear", letter}).status, 1);
  EXPECT_EQ(tandem({"history", "add", letter, "-m", stories(), "-f", letter}).status, 1);
  EXPECT_EQ(tandem({"history", "add", file_, "-m", stories(), "-f", letter, folder_.file("none")}).status, 1);
  EXPECT_EQ(stats()["records"], 0) << "nothing was added";
  EXPECT_EQ(tandem({"history", "stats"}).status, 2);
  EXPECT_EQ(tandem({"history", "add", file_, "-f", letter}).status, 2);
  EXPECT_EQ(tandem({"history"}).status, 2);
  EXPECT_EQ(content_of(letter), "This is a letter and no history.");
}

}  // namespace
}  // namespace tandem::testing
