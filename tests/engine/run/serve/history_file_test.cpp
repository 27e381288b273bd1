// S6: a history loses nothing before a cut, a damaged byte, or the end of a process.
#include "engine/run/serve/history_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

#include "engine/draft/suffix_automaton.h"
#include "sync/error.h"
#include "sync/long_wait.h"
#include "tests/support/message_of.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Tokens = std::vector<int32_t>;
using Records = std::vector<Tokens>;

constexpr uint64_t kVocabulary = 77;
constexpr size_t kBeginning = 48;  // bytes of both headers

Records records_of(const HistoryRecords& all) {
  Records records;
  for_each_text(all.tokens, [&](std::span<const int32_t> text) { records.emplace_back(text.begin(), text.end()); });
  EXPECT_EQ(std::ssize(records), all.records);
  return records;
}

class History : public ::testing::Test {
 protected:
  HistoryFile file(int64_t most_bytes = kHistoryBytes) const { return {path_, kVocabulary, most_bytes}; }
  Records read() const { return records_of(file().read()); }
  std::string content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  // Three records: 1; 10 11; 20 21 22.
  void make_three() const {
    for (int32_t r = 0; r < 3; ++r) {
      Tokens record;
      for (int32_t i = 0; i <= r; ++i) record.push_back(10 * r + i + (r == 0 ? 1 : 0));
      file().append(record);
    }
  }

  const testing::ScratchFolder folder_;
  const std::string path_ = folder_.file("history");
};

TEST_F(History, has_the_records_that_were_appended) {
  EXPECT_THAT(read(), IsEmpty()) << "there is no file";
  make_three();
  EXPECT_THAT(read(), ElementsAre(Tokens{1}, Tokens{10, 11}, Tokens{20, 21, 22}));
  EXPECT_EQ(file().read().dropped_bytes, 0);
  file().append(Tokens{});
  EXPECT_EQ(read().size(), 3u) << "an empty record is left out";
  EXPECT_EQ(file().bytes(), static_cast<int64_t>(content().size()));
}

TEST_F(History, is_for_its_owner_alone) {
  make_three();
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(History, loses_nothing_before_a_cut_and_goes_on_behind_it) {
  make_three();
  const std::string whole = content();
  const Records all = read();
  const size_t ends[] = {kBeginning, kBeginning + 28, kBeginning + 28 + 32};  // of the headers and the records
  for (size_t length = 0; length < whole.size(); ++length) {
    write(whole.substr(0, length));
    const Records left = read();
    ASSERT_LE(left.size(), 2u) << length;
    for (size_t r = 0; r < left.size(); ++r) ASSERT_EQ(left[r], all[r]) << length;
    ASSERT_TRUE(file().append(Tokens{5, 6})) << length;
    const Records more = read();
    ASSERT_EQ(more.size(), left.size() + 1) << length;
    for (size_t r = 0; r + 1 < more.size(); ++r) ASSERT_EQ(more[r], all[r]) << length;
    const bool is_cut = length > kBeginning && !(std::ranges::find(ends, length) != std::end(ends));
    ASSERT_EQ(file().read().dropped_bytes > 0, is_cut) << length;
    ASSERT_EQ(more.back(), (Tokens{5, 6})) << length;
  }
}

TEST_F(History, loses_one_record_by_a_flipped_bit_and_counts_it) {
  make_three();
  const std::string whole = content();
  const Records all = read();
  for (size_t at = kBeginning; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      write(damaged);
      const HistoryRecords left = file().read();
      const Records records = records_of(left);
      ASSERT_EQ(records.size(), 2u) << at;
      for (const Tokens& record : records) ASSERT_NE(std::ranges::find(all, record), all.end()) << at;
      ASSERT_GT(left.dropped_bytes, 0) << at;
    }
  }
}

// Each of the two headers is enough.
TEST_F(History, loses_no_record_by_a_flipped_bit_of_its_beginning) {
  make_three();
  const std::string whole = content();
  const Records all = read();
  for (size_t at = 0; at < kBeginning; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      write(damaged);
      ASSERT_EQ(read(), all) << at;
      ASSERT_EQ(file().read().dropped_bytes, static_cast<int64_t>(kBeginning) / 2) << at;
      ASSERT_TRUE(file().append(Tokens{5, 6})) << at;
      ASSERT_EQ(read().size(), 4u) << at;
    }
  }
  EXPECT_THAT(test::message_of([&] { HistoryFile(path_, kVocabulary + 1).read(); }), HasSubstr("another vocabulary"));
  file().clear();
  EXPECT_EQ(file().read().dropped_bytes, 0);
}

