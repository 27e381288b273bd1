// S6: an index beside a history makes a start shorter, and its bytes never make drafts of anything but the history.
#include "engine/run/serve/history_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "engine/draft/draft_history.h"
#include "engine/run/serve/history_file.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using Tokens = std::vector<int32_t>;

// Texts of a small vocabulary, so that they repeat.
Tokens some_texts(int32_t texts, int32_t seed) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  Tokens tokens;
  for (; texts > 0; --texts) {
    for (uint32_t i = 1 + random() % 40; i > 0; --i) tokens.push_back(static_cast<int32_t>(random() % 6));
    tokens.push_back(kSeparator);
  }
  return tokens;
}

SuffixIndex index_of(std::span<const int32_t> tokens) {
  SuffixIndex index;
  index.append(tokens);
  return index;
}

bool is_same(const SuffixIndex& a, const SuffixIndex& b) {
  return std::ranges::equal(a.tokens(), b.tokens()) && std::ranges::equal(a.order(), b.order());
}

class HistoryIndex : public ::testing::Test {
 protected:
  std::string content() const {
    std::ifstream in(index_.path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(index_.path(), std::ios::binary) << bytes; }
  void append(std::span<const int32_t> tokens) const {
    for_each_text(tokens, [&](std::span<const int32_t> text) { file_.append(text); });
  }
  size_t files() const {
    const std::filesystem::directory_iterator all(std::filesystem::path(path_).parent_path());
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }

  const testing::ScratchFolder folder_;
  const std::string path_ = folder_.file("history");
  const HistoryFile file_{path_, 77};
  const HistoryIndexFile index_{path_};
  const Tokens texts_ = some_texts(20, 1);
};

TEST_F(HistoryIndex, is_read_as_it_was_written_for_its_owner_alone) {
  EXPECT_EQ(index_.read(texts_).tokens().size(), 0u);
  EXPECT_EQ(index_.bytes(), 0);
  const SuffixIndex index = index_of(texts_);
  ASSERT_TRUE(index_.write(index));
  EXPECT_TRUE(is_same(index_.read(texts_), index));
  EXPECT_EQ(index_.bytes(), static_cast<int64_t>(content().size()));
  struct stat status {};
  ASSERT_EQ(stat(index_.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(files(), 1u) << "no temporary file stays";
}

TEST_F(HistoryIndex, is_of_the_first_texts_of_its_history_alone) {
  ASSERT_TRUE(index_.write(index_of(texts_)));
  Tokens more = texts_;
  more.insert(more.end(), {1, 2, kSeparator});
  EXPECT_EQ(index_.read(more).tokens().size(), texts_.size());
  EXPECT_EQ(index_.read(std::span(texts_).first(texts_.size() - 3)).tokens().size(), 0u) << "texts are gone";
  Tokens other = texts_;
  other[5] ^= 1;
  EXPECT_EQ(index_.read(other).tokens().size(), 0u);
  EXPECT_EQ(index_.read(some_texts(30, 2)).tokens().size(), 0u) << "of another history";
  EXPECT_EQ(index_.read({}).tokens().size(), 0u);
}

TEST_F(HistoryIndex, that_was_cut_or_damaged_counts_as_none) {
  ASSERT_TRUE(index_.write(index_of(texts_)));
  const std::string whole = content();
  const auto indexed = [&](const std::string& bytes) {
    return parse_history_index(std::as_bytes(std::span(bytes)), texts_).tokens().size();
  };
  EXPECT_EQ(indexed(whole), texts_.size());
  for (size_t length = 0; length < whole.size(); ++length) ASSERT_EQ(indexed(whole.substr(0, length)), 0u) << length;
  for (size_t at = 0; at < whole.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      ASSERT_EQ(indexed(damaged), 0u) << at;
    }
  write(whole + "0123");
  EXPECT_EQ(index_.read(texts_).tokens().size(), 0u) << "more bytes than the header says";
}

TEST_F(HistoryIndex, is_made_anew_where_it_was_broken) {
  const std::string whole = [this] {
    index_.update(texts_, 0);
    return content();
  }();
  for (const std::string& broken : {std::string(), whole.substr(0, 3), whole.substr(0, 100)}) {
    write(broken);
    EXPECT_TRUE(is_same(index_.update(texts_, 0), index_of(texts_)));
    EXPECT_EQ(content(), whole) << broken.size();
  }
}

TEST_F(HistoryIndex, grows_when_many_texts_lie_behind_it) {
  append(texts_);
  EXPECT_EQ(index_.update(file_.read().tokens, texts_.size()).tokens().size(), 0u);
  EXPECT_EQ(index_.bytes(), 0) << "few texts have none";
  EXPECT_EQ(index_.update(file_.read().tokens, texts_.size() - 1).tokens().size(), texts_.size());
  const Tokens more = some_texts(3, 4);
  append(more);
  const Tokens all = file_.read().tokens;
  EXPECT_EQ(index_.update(all, more.size()).tokens().size(), texts_.size());
  EXPECT_EQ(index_.update(all, 10).tokens().size(), all.size());
  EXPECT_EQ(index_.read(all).tokens().size(), all.size());
}

// The index has the same matches as the records without one.
TEST_F(HistoryIndex, finds_what_the_records_without_it_find) {
  std::mt19937 random(9);
  append(texts_);
  index_.update(texts_, 0);
  append(some_texts(5, 3));
  const Tokens all = file_.read().tokens;
  SuffixIndex index = index_.read(all);
  ASSERT_EQ(index.tokens().size(), texts_.size());
  const auto rest = std::span(all).subspan(texts_.size());
  DraftHistory with(std::move(index)), without;
  for_each_text(rest, [&](std::span<const int32_t> text) { with.add(text); });
  for_each_text(all, [&](std::span<const int32_t> text) { without.add(text); });
  ASSERT_EQ(with.records(), without.records());
  EXPECT_EQ(with.tokens(), without.tokens());
  for (int64_t record = 0; record < with.records(); ++record)
    ASSERT_TRUE(std::ranges::equal(with.record(record), without.record(record)));
  for (int round = 0; round < 500; ++round) {
    Tokens context(1 + random() % 9);
    for (int32_t& token : context) token = static_cast<int32_t>(random() % 6);
    for (const Occurrence which : {Occurrence::last, Occurrence::first}) {
      const Match a = HistoryMatcher(with).longest(context, which), b = HistoryMatcher(without).longest(context, which);
      ASSERT_EQ(a.length, b.length);
      ASSERT_EQ(a.record, b.record);
      ASSERT_EQ(a.end, b.end);
    }
  }
}

TEST_F(HistoryIndex, goes_with_the_records) {
  append(texts_);
  index_.update(texts_, 0);
  file_.clear();
  EXPECT_FALSE(std::filesystem::exists(index_.path()));
  EXPECT_EQ(files(), 1u);
}

// A record of 100 tokens takes 424 bytes, so eight of them stay when the tenth comes.
TEST_F(HistoryIndex, loses_the_oldest_texts_with_its_history) {
  constexpr int64_t kMost = 4096;
  const HistoryFile file(path_, 77, kMost);
  for (int32_t r = 0; r < 9; ++r) ASSERT_TRUE(file.append(Tokens(100, r)));
  index_.update(file.read().tokens, 0);
  ASSERT_TRUE(file.append(Tokens(100, 9)));
  const HistoryRecords left = file.read();
  ASSERT_LT(left.records, 9);
  const SuffixIndex index = index_.read(left.tokens);
  EXPECT_EQ(static_cast<int64_t>(index.tokens().size()), 101 * (left.records - 1)) << "all but the newest text";
  EXPECT_EQ(index.longest_match(Tokens{8, 8, 8}).length, 3);
  EXPECT_EQ(index.longest_match(Tokens{0}).length, 0);
  ASSERT_TRUE(file.append(Tokens(900, 3)));
  EXPECT_EQ(index_.read(file.read().tokens).tokens().size(), 0u) << "all indexed texts are gone";
}

TEST_F(HistoryIndex, leaves_files_of_something_else_alone) {
  const SuffixIndex index = index_of(texts_);
  const std::string letter = "My own index of a book.";
  write(letter);
  EXPECT_FALSE(index_.write(index));
  EXPECT_FALSE(index_.remove());
  EXPECT_EQ(index_.read(texts_).tokens().size(), 0u);
  EXPECT_EQ(index_.bytes(), 0);
  EXPECT_EQ(content(), letter);
  std::filesystem::remove(index_.path());
  ASSERT_EQ(mkfifo(index_.path().c_str(), 0600), 0);
  EXPECT_EQ(index_.read(texts_).tokens().size(), 0u);
  EXPECT_FALSE(index_.write(index));
  std::filesystem::remove(index_.path());
  std::filesystem::create_directory(index_.path());
  EXPECT_EQ(index_.read(texts_).tokens().size(), 0u);
  EXPECT_FALSE(index_.write(index));
  EXPECT_FALSE(index_.remove());
  EXPECT_FALSE(HistoryIndexFile(folder_.file("none/history")).write(index));
}

TEST_F(HistoryIndex, lies_beside_the_file_that_a_link_leads_to) {
  const std::string link = folder_.file("link");
  std::filesystem::create_symlink(path_, link);
  EXPECT_EQ(HistoryIndexFile(link).path(), index_.path());
}

// A file that may not grow stands for a full disk.
TEST_F(HistoryIndex, is_left_out_on_a_full_disk) {
  ASSERT_TRUE(index_.write(index_of(std::span(texts_).first(0))));
  const std::string before = content();
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{60, 60};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(is_same(index_.update(texts_, 0), index_of(texts_)) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the texts are indexed in memory";
  EXPECT_EQ(content(), before);
  EXPECT_EQ(files(), 1u) << "no temporary file stays";
}

// Processes are killed at any time while they write the index.
TEST_F(HistoryIndex, of_killed_writers_leaves_no_file_behind_the_next_one) {
  std::mt19937 random(3);
  const Tokens many = some_texts(2000, 5);
  const SuffixIndex index = index_of(many);
  size_t left_over = 0;
  // On a busy machine most are killed before they have begun.
  for (int round = 0; round < 60 || (left_over == 0 && round < 5000); ++round) {
    const pid_t victim = fork();
    if (victim == 0)
      for (;;) index_.write(index);
    usleep(static_cast<useconds_t>(random() % 4000));
    kill(victim, SIGKILL);
    waitpid(victim, nullptr, 0);
    ASSERT_LE(files(), 2u) << "one temporary file at most";
    left_over += files() - (index_.bytes() > 0 ? 1 : 0);
    const SuffixIndex read = index_.read(many);
    ASSERT_TRUE(read.tokens().empty() || is_same(read, index)) << round;
  }
  EXPECT_GT(left_over, 0u) << "some were killed while they wrote";
  ASSERT_TRUE(index_.write(index));
  EXPECT_EQ(files(), 1u);
  EXPECT_TRUE(is_same(index_.read(many), index));
}

// The temporary file's name may be somebody's own.
TEST_F(HistoryIndex, takes_no_file_of_something_else_for_its_temporary) {
  const SuffixIndex index = index_of(texts_);
  const std::string name = index_.path() + ".part", letter = "My own part of an index.";
  std::ofstream(name) << letter;
  EXPECT_FALSE(index_.write(index));
  std::ifstream in(name);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), letter);
  std::filesystem::remove(name);
  std::ofstream(folder_.file("target")) << "";
  std::filesystem::create_symlink("target", name);
  EXPECT_FALSE(index_.write(index)) << "a link is not followed";
  EXPECT_EQ(std::filesystem::file_size(folder_.file("target")), 0u);
  std::filesystem::remove(name);
  ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
  EXPECT_FALSE(index_.write(index));
  std::filesystem::remove(name);
  EXPECT_TRUE(index_.write(index));
}

// Four processes add texts and update the index, beside a reader.
TEST_F(HistoryIndex, of_many_processes_is_always_of_the_history_or_none) {
  std::vector<pid_t> writers;
  for (int w = 0; w < 4; ++w) {
    writers.push_back(fork());
    if (writers.back() != 0) continue;
    for (int i = 0; i < 30; ++i) {
      append(some_texts(2, 100 * w + i));
      index_.update(file_.read().tokens, 50);
    }
    _exit(0);
  }
  for (int round = 0; round < 50; ++round) {
    const Tokens all = file_.read().tokens;
    const SuffixIndex index = index_.read(all);
    ASSERT_LE(index.tokens().size(), all.size());
    ASSERT_TRUE(std::ranges::equal(index.tokens(), std::span(all).first(index.tokens().size())));
  }
  for (const pid_t writer : writers) {
    int status = 1;
    waitpid(writer, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(file_.read().records, 240);
  EXPECT_GT(index_.read(file_.read().tokens).tokens().size(), 0u);
}

}  // namespace
}  // namespace tandem
