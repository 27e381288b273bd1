#include "sync/whole_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>

#include "sync/error.h"

namespace tandem {

WholeFile::WholeFile(std::string path)
    : path_(std::move(path)),
      temporary_(path_ + ".part" + std::to_string(getpid())),
      out_(temporary_, std::ios::binary | std::ios::trunc) {
  if (!out_) fail();
}

WholeFile::~WholeFile() {
  if (out_.is_open()) out_.close();
  std::remove(temporary_.c_str());  // it has another name where it was committed
}

void WholeFile::fail() const {
  const std::string reason = std::strerror(errno);
  std::remove(temporary_.c_str());
  throw Error("cannot write a file (" + reason + ")", path_, "Check the folder and the space on the disk");
}

void WholeFile::write(std::span<const std::byte> bytes) {
  if (!out_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()))) fail();
}

void WholeFile::commit() {
  out_.close();
  if (!out_ || std::rename(temporary_.c_str(), path_.c_str()) != 0) fail();
}

void write_whole_file(const std::string& path, std::string_view content) {
  WholeFile file(path);
  file.write(std::as_bytes(std::span(content)));
  file.commit();
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
