// Finds out which drivers the loaders of OpenCL and Vulkan would load, without loading them.
//
// Contract: manifests() follows the loaders' documented search, in the order of names. It reads OCL_ICD_FILENAMES,
// OCL_ICD_VENDORS, OPENCL_VENDOR_PATH and /etc/OpenCL/vendors for OpenCL. It reads VK_DRIVER_FILES, VK_ICD_FILENAMES,
// VK_ADD_DRIVER_FILES and the XDG folders for Vulkan. An entry of OCL_ICD_FILENAMES is a library and stands in the
// result instead of a manifest.
//   fingerprint() changes with everything that may change what a driver does at start. It covers:
//   - the variables that drivers and loaders read.
//   - the manifests, the libraries that they name, and the folders of these libraries.
//   - the kernel's release, and its device nodes of GPUs.
//   - which parts of /proc and /sys are there, because containers lack some.
//   - the system's list of libraries, which the installation of a package rewrites.
//   All is read from the file system in well under a millisecond. Threads: any, while no thread writes the environment.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/device/proof/verdict.h"

namespace tandem::proof {

using Environment = std::vector<std::pair<std::string, std::string>>;

std::vector<std::string> manifests(Api api);
std::string stamp(const std::string& path);  // one line: path, size, time and inode number of the file
// root: stands in front of the paths of /proc and /sys (tests).
std::string fingerprint(Api api, const std::vector<std::string>& manifests, const std::string& root = "");

// Whether the kernel offers a GPU that may be a card with memory of its own. It looks for nodes of NVIDIA's driver, for
// the node of a virtual machine's GPU, and for render nodes of NVIDIA and AMD. Intel's render nodes count only beyond
// the bus of its integrated GPUs. The function reads a few files and loads no driver. If there is no card, the caller
// need not wait for the drivers' answers. root: replaces "/" (tests).
bool may_have_card(const std::string& root = "");

// Variables that make the loader see these drivers alone. OpenCL's variable names a folder: `folder` is created, with
// copies of the manifests and with new manifests for libraries. Error when it cannot be written.
Environment only(Api api, const std::vector<std::string>& manifests, const std::string& folder);

}  // namespace tandem::proof
