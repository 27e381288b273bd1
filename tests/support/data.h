// Where the test data lies: ../shared/data beside the checkout, or TANDEM_TEST_DATA. Tests say "skipped: no data"
// without it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace tandem::testing {

// The full path of a data file or folder, or nothing when it is not there.
inline std::optional<std::string> test_data(const std::string& relative) {
  const char* from_environment = std::getenv("TANDEM_TEST_DATA");
  std::filesystem::path root = from_environment
                                   ? std::filesystem::path(from_environment)
                                   : std::filesystem::path(TANDEM_SOURCE_DIR).parent_path() / "shared" / "data";
  std::filesystem::path path = root / relative;
  if (!std::filesystem::exists(path)) return std::nullopt;
  return path.string();
}

}  // namespace tandem::testing
