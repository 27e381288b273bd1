#include "engine/device/proof/helper.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace tandem::proof {

namespace fs = std::filesystem;

std::string find_helper() {
  // The variable decides, even if it is empty: the helper sets it to "" for itself, so that no child tries drivers
  // in turn.
  if (const char* named = std::getenv("TANDEM_PROVER")) return named;
  std::error_code ignored;
  const fs::path beside = fs::read_symlink("/proc/self/exe", ignored).parent_path() / kHelperName;
  for (const std::string& path :
       {beside.string(), std::string(TANDEM_PROVER_INSTALLED), std::string(TANDEM_PROVER_BUILT)}) {
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
