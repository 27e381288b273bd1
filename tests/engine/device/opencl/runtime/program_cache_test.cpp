#include "engine/device/opencl/program_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/device/opencl/memory.h"
#include "engine/device/opencl/opencl_tuning.h"
#include "engine/device/opencl/platform.h"
#include "engine/device/opencl/products.h"
#include "engine/device/opencl/self_test.h"
#include "kernels/kernels.h"
#include "sync/error.h"
#include "tests/support/requirements.h"
#include "tests/support/scratch_folder.h"

namespace tandem::opencl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class ProgramCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto found = find_devices();
    if (found.empty()) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
    handle_ = {found[0].platform, found[0].device, cl::Context(found[0].device), "opencl:0", ""};
  }
  Handle handle_;
};

TEST_F(ProgramCacheTest, a_kernel_that_does_not_build_is_an_error_with_source_options_and_log) {
  ProgramCache programs(handle_);
  const std::string options = "-DGROUP=32 -DSUPER=0 -DMIN_KIND=0 -DBLOCKS=4 -DTOKENS=no_such_number";
  EXPECT_THAT(error_of([&] { programs.kernel("matmul_i4_simd", "matmul_small_batch", options); }),
              AllOf(HasSubstr("clBuildProgram"), HasSubstr("CL_BUILD_PROGRAM_FAILURE"), HasSubstr("matmul_i4_simd.cl"),
                    HasSubstr("opencl:0"), HasSubstr("Build log"), HasSubstr("no_such_number'")));
}

TEST_F(ProgramCacheTest, a_kernel_that_the_source_does_not_have_is_named) {
  ProgramCache programs(handle_);
  EXPECT_THAT(error_of([&] { programs.kernel("probe", "no_such_kernel", ""); }),
              AllOf(HasSubstr("clCreateKernel"), HasSubstr("CL_INVALID_KERNEL_NAME"), HasSubstr("no_such_kernel")));
}

TEST_F(ProgramCacheTest, gates_build_without_c11_atomics_too) {
  ProgramCache programs(handle_);
  EXPECT_EQ(error_of([&] { programs.kernel("gate", "gate", ""); }), "");
  EXPECT_EQ(error_of([&] { programs.kernel("gate", "signal_flag", ""); }), "");
}

TEST_F(ProgramCacheTest, equal_source_and_options_are_built_once) {
  ProgramCache programs(handle_);
  const cl::Kernel first = programs.kernel("probe", "probe_fma", ""),
                   second = programs.kernel("probe", "probe_fma", "");
  EXPECT_EQ(first.getInfo<CL_KERNEL_PROGRAM>()(), second.getInfo<CL_KERNEL_PROGRAM>()());
  EXPECT_NE(first(), second()) << "arguments belong to the kernel object, so each launch has its own";
}

// Two kernels in use at once are different objects. A dropped kernel is lent next.
TEST_F(ProgramCacheTest, a_lent_kernel_that_was_dropped_is_lent_again) {
  ProgramCache programs(handle_);
  const LentKernel kept = programs.lend("probe", "probe_fma", "");
  cl_kernel dropped = nullptr;
  {
    const LentKernel another = programs.lend("probe", "probe_fma", "");
    EXPECT_NE(another.get()(), kept.get()());
    dropped = another.get()();
  }
  EXPECT_NE(programs.lend("probe", "probe_increment", "").get()(), dropped) << "of another kernel";
  const LentKernel again = programs.lend("probe", "probe_fma", "");
  EXPECT_EQ(again.get()(), dropped);
  const LentKernel third = programs.lend("probe", "probe_fma", "");
  EXPECT_TRUE(third.get()() != nullptr && third.get()() != dropped && third.get()() != kept.get()());
}

TEST_F(ProgramCacheTest, a_lent_kernel_may_outlive_the_cache) {
  std::optional<LentKernel> lent;
  {
    ProgramCache programs(handle_);
    lent.emplace(programs.lend("probe", "probe_fma", ""));
  }
  EXPECT_EQ(lent->get().getInfo<CL_KERNEL_FUNCTION_NAME>().substr(0, 9), "probe_fma");
}

