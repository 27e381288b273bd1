#include "engine/device/proof/helper.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace tandem::proof {

namespace fs = std::filesystem;

namespace {

// The folder of the program or shared library that contains this function.
fs::path folder_of_this_code() {
  Dl_info found{};
  const bool is_found =
      ::dladdr(reinterpret_cast<const void*>(&find_helper), &found) != 0 && found.dli_fname != nullptr;
  std::error_code ignored;
  return is_found ? fs::canonical(found.dli_fname, ignored).parent_path() : fs::path();
}

}  // namespace

std::string find_helper() {
  // The variable decides, even if it is empty: the helper sets it to "" for itself, so that no child tries drivers
  // in turn.
  if (const char* named = std::getenv("TANDEM_PROVER")) return named;
  std::error_code ignored;
  const fs::path beside = fs::read_symlink("/proc/self/exe", ignored).parent_path() / kHelperName;
  const fs::path library = folder_of_this_code();
  for (const std::string& path : {beside.string(), (library / kHelperName).string(),
                                  std::string(TANDEM_PROVER_INSTALLED), std::string(TANDEM_PROVER_BUILT)}) {
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

std::chrono::seconds silence_limit() {
  const char* set = std::getenv("TANDEM_PROVER_SILENCE_S");
  const int seconds = set ? std::atoi(set) : 0;
  return std::chrono::seconds(seconds > 0 ? seconds : 60);
}

}  // namespace tandem::proof
