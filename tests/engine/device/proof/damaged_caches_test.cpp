// Cache files in every state in which a full disk, a power loss or another user leaves them. The tests run every
// command that opens a device. Each command must end as it does without the damage.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <functional>
#include <iterator>

#include "engine/device/proof/child.h"
#include "tests/engine/device/proof/broken_drivers.h"
#include "tests/support/data.h"
#include "tests/support/requirements.h"

namespace tandem::proof {
namespace {

namespace fs = std::filesystem;
using ::tandem::testing::BrokenDrivers;
using ::tandem::testing::Variables;
using ::testing::HasSubstr;
using ::testing::Not;

using Damage = void (*)(const fs::path&);
void empty(const fs::path& file) { fs::resize_file(file, 0); }
void cut(const fs::path& file) { fs::resize_file(file, fs::file_size(file) / 2); }
void forbid(const fs::path& file) { fs::permissions(file, fs::perms::none); }
void scramble(const fs::path& file) {
  std::string bytes(fs::file_size(file), '\0');
  unsigned state = 1;
  for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  std::ofstream(file, std::ios::trunc) << bytes;
}
void make_folder(const fs::path& file) {
  fs::remove(file);
  fs::create_directory(file);
}

class DamagedCaches : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!drivers_.any_installed()) SKIP_FOR_WANT_OF(opencl, "no OpenCL driver is installed");
    drivers_.set_up(variables_);
    drivers_.add_installed();
    for (const char* name : {"REQUIRE_OPENCL", "REQUIRE_VULKAN", "TANDEM_DEVICE"}) variables_.set(name, "");
    variables_.set("LD_PRELOAD", testing::fake_calls());
    variables_.set("TANDEM_FAKE_OPTIONS", "-cl-opt-disable");  // compiles in a third less time
  }

  struct Outcome {
    std::string out;
    ChildEnd end;
  };
  Outcome program(const std::vector<std::string>& arguments) const {
    Outcome outcome;
    outcome.end = run_child({testing::tandem_program_path(), arguments, {}, std::chrono::seconds(300)},
                            [&](const std::string& line) { outcome.out += line + "\n"; });
    return outcome;
  }
  // Runs a command line in which "tandem" stands for the program.
  Outcome shell(std::string line) const {
    line.replace(line.find("tandem"), 6, testing::tandem_program_path());
    Outcome outcome;
    outcome.end = run_child({"/bin/sh", {"-c", line}, {}, std::chrono::seconds(300)},
                            [&](const std::string& text) { outcome.out += text + "\n"; });
    return outcome;
  }
  // Damages all such files, and returns their number.
  int damage(const std::string& folder, const std::string& suffix, Damage how) const {
    std::vector<fs::path> files;
    std::error_code none;
    for (const auto& entry : fs::recursive_directory_iterator(drivers_.path("cache/" + folder), none))
      if (entry.is_regular_file() && entry.path().string().ends_with(suffix)) files.push_back(entry.path());
    for (const fs::path& file : files) how(file);
    return static_cast<int>(files.size());
  }

  BrokenDrivers drivers_;
  Variables variables_;
};

// PoCL compiles again after each damage. compiled_files_test.cpp tests which changes count as damage.
TEST_F(DamagedCaches, end_no_command_and_change_no_text) {
  const std::string model = testing::repository_data("tiny-models/stories260K-F16.gguf");
  const std::vector<std::string> write = {"run",    "-m", model, "-p",       "Once",     "-n",          "2",
                                          "--temp", "0",  "-q",  "--device", "opencl:0", "--pack-cache"};
  const std::vector<std::vector<std::string>> commands = {
      write,
      {"devices", "--json"},
      {"plan", "-m", model, "--prompt", "1", "--device", "opencl:0", "--plan", "gpu-only", "--json"},
      {"eval", "-m", model, "-p", "Once upon", "--perplexity", "--device", "opencl:0"},
      {"bench", "-m", model, "-p", "2", "-n", "1", "-r", "1", "--device", "opencl:0"},
      {"info", "-m", model, "--json"},
  };
  const Outcome whole = program(write);
  ASSERT_TRUE(whole.end.well) << whole.end.in_one();
  ASSERT_EQ(program(write).out, whole.out) << "from the files";
  const struct {
    const char *folder, *suffix;
    Damage how;
  } cases[] = {
      {"pocl", ".so", empty},
      {"tandem/opencl", ".program", scramble},
      {"pocl", ".bc", cut},
      {"tandem/drivers", ".json", empty},
      {"tandem", "measured.json", scramble},
      {"pocl", ".so", scramble},
      {"tandem/drivers", "", cut},
      {"tandem/opencl", ".program", make_folder},
      {"tandem/drivers", "", make_folder},
      {"pocl", ".so", forbid},
      {"tandem", "measured.json", make_folder},
      {"pocl", "last_accessed", make_folder},
      {"tandem/packed", "", cut},
      {"tandem/packed", "", scramble},
      {"tandem/packed", "", make_folder},
      {"", "", cut},
  };
  for (size_t i = 0; i < std::size(cases); ++i) {
    if (std::string(cases[i].suffix) == "measured.json")  // the file exists if there was something to measure
      std::ofstream(drivers_.path("cache/tandem/measured.json"), std::ios::app) << " ";
    const std::string name = std::to_string(i) + ": " + cases[i].suffix + " in " + cases[i].folder;
    EXPECT_GT(damage(cases[i].folder, cases[i].suffix, cases[i].how), 0) << name;
    const std::vector<std::string>& command = commands[i % commands.size()];
    const Outcome outcome = program(command);
    EXPECT_TRUE(outcome.end.well) << name << ", " << command.front() << " " << outcome.end.in_one();
    const Outcome after = program(write);
    EXPECT_TRUE(after.end.well) << name << ", then run " << after.end.in_one();
    EXPECT_EQ(after.out, whole.out) << name;
  }
}