TEST_F(History, takes_any_bytes) {
  make_three();
  const std::string whole = content();
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = whole;
    for (uint32_t flips = random() % 20; flips > 0; --flips)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % (bytes.size() + 40));
    const auto parse = [&] { parse_history(std::as_bytes(std::span(bytes)), kVocabulary, "made up"); };
    try {
      parse();
    } catch (const Error&) {  // no history
    }
  }
}

TEST_F(History, of_another_kind_is_refused_and_left_alone) {
  make_three();
  const std::string whole = content();
  const HistoryFile other(path_, kVocabulary + 1);
  EXPECT_THAT(test::message_of([&] { other.read(); }), HasSubstr("another vocabulary"));
  EXPECT_THAT(test::message_of([&] { other.append(Tokens{1}); }), HasSubstr("another vocabulary"));
  EXPECT_EQ(content(), whole);
  EXPECT_EQ(HistoryFile(path_, HistoryFile::kAnyVocabulary).read().records, 3);
  write("This is a letter and no history at all.");
  EXPECT_THAT(test::message_of([&] { file().read(); }), HasSubstr("no history"));
  EXPECT_THAT(test::message_of([&] { file().append(Tokens{1}); }), HasSubstr("no history"));
  EXPECT_THAT(test::message_of([&] { file().clear(); }), HasSubstr("no history"));
  EXPECT_EQ(content(), "This is a letter and no history at all.");
  const std::string fifo = folder_.file("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path : {fifo, std::string("/dev/null")})
    EXPECT_THAT(test::message_of([&] { HistoryFile(path, kVocabulary).read(); }), HasSubstr("no plain file")) << path;
  const HistoryFile folder(std::filesystem::path(path_).parent_path(), kVocabulary);
  EXPECT_THAT(test::message_of([&] { folder.read(); }), HasSubstr("history"));
  EXPECT_THAT(test::message_of([&] { folder.append(Tokens{1}); }), HasSubstr("history"));
}

// It is cleared in place, so that a full disk is no matter.
// A sparse file has any length on any disk. Reading it would take more memory than there is.
TEST_F(History, of_more_bytes_than_any_history_has_is_refused_and_left_alone) {
  make_three();
  std::filesystem::resize_file(path_, uint64_t{1} << 40);
  EXPECT_THAT(test::message_of([&] { file().read(); }), HasSubstr("the history is too large"));
  EXPECT_THAT(test::message_of([&] { file().append(Tokens{5}); }), HasSubstr("the history is too large"));
  EXPECT_EQ(std::filesystem::file_size(path_), uint64_t{1} << 40);
  file().clear();
  EXPECT_THAT(read(), IsEmpty()) << "clearing needs no memory";
}

TEST_F(History, is_empty_after_it_was_cleared) {
  make_three();
  const std::string other = folder_.file("other");
  std::filesystem::create_hard_link(path_, other);
  file().clear();
  EXPECT_THAT(read(), IsEmpty());
  EXPECT_EQ(std::filesystem::file_size(other), kBeginning);
  file().append(Tokens{4});
  EXPECT_THAT(read(), ElementsAre(Tokens{4}));
  EXPECT_THAT(test::message_of([&] { HistoryFile(folder_.file("none"), kVocabulary).clear(); }), HasSubstr("none"));
  write("");
  file().clear();
  write(content().substr(0, 0));
  EXPECT_THAT(read(), IsEmpty());
}

// A record of 100 tokens takes 424 bytes.
TEST_F(History, keeps_the_newest_records_within_its_limit) {
  constexpr int64_t kMost = 4096;
  for (int32_t r = 0; r < 100; ++r) {
    ASSERT_TRUE(file(kMost).append(Tokens(100, r)));
    ASSERT_LE(file().bytes(), kMost);
    const Records records = read();
    ASSERT_GE(records.size(), std::min<size_t>(static_cast<size_t>(r) + 1, 6));
    for (size_t i = 0; i < records.size(); ++i)
      ASSERT_EQ(records[i], Tokens(100, r - static_cast<int32_t>(records.size() - 1 - i)));
  }
  EXPECT_FALSE(file(kMost).append(Tokens(2000, 1))) << "longer than the file may be";
  EXPECT_EQ(read().back(), Tokens(100, 99));
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

// A process that was killed while it wrote the new file leaves a temporary. Files of something else stay.
TEST_F(History, has_no_left_over_files_after_the_next_writer) {
  make_three();
  const std::string begun = content().substr(0, 60), letter = "My own part of a history.";
  const auto left_over = [this](const char* name, const std::string& bytes) {
    std::ofstream(folder_.file(name), std::ios::binary) << bytes;
  };
  left_over("history.part17", begun);
  left_over("history.part18-2", "");
  left_over("history.part19", letter);
  left_over("history.party", begun);
  left_over("other.part17", begun);
  for (int32_t r = 0; r < 10; ++r) file(2048).append(Tokens(100, r));
  const auto is_there = [this](const char* name) { return std::filesystem::exists(folder_.file(name)); };
  EXPECT_FALSE(is_there("history.part17"));
  EXPECT_FALSE(is_there("history.part18-2"));
  for (const char* name : {"history.part19", "history.party", "other.part17"}) EXPECT_TRUE(is_there(name)) << name;
  EXPECT_EQ(read().back(), Tokens(100, 9));
}

// Another process holds the lock for longer than anybody waits.
TEST_F(History, is_not_waited_for_by_a_user_who_interrupts) {
  make_three();
  const int other = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(other, 0);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  stop_waits_when([] { return true; });
  EXPECT_THROW(file().read(), Interrupted);
  EXPECT_THROW(file().append(Tokens{1}), Interrupted);
  EXPECT_THROW(file().clear(), Interrupted);
  stop_waits_when(nullptr);
  close(other);
  EXPECT_EQ(read().size(), 3u);
}

TEST_F(History, behind_a_link_is_cleared_and_shortened_itself) {
  make_three();
  const std::string link = folder_.file("link");
  std::filesystem::create_symlink(path_, link);
  const HistoryFile linked(link, kVocabulary, 2048);
  for (int32_t r = 0; r < 10; ++r) linked.append(Tokens(100, r));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read().back(), Tokens(100, 9));
  EXPECT_THAT(read(), ::testing::Not(::testing::Contains(Tokens{10, 11}))) << "the oldest texts are gone";
  linked.clear();
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_THAT(read(), IsEmpty());
}

// A file that may not grow further stands for a full disk.
TEST_F(History, of_a_full_disk_has_what_it_had) {
  make_three();
  const std::string whole = content();
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{whole.size() + 30, whole.size() + 30};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      file().append(Tokens(100, 3));
    } catch (const Error&) {
      _exit(7);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(content(), whole);
}

// Four writers, one of which is killed again and again, and a reader beside them.
TEST_F(History, of_many_processes_has_whole_records_alone) {
  constexpr int kWriters = 4, kEach = 200;
  std::vector<pid_t> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.push_back(fork());
    if (writers.back() != 0) continue;
    for (int32_t i = 0; i < kEach; ++i) file().append(Tokens(static_cast<size_t>(1 + i % 50), 1000 * w + i));
    _exit(0);
  }
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    const pid_t victim = fork();
    if (victim == 0) {
      for (;;) file().append(Tokens(500, 9999));
    }
    usleep(static_cast<useconds_t>(random() % 3000));
    kill(victim, SIGKILL);
    waitpid(victim, nullptr, 0);
    for (const Tokens& record : read())
      ASSERT_TRUE(std::ranges::all_of(record, [&](int32_t token) { return token == record[0]; }));
  }
  for (const pid_t writer : writers) {
    int status = 1;
    waitpid(writer, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::vector<int32_t> seen(kWriters, 0);
  for (const Tokens& record : read()) {
    if (record[0] == 9999) continue;
    const auto writer = static_cast<size_t>(record[0] / 1000);
    ASSERT_EQ(record[0] % 1000, seen[writer]++) << "in the order in which they were written";
    ASSERT_EQ(std::ssize(record), 1 + record[0] % 1000 % 50);
  }
  EXPECT_THAT(seen, ::testing::Each(kEach));
}

}  // namespace
}  // namespace tandem
