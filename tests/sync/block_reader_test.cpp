// Reading blocks of a file: every block in its place, failures by name, files that change.
#include "sync/block_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>

#include "sync/error.h"
#include "tests/support/message_of.h"
#include "tests/support/scratch_folder.h"

namespace tandem::sync {
namespace {

using test::message_of;
using ::testing::HasSubstr;

constexpr size_t kPage = 4096;

// A file of `pages` pages. The words of page i are i.
class BlockReaderTest : public ::testing::TestWithParam<BlockMethod> {
 protected:
  static constexpr size_t kPages = 64;
  BlockReaderTest() {
    std::ofstream out(path_, std::ios::binary);
    for (uint64_t page = 0; page < kPages; ++page) {
      const std::vector<uint64_t> words(kPage / sizeof page, page);
      out.write(reinterpret_cast<const char*>(words.data()), kPage);
    }
    out.close();
    file_ = ::open(path_.c_str(), O_RDONLY);
  }
  ~BlockReaderTest() override { ::close(file_); }

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory(size_t pages) const {
    return std::unique_ptr<std::byte, Free>(static_cast<std::byte*>(std::aligned_alloc(kPage, pages * kPage)));
  }
  static uint64_t word(const std::byte* at) {
    uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }

  const testing::ScratchFolder folder_;
  const std::string path_ = folder_.file("blocks");
  int file_ = -1;
};

TEST_P(BlockReaderTest, puts_every_block_where_it_belongs_with_any_number_of_threads) {
  std::mt19937 random(3);
  for (const int threads : {0, 1, 3, 16}) {
    BlockReader reader(file_, path_, threads, {}, GetParam());
    for (int call = 0; call < 20; ++call) {
      const size_t count = random() % 80;  // more than are read at once
      const auto to = memory(std::max<size_t>(1, 2 * count));
      std::vector<BlockRead> blocks;
      for (size_t i = 0; i < count; ++i)
        blocks.push_back({random() % (kPages - 1) * kPage, to.get() + 2 * i * kPage, 2 * kPage});
      std::vector<std::atomic<int>> arrived(count);
      reader.read(blocks, [&](size_t i) {
        EXPECT_EQ(word(blocks[i].to), blocks[i].offset / kPage) << "a block has arrived when it is announced";
        ++arrived[i];
      });
      for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(arrived[i], 1);
        EXPECT_EQ(word(blocks[i].to + kPage), blocks[i].offset / kPage + 1);
      }
    }
  }
}

TEST_P(BlockReaderTest, needs_neither_the_name_nor_the_descriptor_any_more) {
  const int other = ::open(path_.c_str(), O_RDONLY);
  BlockReader reader(other, path_, 2, {}, GetParam());
  ::close(other);
  std::filesystem::remove(path_);
  const auto to = memory(1);
  const BlockRead block{7 * kPage, to.get(), kPage};
  reader.read({&block, 1});
  EXPECT_EQ(word(to.get()), 7u);
}

TEST_P(BlockReaderTest, names_the_file_that_ends_too_early_and_reads_on_afterwards) {
  BlockReader reader(file_, path_, 3, {}, GetParam());
  const auto to = memory(4);
  const std::vector<BlockRead> blocks = {{0, to.get(), kPage},
                                         {(kPages - 1) * kPage, to.get() + kPage, 2 * kPage},
                                         {kPages * kPage, to.get() + 3 * kPage, kPage}};
  const std::string text = message_of([&] { reader.read(blocks); });
  EXPECT_THAT(text, HasSubstr(path_));
  EXPECT_THAT(text, HasSubstr("it is too short"));
  reader.read({blocks.data(), 1});
  EXPECT_EQ(word(to.get()), 0u);
}

TEST_P(BlockReaderTest, ends_with_the_exception_of_its_caller) {
  BlockReader reader(file_, path_, 2, {}, GetParam());
  const auto to = memory(8);
  std::vector<BlockRead> blocks;
  for (size_t i = 0; i < 8; ++i) blocks.push_back({i * kPage, to.get() + i * kPage, kPage});
  EXPECT_THAT(message_of([&] {
                reader.read(blocks, [](size_t i) {
                  if (i == 3) throw Error("damaged", "block 3");
                });
              }),
              HasSubstr("block 3"));
  reader.read(blocks);
  EXPECT_EQ(word(to.get() + 7 * kPage), 7u);
}

TEST_P(BlockReaderTest, reads_while_its_caller_goes_on_until_it_is_waited_for) {
  BlockReader reader(file_, path_, 3, {}, GetParam());
  reader.wait();  // nothing was started
  for (const size_t count : {0, 1, 40, 70}) {
    const auto to = memory(std::max<size_t>(1, count));
    std::vector<BlockRead> blocks;
    for (size_t i = 0; i < count; ++i) blocks.push_back({i % kPages * kPage, to.get() + i * kPage, kPage});
    std::atomic<size_t> arrived = 0;
    reader.start(blocks, [&](size_t) { ++arrived; });
    reader.wait();
    EXPECT_EQ(arrived, count);
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(word(to.get() + i * kPage), i % kPages);
  }
}

// The memory is released right behind the reader. A read that went on would write to released memory.
TEST_P(BlockReaderTest, ends_what_it_started_before_it_is_gone) {
  for (int round = 0; round < 20; ++round) {
    const size_t count = 50;
    const auto to = memory(count);
    std::vector<BlockRead> blocks;
    for (size_t i = 0; i < count; ++i) blocks.push_back({i % kPages * kPage, to.get() + i * kPage, kPage});
    std::atomic<size_t> arrived = 0;
    {
      BlockReader reader(file_, path_, 2, {}, GetParam());
      reader.start(blocks, [&](size_t) { ++arrived; });
    }
    EXPECT_EQ(arrived, count);
  }
}

TEST_P(BlockReaderTest, tells_who_waits_that_a_started_read_failed_and_forgets_it) {
  BlockReader reader(file_, path_, 2, {}, GetParam());
  const auto to = memory(2);
  reader.start({{0, to.get(), kPage}, {kPages * kPage, to.get() + kPage, kPage}});
  EXPECT_THAT(message_of([&] { reader.wait(); }), HasSubstr("it is too short"));
  reader.wait();
  reader.start({{3 * kPage, to.get(), kPage}});
  reader.wait();
  EXPECT_EQ(word(to.get()), 3u);
}

TEST_P(BlockReaderTest, says_how_it_reads) {
  const BlockReader reader(file_, path_, 5, {}, GetParam());
  const bool ring = GetParam() == BlockMethod::ring && block_method_here() == "io_uring";
  EXPECT_THAT(reader.how(), HasSubstr(ring ? "io_uring, 32 reads at once" : "5 threads"));
  EXPECT_THAT(reader.how(), HasSubstr(reader.past_page_cache() ? "past the page cache" : "through the page cache"));
}

// A file system in memory refuses reads past the page cache, or ignores the wish.
TEST_P(BlockReaderTest, reads_files_in_memory_too) {
  const std::string shared = "/dev/shm/tandem-block-reader-" + std::to_string(::getpid());
  std::error_code error;
  std::filesystem::copy_file(path_, shared, error);
  if (error) GTEST_SKIP() << "no /dev/shm to write to";
  const int file = ::open(shared.c_str(), O_RDONLY);
  std::filesystem::remove(shared);
  BlockReader reader(file, shared, 2, {}, GetParam());
  ::close(file);
  const auto to = memory(3);
  const BlockRead block{5 * kPage, to.get(), 3 * kPage};
  reader.read({&block, 1});
  EXPECT_EQ(word(to.get() + 2 * kPage), 7u);
}

// After a failure the reads in flight have ended, so their memory may be used for something else.
TEST_P(BlockReaderTest, writes_nothing_once_a_failure_was_told) {
  BlockReader reader(file_, path_, 4, {}, GetParam());
  const size_t count = 60;
  const auto to = memory(count);
  std::vector<BlockRead> blocks;
  for (size_t i = 0; i < count; ++i) blocks.push_back({(i + 1) % kPages * kPage, to.get() + i * kPage, kPage});
  blocks[2].offset = 2 * kPages * kPage;
  for (int round = 0; round < 50; ++round) {
    EXPECT_THAT(message_of([&] { reader.read(blocks); }), HasSubstr("it is too short"));
    std::memset(to.get(), 0, count * kPage);
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(word(to.get() + i * kPage), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(By, BlockReaderTest, ::testing::Values(BlockMethod::ring, BlockMethod::threads),
                         [](const auto& method) { return method.param == BlockMethod::ring ? "ring" : "threads"; });

TEST(BlockMethodHere, has_a_reason_where_threads_read) {
  const std::string method = block_method_here();
  EXPECT_TRUE(method == "io_uring" || method.starts_with("threads (")) << method;
}

}  // namespace
}  // namespace tandem::sync
