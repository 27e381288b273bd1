// A folder for the files of one test. The object removes it at its end. Tests run side by side as processes, so two of
// them must never choose the same name. No other file of the tests uses the temporary folder.
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace tandem::testing {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tandem_test_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw std::filesystem::filesystem_error("no folder for a test", name, {errno, std::generic_category()});
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;  // unreadable files that a test left stay behind, and no test fails
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // The path of a file or folder in it, which need not exist.
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace tandem::testing
