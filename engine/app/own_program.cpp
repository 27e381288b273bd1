#include "engine/app/own_program.h"

#include <filesystem>

namespace tandem::app {

std::string own_program() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : path.string();
}

}  // namespace tandem::app
