// Commands under limits of memory, threads and stack. They work, or they end with status 1 and name the limit.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// Megabytes. Drivers are loaded from here on, and a machine with more cores needs more for them.
int enough_for_drivers() { return 800 + 128 * static_cast<int>(std::thread::hardware_concurrency()); }

ChildSettings with_memory_of(int megabytes) { return {.limits = "-v " + std::to_string(megabytes * 1024)}; }

std::vector<Arguments> commands(const Folder& folder) {
  const std::string shape = folder.write(
      "shape.json", R"({"schema": 1, "name": "toy", "layers": 2, "hidden": 64, "feed_forward": 96, "heads": 2,
                        "vocabulary": 300, "context_length": 128})");
  return {{"devices"},
          {"info", "-m", stories()},
          {"tokenize", "-m", stories(), "-p", "Once"},
          Arguments{"run", "-m", stories(), "-p", "Once", "-n", "2", "-q"} + on_host(),
          {"run", "-m", stories(), "-p", "Once", "-n", "2", "-q"},
          Arguments{"eval", "-m", stories(), "-p", "Once upon", "--perplexity", "-q"} + on_host(),
          {"plan", "-m", stories(), "-p", "8", "-q"},
          {"warm", "-m", stories(), "-q"},
          {"make-random", "--shape", shape, "-o", folder.file("random.gguf"), "-q"},
          {"make-moe", "-m", stories(), "--experts", "2", "-o", folder.file("moe.gguf"), "-q"}};
}

// Whether the command failed. No signal may end it. A command that fails or lists devices must name the limit.
bool names_the_limit(const Arguments& command, const ChildSettings& settings) {
  SCOPED_TRACE("ulimit " + settings.limits + ", " + ::testing::PrintToString(command));
  const Ended ended = tandem(command, settings);
  EXPECT_TRUE(ended.status == 0 || ended.status == 1) << ended.status << "\n" << ended.err;
  if (ended.status != 0 || command[0] == "devices") {
    EXPECT_THAT(ended.err, HasSubstr("ulimit " + settings.limits.substr(0, 2) + " allows"));
  }
  if (ended.status != 0) {
    EXPECT_THAT(ended.err, Not(HasSubstr("defect")));
  }
  return ended.status != 0;
}

TEST(ScarceMemory, is_named_by_every_command_and_ends_none_by_a_signal) {
  if (kSanitized) GTEST_SKIP() << "skipped: sanitizers map terabytes";
  const Folder folder;
  int failed = 0;
  for (const int megabytes : {60, 200, enough_for_drivers()}) {
    for (const Arguments& command : commands(folder)) {
      if (megabytes == enough_for_drivers() && command[0] == "warm") continue;  // it compiles for a minute
      failed += names_the_limit(command, with_memory_of(megabytes));
    }
  }
  EXPECT_GT(failed, 0) << "no limit was small enough to show anything";
}

// PoCL aborts if it finds too little data memory.
TEST(ScarceMemory, of_data_ends_no_command_by_a_signal) {
  if (kSanitized) GTEST_SKIP() << "skipped: sanitizers have data of their own";
  const Folder folder;
  for (const int kilobytes : {1'000, 60'000}) {
    for (const Arguments& command : commands(folder)) {
      names_the_limit(command, {.limits = "-d " + std::to_string(kilobytes)});
    }
  }
  const Ended run = tandem({"run", "-m", stories(), "-p", "Once", "-n", "2"}, {.limits = "-d 100000"});
  EXPECT_EQ(run.status, 0) << "the NPU and the host need less\n" << run.err;
  EXPECT_THAT(run.err, HasSubstr("drivers want 256 MiB of memory, and ulimit -d allows"));
}

// On a machine that has never run the program, another process would compile the kernels. It could not, and this one
// could not use them.
TEST(ScarceMemory, of_drivers_promises_no_gpu_and_marks_no_kernels_as_compiled) {
  if (kSanitized) GTEST_SKIP() << "skipped: sanitizers map terabytes";
  const Folder folder;
  ChildSettings settings = with_memory_of(400);
  settings.environment = {{"XDG_CACHE_HOME", folder.file("cache")}, {"TANDEM_COMPILE", "background"}};
  const std::string drivers_want = "drivers want " + std::to_string(768 + 128 * std::thread::hardware_concurrency()) +
                                   " MiB of memory, and ulimit -v allows";
  const Ended run = tandem({"run", "-m", stories(), "-p", "Once", "-n", "2"}, settings);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, Not(HasSubstr("background")));
  EXPECT_THAT(run.err, HasSubstr(drivers_want));
  const Ended warm = tandem({"warm", "-m", stories()}, settings);
  EXPECT_EQ(warm.status, 1) << warm.out;
  EXPECT_THAT(warm.err, HasSubstr("no GPU could be looked for: " + drivers_want));
  std::error_code none;
  for (const auto& mark : std::filesystem::directory_iterator(folder.file("cache/tandem/warm"), none))
    EXPECT_EQ(mark.path().extension(), ".lock") << mark.path();
}

TEST(ScarceMemory, is_an_object_where_json_is_asked_for) {
  if (kSanitized) GTEST_SKIP() << "skipped: sanitizers map terabytes";
  const Ended ended = tandem(Arguments{"run", "-m", stories(), "-p", "Once", "--json"} + on_host(), with_memory_of(60));
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(json::parse(ended.out).at("error").at("message").get<std::string>(), HasSubstr("ulimit -v allows"));
}

TEST(ScarceStack, is_made_larger) {
  const ChildSettings small{.limits = "-S -s 96"};
  for (const Arguments& device : {on_host(), Arguments{}}) {
    const Ended ended = tandem(Arguments{"run", "-m", stories(), "-p", "Once", "-n", "2", "-q"} + device, small);
    EXPECT_EQ(ended.status, 0) << ended.err;
  }
}

// A command goes on without its cache files, and fails without its output.
TEST(ScarceFiles, end_no_command_by_a_signal_and_an_output_is_an_error) {
  const Folder folder;
  const ChildSettings no_bytes{.environment = {{"XDG_CACHE_HOME", folder.file("cache")}}, .limits = "-f 0"};
  const std::string state = folder.file("state"), logits = folder.file("logits");
  const Arguments run = {"run", "-m", stories(), "-p", "Once", "-n", "2", "--device", "npu:0,host"};
  EXPECT_EQ(tandem(run, no_bytes).status, 0);
  for (const Arguments& command :
       {Arguments{"run", "-m", stories(), "-p", "Once", "-n", "2", "--save-state", state} + on_host(),
        Arguments{"eval", "-m", stories(), "-p", "Once", "--logits", logits} + on_host()}) {
    const Ended ended = tandem(command, no_bytes);
    EXPECT_EQ(ended.status, 1) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("File too large"));
  }
  EXPECT_FALSE(std::filesystem::exists(state) || std::filesystem::exists(logits));
}

// The help text is appended to a file that already has the largest allowed size.
TEST(ScarceFiles, end_a_help_text_with_an_error) {
  const Folder folder;
  const std::string file = folder.write("help", std::string(4096, ' '));
  const std::string command = "ulimit -f 1; '" + path_of_tandem() + "' --help >>'" + file + "' 2>/dev/null";
  const int status = std::system(command.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

}  // namespace
}  // namespace tandem::testing
