#include "engine/device/gpu/launch.h"

#include <sstream>

#include "sync/error.h"

namespace tandem::gpu {

// Splits "-DNAME=VALUE -DFLAG" at blanks. A macro without '=' gets an empty value.
std::vector<std::pair<std::string, std::string>> constants(const std::string& options) {
  std::vector<std::pair<std::string, std::string>> macros;
  std::istringstream words(options);
  for (std::string word; words >> word;) {
    TANDEM_CHECK(word.starts_with("-D"), "a kernel's options are macros alone: " + options);
    const size_t equals = word.find('=');
    macros.emplace_back(word.substr(2, equals - 2), equals == std::string::npos ? "" : word.substr(equals + 1));
  }
  return macros;
}

}  // namespace tandem::gpu
