#include "engine/device/proof/kept_lists.h"

#include <cstdlib>

namespace tandem::proof {

// Copies the variables that are set; others cannot be cut.
KeptLists::KeptLists() {
  for (const char* name : {"OCL_ICD_FILENAMES", "OPENCL_LAYERS"})
    if (const char* value = std::getenv(name)) before_.emplace_back(name, value);
}

KeptLists::~KeptLists() {
  for (const auto& [name, value] : before_) {
    const char* now = std::getenv(name.c_str());
    if (!now || value != now) setenv(name.c_str(), value.c_str(), 1);
  }
}

}  // namespace tandem::proof
