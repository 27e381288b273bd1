// DriverPages gives back pages of files that were mapped after its construction. Some pages leave memory, and all of
// them can still be read.
#include "engine/device/gpu/driver_pages.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <numeric>
#include <string>

#include "engine/device/registry.h"
#include "sync/pool.h"
#include "tests/support/requirements.h"
#include "tests/support/resident.h"

namespace tandem::gpu {
namespace {

constexpr size_t kBytes = size_t{4} << 20;

// A file of kBytes, mapped privately. Byte i is i / 4096.
class MappedFile {
 public:
  MappedFile() {
    const int file = mkstemp(path_);
    std::string content(kBytes, '\0');
    for (size_t i = 0; i < kBytes; ++i) content[i] = static_cast<char>(i / 4096);
    EXPECT_EQ(static_cast<ssize_t>(kBytes), write(file, content.data(), kBytes));
    data_ = static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0));
    EXPECT_NE(MAP_FAILED, static_cast<void*>(data_));
    close(file);
  }
  ~MappedFile() {
    munmap(data_, kBytes);
    unlink(path_);
  }
  char* data() { return data_; }
  void make_read_only() { EXPECT_EQ(0, mprotect(data_, kBytes, PROT_READ)); }
  void touch() const {
    for (size_t i = 0; i < kBytes; i += 4096) EXPECT_EQ(static_cast<char>(i / 4096), data_[i]);
  }
  size_t resident_bytes() const { return testing::resident_bytes_of(path_); }

 private:
  char path_[32] = "/tmp/tandem_pages_XXXXXX";
  char* data_ = nullptr;
};

TEST(DriverPages, drops_a_read_only_file_mapped_since_and_reads_it_again) {
  const DriverPages pages;
  MappedFile file;
  file.make_read_only();
  file.touch();
  ASSERT_EQ(kBytes, file.resident_bytes());
  EXPECT_GE(pages.give_back(), kBytes);
  EXPECT_EQ(0u, file.resident_bytes());
  file.touch();
}

// Names of the linker: the whole code lies between them.
extern "C" const char __executable_start, etext;

TEST(DriverPages, drops_code_of_this_program_and_runs_it_again) {
  const DriverPages pages;
  const volatile char* const begin = &__executable_start;
  ASSERT_GT(&etext - &__executable_start, 2 << 20) << "the engine is linked into this program";
  int sum = 0;
  for (std::ptrdiff_t i = 0; i < &etext - &__executable_start; i += 4096) sum += begin[i];
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const size_t before = testing::resident_bytes_of(program);
  EXPECT_GE(pages.give_back(), size_t{1} << 20) << sum;
  EXPECT_LT(testing::resident_bytes_of(program), before - (size_t{1} << 20));
}

TEST(DriverPages, keeps_what_was_mapped_before) {
  MappedFile file;
  file.make_read_only();
  file.touch();
  const DriverPages pages;
  pages.give_back();
  EXPECT_EQ(kBytes, file.resident_bytes());
}

TEST(DriverPages, keeps_a_writable_mapping) {
  const DriverPages pages;
  MappedFile file;
  file.touch();
  pages.give_back();
  EXPECT_EQ(kBytes, file.resident_bytes());
}

// A loader leaves relocated data like this: written, then made read-only.
TEST(DriverPages, keeps_pages_that_the_process_has_changed) {
  const DriverPages pages;
  MappedFile file;
  file.touch();
  file.data()[5 * 4096] = 'x';
  file.make_read_only();
  const size_t resident = file.resident_bytes();
  pages.give_back();
  EXPECT_EQ(resident, file.resident_bytes());
  EXPECT_EQ('x', file.data()[5 * 4096]);
}

TEST(DriverPages, a_driver_computes_on_after_its_pages_were_dropped) {
  const DriverPages pages;
  std::unique_ptr<Device> device;
  for (const std::string& id : available_devices())
    if (id == "opencl:0") device = open_device(id, {});
  if (!device) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
  EXPECT_GT(pages.give_back(), size_t{1} << 20);
  sync::Pool pool;
  Add op;
  op.S = 1, op.width = 64, op.x_stride = op.y_stride = 64;
  op.x = {&pool.acquire(256, sync::SlotUse::activations, "x"), 0};
  op.y = {&pool.acquire(256, sync::SlotUse::activations, "y"), 0};
  std::fill_n(op.x.as<float>(), 64, 0.5f);
  std::iota(op.y.as<float>(), op.y.as<float>() + 64, 0.0f);
  const std::vector<Operator> operators = {{"add", op}};
  const auto program = device->prepare(operators);
  launch_one(*device, *program, {}, {});
  device->finish(std::chrono::seconds(60));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(static_cast<float>(i) + 0.5f, op.x.as<float>()[i]);
}

}  // namespace
}  // namespace tandem::gpu