TEST_F(DamagedCaches, that_cannot_be_written_are_said_once_and_nothing_is_promised) {
  const std::string model = testing::repository_data("tiny-models/stories260K-F16.gguf");
  const std::string folder = "/proc/no/such/folder";
  variables_.set("XDG_CACHE_HOME", folder);
  const Outcome text = shell("exec tandem run -m " + model + " -p Once -n 1 --temp 0 2>&1");
  EXPECT_TRUE(text.end.well) << text.end.in_one();
  EXPECT_THAT(text.out, HasSubstr("written without a GPU"));
  EXPECT_THAT(text.out, HasSubstr(folder));
  EXPECT_THAT(text.out, Not(HasSubstr("joins in")));
  size_t said = 0;
  for (size_t at = 0; (at = text.out.find("cannot be kept", at)) != std::string::npos; ++at) ++said;
  EXPECT_LE(said, 2u) << "by the note, and once by whoever finds it out later: " << text.out;
  const Outcome warm = shell("exec tandem warm -m " + model + " 2>&1");
  EXPECT_THAT(warm.end.how, HasSubstr("status 1"));
  EXPECT_THAT(warm.out, HasSubstr("nothing that is compiled could be kept"));
  EXPECT_THAT(warm.out, HasSubstr(folder));
  const Outcome device = shell("exec tandem devices --device opencl:0 2>&1");
  EXPECT_TRUE(device.end.well) << "it works among the temporary files: " << device.out;
}

// Another process holds the lock that a process needs before it tries drivers.
TEST_F(DamagedCaches, are_waited_for_with_a_word_and_until_a_signal) {
  EXPECT_TRUE(shell("exec tandem devices --device opencl:0 2>&1").end.well);
  std::string lock;
  for (const auto& entry : fs::directory_iterator(drivers_.path("cache/tandem/drivers"))) {
    const std::string path = entry.path().string();
    if (path.find("/opencl-") != std::string::npos && path.ends_with(".json.lock")) lock = path;
    if (path.find("/opencl-") != std::string::npos && path.ends_with(".json")) fs::remove(path);
  }
  ASSERT_NE(lock, "");
  const int file = open(lock.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(file, LOCK_EX | LOCK_NB), 0);
  for (const char* signal : {"TERM", "INT"}) {
    const Outcome outcome =
        shell(std::string("exec timeout --preserve-status -s ") + signal + " 3 tandem devices --device opencl:0 2>&1");
    EXPECT_THAT(outcome.end.how, HasSubstr("status 130")) << signal;
    EXPECT_THAT(outcome.out, HasSubstr("waiting for another process that tries the drivers"));
  }
  close(file);
}

// A child compiles first. So this process survives if the compiler dies.
TEST_F(DamagedCaches, and_a_compiler_that_dies_of_a_kernel_end_no_command) {
  const std::string model = testing::repository_data("tiny-models/stories260K-F16.gguf");
  variables_.set("TANDEM_FAKE_LAUNCH", "embed");
  std::vector<std::string> write = {"run", "-m", model, "-p", "Once", "-n", "1", "--device", "opencl:0"};
  const Outcome first = program(write);
  EXPECT_THAT(first.end.how, HasSubstr("status 1"));
  EXPECT_THAT(first.end.last_words, HasSubstr("embed"));
  EXPECT_THAT(first.end.last_words, HasSubstr("SIGABRT"));
  const Outcome second = shell("exec tandem run -m " + model + " -p Once -n 1 --device opencl:0 2>&1");
  EXPECT_THAT(second.end.how, HasSubstr("status 1"));
  EXPECT_THAT(second.out, HasSubstr("this device cannot be used: opencl:0"));
  EXPECT_THAT(second.out, HasSubstr("SIGABRT"));
  const std::string record = drivers_.path("cache/tandem/drivers/compiled-");
  EXPECT_THAT(second.out, HasSubstr("when this file is deleted: " + record));
  write.resize(write.size() - 2);  // on any devices that there are
  write.insert(write.end(), {"--compile", "now"});
  const Outcome others = program(write);
  EXPECT_TRUE(others.end.well) << others.end.in_one();
}

TEST_F(DamagedCaches, and_a_compiler_that_dies_of_an_instruction_by_name_are_spared_it) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "no instruction is named on this processor";
  const std::string shape = drivers_.path("shape.json"), model = drivers_.path("integers.gguf");
  std::ofstream(shape) << R"({"schema": 1, "architecture": "llama", "layers": 1, "hidden": 64, "feed_forward": 96,
                              "heads": 2, "vocabulary": 300, "context_length": 128})";
  ASSERT_TRUE(program({"make-random", "--shape", shape, "--type", "q8_0", "-o", model, "-q"}).end.well);
  variables_.set("TANDEM_FAKE_BUILD", "-DTOKENS=1 -DHAS_VP");
  for (const char* fatal_kernel : {"none", "list"}) {  // "list": kernels prepared for lists are launched separately
    variables_.set("TANDEM_FAKE_LAUNCH", fatal_kernel);
    fs::remove_all(drivers_.path("cache/tandem"));  // forget what the driver survived before
    const Outcome outcome =
        program({"run", "-m", model, "-p", "Once", "-n", "3", "--act", "i8", "--device", "opencl:0"});
    EXPECT_TRUE(outcome.end.well) << fatal_kernel << ": " << outcome.end.in_one();
  }
#endif
}

}  // namespace
}  // namespace tandem::proof
