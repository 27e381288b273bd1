// A history in a file, as programs use it: what it reads, and when it updates the index beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "engine/draft/draft_history.h"
#include "engine/model/gguf.h"
#include "engine/model/tokenizer.h"
#include "engine/run/serve/history_file.h"
#include "sync/error.h"
#include "tandem/generate.h"
#include "tests/support/message_of.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/source_tree.h"

namespace tandem {
namespace {

class TextHistoryOfFile : public ::testing::Test {
 protected:
  std::unique_ptr<TextHistory> open() const { return std::make_unique<TextHistory>(path_, *tokenizer_, kHistoryBytes); }
  // Each text has all tokens of the one before, and one more.
  static std::vector<int32_t> text(int32_t tokens) {
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < tokens; ++i) ids.push_back(i * 7 % 500);
    return ids;
  }

  const std::unique_ptr<Tokenizer> tokenizer_ =
      make_tokenizer(GgufFile::open((testing::source_tree() / "tests/data/tiny-models/stories260K-F16.gguf").string()));
  const testing::ScratchFolder folder_;
  const std::string path_ = folder_.file("history");
  const HistoryIndexFile index_{path_};
};

TEST_F(TextHistoryOfFile, has_the_texts_of_those_before) {
  open()->add(text(5));
  const auto history = open();
  ASSERT_EQ(history->records().records(), 1);
  EXPECT_TRUE(std::ranges::equal(history->records().record(0), text(5)));
  EXPECT_EQ(history->problem(), "");
  EXPECT_EQ(index_.bytes(), 0) << "few tokens need no index";
}

TEST_F(TextHistoryOfFile, updates_its_index_when_it_ends) {
  const auto most = static_cast<int32_t>(kMostUnindexedAtEnd);
  open()->add(text(most - 1));
  EXPECT_EQ(index_.bytes(), 0) << "with its separator the text may stay without one";
  open()->add(text(2));
  EXPECT_GT(index_.bytes(), 0);
  auto history = open();
  EXPECT_EQ(history->records().added_tokens(), 0);
  history->add(text(3));
  EXPECT_EQ(history->records().added_tokens(), 4);
  EXPECT_EQ(history->records().records(), 3);
  EXPECT_TRUE(std::ranges::equal(history->records().record(2), text(3)));
  history.reset();
  EXPECT_EQ(open()->records().added_tokens(), 4) << "it waits for more of them";
}

TEST_F(TextHistoryOfFile, makes_a_missing_index_when_it_begins) {
  const HistoryFile file(path_, vocabulary_hash(*tokenizer_));
  file.append(text(static_cast<int32_t>(kMostUnindexedAtStart) - 1));
  EXPECT_EQ(open()->records().added_tokens(), static_cast<int64_t>(kMostUnindexedAtStart));
  EXPECT_EQ(index_.bytes(), 0);
  file.append(text(1));
  EXPECT_EQ(open()->records().added_tokens(), 0);
  EXPECT_GT(index_.bytes(), 0);
}

TEST_F(TextHistoryOfFile, that_only_reads_writes_no_index) {
  HistoryFile(path_, vocabulary_hash(*tokenizer_)).append(text(static_cast<int32_t>(kMostUnindexedAtEnd)));
  open();
  EXPECT_EQ(index_.bytes(), 0);
}

// A long process must not keep its texts in the automaton for ever.
TEST_F(TextHistoryOfFile, moves_many_new_texts_into_its_index) {
  TextHistory history;
  for (int i = 0; i < 9; ++i) history.add(text(10000));
  EXPECT_EQ(history.records().records(), 9);
  EXPECT_LT(history.records().added_tokens(), 70000);
  EXPECT_TRUE(std::ranges::equal(history.records().record(0), text(10000)));
  EXPECT_TRUE(std::ranges::equal(history.records().record(8), text(10000)));
}

// A file with right checksums, and an id that no token has.
TEST_F(TextHistoryOfFile, with_ids_that_the_vocabulary_lacks_is_refused) {
  HistoryFile(path_, vocabulary_hash(*tokenizer_)).append(std::vector<int32_t>{1, 2, 1 << 20, 3});
  EXPECT_THAT(test::message_of([this] { open(); }), ::testing::HasSubstr("ids that its vocabulary lacks"));
}

}  // namespace
}  // namespace tandem
