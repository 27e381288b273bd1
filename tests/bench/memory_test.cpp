// The memory that a run takes beyond its weights and the cache it filled, without a driver in the process. The tests
// compare bytes, not times.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "bench/resident.h"

namespace tandem::bench {
namespace {

// A model, a driver's library in two mappings, the program, the heap, memory without a name, and a file with a blank.
constexpr const char* kSmaps =
    "55a0-55b0 r-xp 0001c000 fd:00 11     /usr/bin/tandem\nSize: 64 kB\nRss:                  40 kB\nPss: 1 kB\n"
    "55c0-55d0 rw-p 00000000 00:00 0      [heap]\nRss:                   100 kB\n"
    "7f00-7f10 r--p 00000000 fd:00 77     /models/a b.gguf\nRss:                   3 kB\n"
    "7f20-7f30 r-xp 00000000 fd:00 78     /usr/lib/libLLVM-15.so.1\nRss:                   500 kB\n"
    "7f30-7f40 r--p 00100000 fd:00 78     /usr/lib/libLLVM-15.so.1\nRss:                   80 kB\n"
    "7f50-7f60 rw-p 00000000 00:00 0 \nRss:                   2000 kB\n";

TEST(Resident, sorts_every_mapping_into_what_it_is_for) {
  std::istringstream smaps(kSmaps);
  const std::vector<Mapping> mappings = read_mappings(smaps);
  ASSERT_EQ(mappings.size(), 6u);
  EXPECT_EQ(mappings[2].name, "/models/a b.gguf");
  EXPECT_EQ(mappings[5].name, "");
  EXPECT_EQ(files_of(mappings),
            (std::set<std::string>{"/usr/bin/tandem", "/models/a b.gguf", "/usr/lib/libLLVM-15.so.1"}));
  const Resident sums = sort_out(mappings, {"/usr/bin/tandem"}, "/models/a b.gguf");
  EXPECT_EQ(sums.model_file, 3u * 1024);
  EXPECT_EQ(sums.drivers, 580u * 1024);
  EXPECT_EQ(sums.program, 40u * 1024);
  EXPECT_EQ(sums.memory, 2100u * 1024);
  EXPECT_EQ(sums.total(), 2723u * 1024);
}

TEST(Resident, of_this_process_is_at_most_its_peak) { EXPECT_GT(peak_bytes(), size_t{1} << 20); }

std::filesystem::path default_model() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::filesystem::path folder =
      cache && *cache ? std::filesystem::path(cache) : std::filesystem::path(home ? home : "") / ".cache";
  return folder / "tandem" / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf";
}

// Weights and cache take 97 MB. The program, the tokenizer, activations and the rest of the file may take 29 MB.
TEST(Memory, of_a_run_without_a_driver_peaks_at_1_3_times_weights_and_touched_cache) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "skipped: sanitizers keep memory of their own";
#endif
  if (!std::filesystem::exists(default_model())) GTEST_SKIP() << "skipped: no default model";
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string program = here / ".." / ".." / "bench" / "memory";
  const std::string command = "'" + program + "' '" + default_model().string() + "' --tokens 20 --child npu-only";
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output;
  for (int c = std::getc(pipe); c != EOF; c = std::getc(pipe)) output += static_cast<char>(c);
  ASSERT_EQ(pclose(pipe), 0) << output;
  const nlohmann::json run = nlohmann::json::parse(output);
  EXPECT_EQ(run["driver_library_bytes"], 0) << "no driver is loaded for the NPU alone";
  EXPECT_EQ(run["cache_bytes"], 2 * 30 * 3 * 64 * 20 * 2);  // keys and values, layers, heads, width, positions, bytes
  EXPECT_GT(run["weight_bytes"], 90'000'000);
  const double needed = run["weight_bytes"].get<double>() + run["cache_bytes"].get<double>();
  const double peak = run["peak_bytes"].get<double>();
  EXPECT_GE(peak, needed) << "the weights are read whole, so all of them are in memory";
  EXPECT_LE(peak, 1.3 * needed) << run.dump(1);
  EXPECT_GE(run["peak_without_libraries_bytes"].get<double>(), needed);
  // Mappings are read one after another while the program gives pages of its code back, so some may count twice.
  EXPECT_LE(run["peak_without_libraries_bytes"].get<double>(), 1.02 * peak);
  EXPECT_LE(run["model_file_bytes"].get<double>(), 0.01 * needed) << "its pages are given back";
}

}  // namespace
}  // namespace tandem::bench
