// `tandem warm` and `tandem run --compile`: kernels that are compiled ahead of time, and a first text that does not
// wait for kernels.
#include <chrono>
#include <thread>

#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

class Warm : public ::testing::Test {
 protected:
  Arguments write(const Arguments& more = {}) const {
    return Arguments{"run", "-m", stories(), "-p", golden("story").at("prompt").get<std::string>(), "-n", "8"} + more;
  }
  // A machine on which the program has never run. The marks in its cache say so; kernels that the driver has kept do
  // not count.
  ChildSettings new_machine() const {
    return {.environment = {{"XDG_CACHE_HOME", folder_.file("cache")},
                            {"TANDEM_COMPILE", "background"},
                            {"POCL_CACHE_DIR", cache_of_pocl()}}};
  }
  int64_t marks() const {
    std::error_code error;
    int64_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.file("cache/tandem/warm"), error))
      count += entry.path().extension() != ".lock";
    return count;
  }
  void expect_a_first_text_like_later_ones(const Arguments& run) const {
    const int64_t marked = marks();
    const Ended first = tandem(run, new_machine());
    ASSERT_EQ(first.status, 0) << first.err;
    EXPECT_THAT(first.err, HasSubstr("note: the GPU's kernels are being compiled in the background"));
    await_marks(marked + 1);
    const json later = json_of(run, new_machine());
    EXPECT_EQ(later.at("device"), "opencl:0,npu:0,host");
    EXPECT_EQ(later.at("text"), first.out.substr(0, first.out.rfind('\n')));
    EXPECT_THAT(tandem(run, new_machine()).err, Not(HasSubstr("background")));
    await_marks(marked + 2);  // for many texts: the other process ends before the folder is removed
  }
  void await_marks(int64_t count) const {
    for (int tenths = 0; tenths < 9000 && marks() < count; ++tenths)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ASSERT_GE(marks(), count);
  }
  const Folder folder_;
};

// The NPU and the host write the first text. After another process has compiled the GPU's kernels, texts are the same,
// and the GPU takes part from the start.
TEST_F(Warm, a_first_text_does_not_wait_for_kernels_and_is_the_same_as_later_ones) {
  NEED_DEVICE("opencl:0");
  expect_a_first_text_like_later_ones(write());
}

// 8-bit activations have kernels of their own. A first text does not wait for these either, whatever is
// compiled already.
TEST_F(Warm, a_first_text_with_8_bit_activations_does_not_wait_for_their_kernels) {
  NEED_DEVICE("opencl:0");
  const std::string shape = folder_.write(
      "shape.json", R"({"schema": 1, "architecture": "llama", "layers": 2, "hidden": 64, "feed_forward": 96,
                        "heads": 2, "vocabulary": 300, "context_length": 128})");
  const std::string model = folder_.file("integers.gguf");
  ASSERT_EQ(tandem({"make-random", "--shape", shape, "--type", "q8_0", "-o", model, "-q"}).status, 0);
  ASSERT_EQ(tandem({"warm", "-m", model, "--act", "f16"}, new_machine()).status, 0);
  const Arguments fast = {"run", "-m", model, "-p", "Once upon a time", "-n", "8", "--ignore-eos", "--fast"};
  expect_a_first_text_like_later_ones(fast);
  EXPECT_EQ(json_of(fast, new_machine()).at("act"), "i8");
  EXPECT_THAT(tandem({"run", "-m", model, "-p", "Once", "-n", "1"}, new_machine()).err, Not(HasSubstr("background")));
}

TEST_F(Warm, compiles_now_where_the_user_would_rather_wait) {
  NEED_DEVICE("opencl:0");
  const json answer = json_of(write({"--compile", "now"}));
  EXPECT_EQ(answer.at("device"), "opencl:0,npu:0,host");
  EXPECT_EQ(tandem(write({"--compile", "later"})).status, 2);
}

TEST_F(Warm, says_what_it_compiled_and_in_what_time) {
  NEED_DEVICE("opencl:0");
  const json answer = json_of({"warm", "-m", stories(), "--cache-type", "f16"});
  EXPECT_EQ(answer.at("device"), "opencl:0");
  EXPECT_EQ(answer.at("model"), stories());
  EXPECT_EQ(answer.at("clock"), "measured");
  EXPECT_EQ(answer.at("act"), "f16") << "as texts have by default";
  EXPECT_EQ(json_of({"warm", "-m", stories(), "--fast"}).at("act"), "i8");
  for (const Arguments& dense : {Arguments{"--act", "auto"}, Arguments{"--exact"}})
    EXPECT_EQ(json_of(Arguments{"warm", "-m", stories()} + dense).at("act"), "f16") << "its weights are F16";
  EXPECT_EQ(tandem({"warm", "-m", stories(), "--fast", "--act", "i8"}).status, 2) << "two answers to one question";
  EXPECT_GT(answer.at("seconds"), 0);
  const Ended text = tandem({"warm", "-m", stories(), "-v"});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out, StartsWith("opencl:0: all kernels for " + stories() + " are compiled"));
  const Ended background = tandem({"warm", "-m", stories(), "--background", "-q"});
  EXPECT_EQ(background.status, 0);
  EXPECT_THAT(background.out, IsEmpty());
}

TEST_F(Warm, without_a_gpu_marks_that_there_is_nothing_to_wait_for) {
  ChildSettings no_gpu = new_machine();
  no_gpu.environment["OCL_ICD_VENDORS"] = folder_.file("none");
  no_gpu.environment["VK_DRIVER_FILES"] = no_gpu.environment["VK_ICD_FILENAMES"] = folder_.file("none.json");
  const Ended warm = tandem({"warm", "-m", stories()}, no_gpu);
  EXPECT_EQ(warm.status, 0);
  EXPECT_THAT(warm.out, HasSubstr("there is no GPU"));
  EXPECT_EQ(marks(), 2) << "of one text and of many";
  EXPECT_THAT(tandem(write(), no_gpu).err, Not(HasSubstr("background")));
}

}  // namespace
}  // namespace tandem::testing
