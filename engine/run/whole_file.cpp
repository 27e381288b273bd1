#include "engine/run/whole_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sync/error.h"

namespace tandem {

void write_whole_file(const std::string& path, std::string_view content) {
  const std::string temporary = path + ".part" + std::to_string(getpid());
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    std::remove(temporary.c_str());
    throw Error("cannot write a file (" + reason + ")", path, "Check the folder and the space on the disk");
  }
}

std::optional<std::string> read_file_if_there(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  content << in.rdbuf();
  if (!in || std::filesystem::is_directory(path, ignored)) throw Error("cannot read a file", path);
  return content.str();
}

}  // namespace tandem
