// The places of test data. tests/data is in every clone. Files that are too large for it lie in TANDEM_TEST_DATA or in
// ../shared/data beside the checkout. A test without its data skips with the reason (see requirements.h).
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

#include "tests/support/requirements.h"
#include "tests/support/source_tree.h"

namespace tandem::testing {

// The full path of a data file or folder, or nothing if it is missing.
inline std::optional<std::string> test_data(const std::string& relative) {
  const char* named = std::getenv("TANDEM_TEST_DATA");
  const std::filesystem::path roots[] = {source_tree() / "tests" / "data", named ? named : "",
                                         source_tree().parent_path() / "shared" / "data"};
  for (const std::filesystem::path& root : roots) {
    if (!root.empty() && std::filesystem::exists(root / relative)) return (root / relative).string();
  }
  return std::nullopt;
}

// A file that tests/data may lack. Returns nothing if it is missing, and fails the test if data is required.
inline std::optional<std::string> larger_data(const std::string& relative) {
  const auto path = test_data(relative);
  if (!path && test::is_required(test::Needs::data))
    ADD_FAILURE() << test::absence(test::Needs::data, "no " + relative);
  return path;
}

// A file of tests/data, which every clone has.
inline std::string repository_data(const std::string& relative) {
  const std::filesystem::path path = source_tree() / "tests" / "data" / relative;
  if (!std::filesystem::exists(path))
    throw std::runtime_error("tests/data/" + relative + " is gone: a broken checkout");
  return path.string();
}

// SmolLM2-135M-Instruct from the place where `./dev run` and `./dev test` keep it, or the file that TANDEM_MODEL names.
inline std::optional<std::string> default_model() {
  const char* named = std::getenv("TANDEM_MODEL");
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string folder = cache && *cache ? cache : std::string(home ? home : "") + "/.cache";
  const std::string path = named && *named ? named : folder + "/tandem/models/SmolLM2-135M-Instruct.Q4_1.gguf";
  if (!std::filesystem::exists(path)) return std::nullopt;
  return path;
}
inline constexpr const char* kNoDefaultModel = "the default model is not here (./dev test fetches it)";

}  // namespace tandem::testing
