// Lost pages of a mapped file read as zeros, and the guard reports them. Other bus errors go where they went before.
#include "sync/file_guard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

constexpr size_t kPage = 4096, kPages = 8;

// A mapped file of pages. The bytes of each page are its number, from 1 on.
class MappedPages {
 public:
  explicit MappedPages(int protection = PROT_READ) {
    std::ofstream out(path_, std::ios::binary);
    for (size_t page = 0; page < kPages; ++page) out << std::string(kPage, static_cast<char>(page + 1));
    out.close();
    const int file = open(path_.c_str(), O_RDWR);
    base_ = static_cast<std::byte*>(mmap(nullptr, kPages * kPage, protection, MAP_PRIVATE, file, 0));
    close(file);
  }
  ~MappedPages() { munmap(base_, kPages * kPage); }
  MappedPages(const MappedPages&) = delete;
  MappedPages& operator=(const MappedPages&) = delete;

  void cut(size_t pages) const { EXPECT_EQ(truncate(path_.c_str(), static_cast<off_t>(pages * kPage)), 0); }
  std::span<const std::byte> bytes() const { return {base_, kPages * kPage}; }
  std::byte* page(size_t number) const { return base_ + number * kPage; }
  int first_byte(size_t number) const { return std::to_integer<int>(*static_cast<volatile std::byte*>(page(number))); }

 private:
  const testing::ScratchFolder folder_;
  const std::string path_ = folder_.file("pages");
  std::byte* base_ = nullptr;
};

TEST(FileGuard, gives_zeros_for_pages_that_are_gone_and_says_so) {
  const MappedPages pages;
  const FileGuard guard(pages.bytes(), false);
  EXPECT_EQ(pages.first_byte(1), 2);
  pages.cut(3);
  EXPECT_FALSE(guard.lost()) << "nobody has read them";
  EXPECT_EQ(pages.first_byte(1), 2);
  EXPECT_EQ(pages.first_byte(5), 0);
  EXPECT_TRUE(guard.lost());
  for (size_t page = 3; page < kPages; ++page) EXPECT_EQ(pages.first_byte(page), 0) << page;
  EXPECT_EQ(pages.first_byte(2), 3) << "what is there stays";
}

TEST(FileGuard, serves_every_thread_and_memory_that_is_written_to) {
  const MappedPages pages(PROT_READ | PROT_WRITE);
  const FileGuard guard(pages.bytes(), true);
  pages.cut(0);
  std::array<int, kPages> read{};
  std::vector<std::thread> threads;
  for (size_t page = 0; page < kPages; ++page)
    threads.emplace_back([&, page] { read[page] = pages.first_byte(page) + 1; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::ranges::count(read, 1), std::ssize(read));
  EXPECT_TRUE(guard.lost());
  *pages.page(4) = std::byte{7};
  EXPECT_EQ(pages.first_byte(4), 7);
}

TEST(FileGuard, tells_one_file_from_another_and_may_be_moved) {
  const MappedPages cut, whole;
  FileGuard first(cut.bytes(), false);
  const FileGuard second(whole.bytes(), false);
  const FileGuard moved = std::move(first);
  cut.cut(1);
  EXPECT_EQ(cut.first_byte(2), 0);
  EXPECT_TRUE(moved.lost());
  EXPECT_FALSE(second.lost());
  EXPECT_FALSE(FileGuard().lost());
}

sigjmp_buf after_bus_error;
extern "C" void jump_out(int) { siglongjmp(after_bus_error, 1); }

struct sigaction handler_now() {
  struct sigaction now {};
  sigaction(SIGBUS, nullptr, &now);
  return now;
}

TEST(FileGuard, leaves_other_bus_errors_to_the_handler_that_was_there) {
  struct sigaction own {
  }, before{};
  own.sa_handler = jump_out;
  own.sa_flags = SA_NODEFER;
  sigaction(SIGBUS, &own, &before);
  const MappedPages guarded, other;
  guarded.cut(0);
  other.cut(0);
  {
    const FileGuard guard(guarded.bytes(), false);
    if (sigsetjmp(after_bus_error, 1) == 0) {
      other.first_byte(0);
      ADD_FAILURE() << "the page is gone";
    }
    EXPECT_EQ(guarded.first_byte(0), 0) << "and its own stay its own";
    EXPECT_TRUE(guard.lost());
  }
  EXPECT_EQ(handler_now().sa_handler, jump_out) << "with the last guard it is as before";
  sigaction(SIGBUS, &before, nullptr);
}

TEST(FileGuard, stays_below_a_handler_that_comes_later) {
  const struct sigaction standard = handler_now();
  const MappedPages pages;
  {
    const FileGuard guard(pages.bytes(), false);
    struct sigaction later {};
    later.sa_handler = jump_out;
    sigaction(SIGBUS, &later, nullptr);
    const FileGuard another(pages.bytes(), false);
    EXPECT_EQ(handler_now().sa_handler, jump_out);
  }
  EXPECT_EQ(handler_now().sa_handler, jump_out);
  sigaction(SIGBUS, &standard, nullptr);
}

// The signal that ends a process which does `work`, or 0 if none does.
int ends_by(const auto& work) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGBUS, SIG_DFL);
    work();
    _exit(0);
  }
  int state = 0;
  waitpid(child, &state, 0);
  return WIFSIGNALED(state) ? WTERMSIG(state) : 0;
}

TEST(FileGuard, lets_other_bus_errors_end_the_process) {
  const MappedPages guarded, other;
  guarded.cut(0);
  other.cut(0);
  EXPECT_EQ(ends_by([&] {
              const FileGuard guard(guarded.bytes(), false);
              guarded.first_byte(0);
            }),
            0);
  EXPECT_EQ(ends_by([&] {
              const FileGuard guard(guarded.bytes(), false);
              other.first_byte(0);
            }),
            SIGBUS);
  EXPECT_EQ(ends_by([&] {
              const FileGuard guard(guarded.bytes(), false);
              raise(SIGBUS);
            }),
            SIGBUS);
}

}  // namespace
}  // namespace tandem
