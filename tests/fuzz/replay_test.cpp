// Replays the kept inputs of every fuzz target with the ordinary compiler. Each input is accepted or refused, and
// nothing else happens. Inputs that once found a fault are named after the fault.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/fuzz/targets.h"
#include "tests/support/source_tree.h"

namespace tandem {
namespace {

class FuzzCorpus : public ::testing::TestWithParam<fuzz::Target> {};

std::vector<std::filesystem::path> kept_inputs(const std::string& target) {
  std::vector<std::filesystem::path> paths;
  const std::filesystem::path folder = testing::source_tree() / "tests/fuzz/corpus" / target;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

TEST_P(FuzzCorpus, every_kept_input_is_taken_or_refused) {
  const auto paths = kept_inputs(GetParam().name);
  ASSERT_GE(paths.size(), 10u);
  ::testing::internal::CaptureStdout();  // hundreds of wrong command lines print errors
  ::testing::internal::CaptureStderr();
  std::string broken;
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    try {
      GetParam().run(std::as_bytes(std::span(bytes)));
    } catch (const std::exception& error) {
      broken += path.filename().string() + ": " + error.what() + "\n";
    }
  }
  ::testing::internal::GetCapturedStdout();
  ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(broken, "");
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzCorpus, ::testing::ValuesIn(fuzz::targets().begin(), fuzz::targets().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tandem
