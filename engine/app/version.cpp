#include "engine/app/version.h"

#include <filesystem>

#include "engine/device/host/loops.h"
#include "engine/device/proof/driver_files.h"
#include "engine/lab/machine.h"
#include "packed/loops/act_loops.h"

namespace tandem::app {
namespace {

std::string compiler() {
#if defined(__clang__)
  return std::string("clang ") + __clang_version__;
#else
  return std::string("g++ ") + __VERSION__;
#endif
}

// "pocl.icd, nvidia.icd": the files by which a loader knows its drivers.
std::string drivers_of(proof::Api api) {
  std::string names;
  for (const std::string& path : proof::manifests(api))
    names += (names.empty() ? "" : ", ") + std::filesystem::path(path).filename().string();
  return names.empty() ? "none" : names;
}

std::string or_unknown(const std::string& text) { return text.empty() ? "unknown" : text; }

}  // namespace

std::string version_text() {
  const sync_lab::MachineFacts machine = sync_lab::read_machine_facts();
  return std::string("tandem ") + TANDEM_VERSION + " (commit " + or_unknown(kCommit) + ")\ncompiler:  " + compiler() +
         "\nsystem:    " + or_unknown(machine.system) + "\nprocessor: " + or_unknown(machine.processor) + ", " +
         std::to_string(machine.cores.size()) + " cores; loops: " + to_string(host::best_loops().set) +
         ", 8-bit: " + all_act_loops().front()->name + "\ndrivers:   OpenCL: " + drivers_of(proof::Api::opencl) +
         "; Vulkan: " + drivers_of(proof::Api::vulkan);
}

}  // namespace tandem::app