TEST(KernelSources, are_embedded_with_their_shared_parts_put_in) {
  EXPECT_THAT(std::string(kernel_source("matmul_i4_simd").value()), HasSubstr("#include \"matmul_simd.cl\""));
  const std::string whole = assemble_source("matmul_i4_simd");
  EXPECT_THAT(whole,
              AllOf(HasSubstr("FP_CONTRACT OFF"), HasSubstr("__kernel void matmul_gemm"), HasSubstr("load_strip")));
  EXPECT_EQ(whole.find("#include"), std::string::npos);
}

TEST(KernelSources, of_the_simd_family_alone_say_that_they_are_vectors_already) {
  EXPECT_THAT(assemble_source("matmul_i4_simd"), HasSubstr("__attribute__((vec_type_hint(float16))) __kernel"));
  EXPECT_THAT(assemble_source("matmul_i4_simt"), Not(HasSubstr("vec_type_hint")));
}

TEST(KernelSources, an_unknown_stem_is_an_error) {
  EXPECT_THAT(error_of([] { assemble_source("nothing_like_it"); }), HasSubstr("nothing_like_it.cl"));
}

TEST(CheckedCalls, name_the_call_the_code_and_the_object) {
  EXPECT_THAT(
      error_of([] { check(CL_INVALID_KERNEL_ARGS, "clEnqueueNDRangeKernel", "blk.3.ffn_up"); }),
      AllOf(HasSubstr("clEnqueueNDRangeKernel"), HasSubstr("CL_INVALID_KERNEL_ARGS"), HasSubstr("blk.3.ffn_up")));
  EXPECT_THAT(error_of([] { check(-1001, "clGetPlatformIDs", "loader"); }), HasSubstr("pocl-opencl-icd"));
  EXPECT_EQ(code_name(-9999), "code -9999");
}

TEST_F(ProgramCacheTest, a_slot_beyond_the_largest_buffer_is_refused_by_name_and_size) {
  sync::Pool pool;
  sync::Slot& slot = pool.acquire(8192, sync::SlotUse::weights, "blk.0.huge");
  SlotMemory memory(handle_, true, 4096);
  EXPECT_THAT(error_of([&] { memory.buffer(slot); }),
              AllOf(HasSubstr("blk.0.huge"), HasSubstr("8192"), HasSubstr("4096")));
}

TEST_F(ProgramCacheTest, a_slot_is_imported_once_and_at_its_own_address) {
  sync::Pool pool;
  sync::Slot& slot = pool.acquire(4096, sync::SlotUse::activations, "a");
  SlotMemory memory(handle_, true, 1 << 20);
  const cl::Buffer first = memory.buffer(slot), second = memory.buffer(slot);
  EXPECT_EQ(first(), second());
  EXPECT_EQ(first.getInfo<CL_MEM_HOST_PTR>(), slot.data());
}

class KeptPrograms : public ProgramCacheTest {
 protected:
  // Runs probe_increment on 41. The program comes from its source or from a file.
  int run(const std::string& folder) {
    ProgramCache programs(handle_, ProgramFiles(folder, handle_.device),
                          [this](const std::string& what) { told_.push_back(what); });
    cl::Kernel kernel = programs.kernel("probe", "probe_increment", options_);
    cl_int value = 41;
    cl::Buffer buffer(handle_.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof value, &value);
    const cl::CommandQueue queue(handle_.context, handle_.device);
    kernel.setArg(0, buffer);
    kernel.setArg(1, cl_ulong{0});
    queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(1), cl::NDRange(1));
    queue.enqueueReadBuffer(buffer, CL_TRUE, 0, sizeof value, &value);
    return value;
  }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    if (!std::filesystem::exists(folder_)) return found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
      if (entry.is_regular_file()) found.push_back(entry.path());
    return found;
  }
  static std::string content(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }

  std::string options_;            // options of the program
  std::vector<std::string> told_;  // announcements before work that takes long
  const testing::ScratchFolder scratch_;
  const std::string folder_ = scratch_.file("programs");
};

TEST_F(KeptPrograms, compiling_and_keeping_are_announced_and_taking_is_not) {
  // The option makes the program new to PoCL, which keeps programs itself.
  options_ = "-DMOMENT=" + std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
  EXPECT_EQ(run(folder_), 42);
  EXPECT_THAT(told_, ElementsAre(HasSubstr("compiling"), HasSubstr("keeping")));
  EXPECT_EQ(run(folder_), 42);
  EXPECT_EQ(told_.size(), 2u);
}

