// A folder for the files of one test, removed with them at the end of this object's life. Tests run side by side as
// processes, so a name that two of them could choose belongs to neither: no other file of the tests asks for the
// temporary folder.
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
    std::error_code ignored;  // what a test has left unreadable stays behind; that fails no test
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
