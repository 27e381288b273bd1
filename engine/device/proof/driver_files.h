// What the loaders of OpenCL and Vulkan would load, found out without loading it.
//
// Contract: manifests() follows the loaders' documented search (OCL_ICD_FILENAMES, OCL_ICD_VENDORS,
// OPENCL_VENDOR_PATH, /etc/OpenCL/vendors; VK_DRIVER_FILES, VK_ICD_FILENAMES, the XDG folders), in the order of names.
// OCL_ICD_FILENAMES names libraries: such an entry is a library in the place of a manifest. fingerprint() changes with
// everything that may change what a driver does at start:
//   the variables that drivers and loaders read;
//   the manifests, the libraries they name, and the files beside these;
//   the kernel's release, and its nodes of GPUs;
//   the system's list of libraries, which the installation of a package rewrites.
// It is read from the file system in well under a millisecond.
// Threads: any, while nobody writes the environment.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/device/proof/verdict.h"

namespace tandem::proof {

using Environment = std::vector<std::pair<std::string, std::string>>;

std::vector<std::string> manifests(Api api);
std::string stamp(const std::string& path);  // a line that changes with the file: its size, times and number
std::string fingerprint(Api api, const std::vector<std::string>& manifests);

// Whether the kernel offers a GPU that may be a card with memory of its own: nodes of NVIDIA's driver, or a render node
// of NVIDIA's, of AMD's, or of Intel's beyond the bus that its processors' own GPUs are on. A few looks at the file
// system, and no driver is loaded: where there is none, nobody need wait for what drivers say. root: in the place of
// "/" (tests).
bool may_have_card(const std::string& root = "");

// Variables that make the loader see these drivers alone. OpenCL's takes a folder: `folder` is made, with copies of
// the manifests and with manifests for libraries. Error when it cannot be.
Environment only(Api api, const std::vector<std::string>& manifests, const std::string& folder);

}  // namespace tandem::proof
