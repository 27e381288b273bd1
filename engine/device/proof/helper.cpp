#include "engine/device/proof/helper.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <vector>

namespace tandem::proof {

namespace fs = std::filesystem;

namespace {

constexpr const char* kHelperFolder = "libexec/tandem";  // in the installed tree

// The folder of the program or shared library that contains this function.
fs::path folder_of_this_code() {
  Dl_info found{};
  const bool is_found =
      ::dladdr(reinterpret_cast<const void*>(&find_helper), &found) != 0 && found.dli_fname != nullptr;
  std::error_code ignored;
  return is_found ? fs::canonical(found.dli_fname, ignored).parent_path() : fs::path();
}

// Beside `folder`, or in the tree that `folder` is the bin/, the lib/ or the lib/SYSTEM/ of.
std::vector<fs::path> places_around(const fs::path& folder) {
  return {folder / kHelperName, folder.parent_path() / kHelperFolder / kHelperName,
          folder.parent_path().parent_path() / kHelperFolder / kHelperName};
}

}  // namespace

std::string find_helper() {
  // The variable decides, even if it is empty: the helper sets it to "" for itself, so that no child tries drivers
  // in turn.
  if (const char* named = std::getenv("TANDEM_PROVER")) return named;
  std::error_code ignored;
  std::vector<fs::path> places = places_around(fs::read_symlink("/proc/self/exe", ignored).parent_path());
  std::ranges::copy(places_around(folder_of_this_code()), std::back_inserter(places));
  places.insert(places.end(),
                {TANDEM_PROVER_INSTALLED, fs::path("/usr") / kHelperFolder / kHelperName, TANDEM_PROVER_BUILT});
  const auto found = std::ranges::find_if(places, [](const fs::path& path) { return access(path.c_str(), X_OK) == 0; });
  return found == places.end() ? "" : found->string();
}

std::chrono::seconds silence_limit() {
  const char* set = std::getenv("TANDEM_PROVER_SILENCE_S");
  const int seconds = set ? std::atoi(set) : 0;
  return std::chrono::seconds(seconds > 0 ? seconds : 60);
}

}  // namespace tandem::proof