TEST_F(KeptPrograms, are_written_once_and_taken_by_the_next_cache) {
  EXPECT_EQ(run(folder_), 42);
  ASSERT_EQ(files().size(), 1u);
  const auto written = std::filesystem::last_write_time(files()[0]);
  EXPECT_EQ(run(folder_), 42);
  EXPECT_EQ(files().size(), 1u);
  EXPECT_EQ(std::filesystem::last_write_time(files()[0]), written) << "it was built from the source again";
  EXPECT_EQ(run(""), 42) << "no folder, no files";
}

TEST_F(KeptPrograms, are_those_that_the_driver_may_be_asked_for) {
  const auto kept_but_for = [&](const std::string& spared_step) {
    const std::string folder = scratch_.file("without_" + spared_step);
    {
      ProgramCache programs(handle_, ProgramFiles(folder, handle_.device));
      programs.kernel("probe", "probe_increment", "");
      programs.kernel("products_probe", "products_probe", "-DBITS=8");  // plain C in a source that also has assembly
      Precautions precautions;
      precautions.spared[spared_step] = "a test says so";
      settle_keeping(programs, gpu::ByteProducts::vpmaddubsw, precautions);
    }
    if (!std::filesystem::exists(folder + "/opencl")) return std::ptrdiff_t{0};
    return std::distance(std::filesystem::directory_iterator(folder + "/opencl"),
                         std::filesystem::directory_iterator());
  };
  EXPECT_EQ(kept_but_for("nothing"), 2);
  EXPECT_EQ(kept_but_for("kept assembly"), 1);
  EXPECT_EQ(kept_but_for("kept programs"), 0);
}

// PoCL loads a program that it has kept in a moment, so the cache announces no work.
TEST_F(KeptPrograms, of_the_driver_itself_are_no_long_work) {
  if (!handle_.platform.getInfo<CL_PLATFORM_NAME>().starts_with("Portable Computing Language"))
    GTEST_SKIP() << "skipped: only PoCL is known to keep programs";
  int told = 0;
  const auto build = [&] {
    ProgramCache programs(handle_, {}, [&](const std::string&) { ++told; });
    programs.kernel("probe", "probe_increment", "");
  };
  build();
  // Another process may add to PoCL's files at the same moment. Then the test tries again.
  for (int tries = 0; tries < 20 && (tries == 0 || told > 0); ++tries) {
    told = 0;
    build();
  }
  EXPECT_EQ(told, 0);
}

TEST_F(KeptPrograms, of_other_options_are_other_files) {
  ProgramFiles files(folder_, handle_.device);
  files.save("text", "-DA=1", {1, 2, 3});
  EXPECT_EQ(files.load("text", "-DA=1"), (std::vector<unsigned char>{1, 2, 3}));
  EXPECT_EQ(files.load("text", "-DA=2"), std::nullopt);
  EXPECT_EQ(files.load("texts", "-DA=1"), std::nullopt);
}

TEST_F(KeptPrograms, that_are_damaged_are_made_anew) {
  ASSERT_EQ(run(folder_), 42);
  const auto path = files().at(0);
  const std::string whole = content(path);
  std::filesystem::remove(path);
  ASSERT_EQ(run(folder_), 42);
  const bool repeats = content(path) == whole;  // Intel's compiler never writes the same bytes twice
  std::string flipped = whole;
  flipped[whole.size() / 2] ^= 1;
  for (const std::string& damaged : {std::string(), whole.substr(0, 20), whole.substr(0, whole.size() - 1), flipped}) {
    write(path, damaged);
    EXPECT_EQ(run(folder_), 42) << damaged.size() << " bytes";
    const std::string made = content(path);
    EXPECT_NE(made, damaged) << damaged.size() << " bytes";
    if (repeats) {
      EXPECT_EQ(made, whole) << damaged.size() << " bytes";
    }
    EXPECT_EQ(run(folder_), 42);
    EXPECT_EQ(content(path), made) << "what was made anew is taken";
  }
}

TEST_F(KeptPrograms, of_a_folder_that_cannot_be_written_are_no_error) {
  write(folder_, "a file where the folder should be");
  EXPECT_EQ(run(folder_), 42);
}

}  // namespace
}  // namespace tandem::opencl
