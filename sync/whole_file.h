// Writes a file whole or not at all: the bytes go to a temporary beside it, which is then renamed.
#pragma once

#include <cstddef>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tandem {

// A file that grows piece by piece. Error names the path and the system's reason. Without commit(), no file remains.
class WholeFile {
 public:
  explicit WholeFile(std::string path);
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  void write(std::span<const std::byte> bytes);
  // Replaces the first bytes, once everything is written.
  void rewrite_begin(std::span<const std::byte> bytes);
  void commit();

 private:
  [[noreturn]] void fail() const;
  const std::string path_, temporary_;
  std::ofstream out_;
};

// Error names the path and the system's reason; no partial file remains then.
void write_whole_file(const std::string& path, std::string_view content);
// No file that is read at once is nearly as large. A damaged one may be: a sparse file has any length on any disk.
inline constexpr size_t kMostReadBytes = size_t{256} << 20;
// Returns the content, or nothing when there is no such file. Error when the file exists but cannot be read, or has
// more than kMostReadBytes.
std::optional<std::string> read_file_if_there(const std::string& path);

}  // namespace tandem
