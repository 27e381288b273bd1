#include "engine/device/proof/driver_files.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>

#include "sync/error.h"
#include "sync/json_text.h"
#include "sync/whole_file.h"

extern char** environ;

namespace tandem::proof {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}
// An empty variable counts as not set.
std::string variable_or(const char* name, const std::string& otherwise) {
  const std::string value = variable(name);
  return value.empty() ? otherwise : value;
}

// The parts between colons; empty parts are dropped.
std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin) parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Appends the files with this extension to `found`, in the order of their names.
void add_files(const fs::path& folder, const char* extension, std::vector<std::string>& found) {
  std::error_code ignored;
  std::vector<std::string> here;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == extension) here.push_back(entry.path().string());
  }
  std::ranges::sort(here);
  found.insert(found.end(), here.begin(), here.end());
}

// OCL_ICD_FILENAMES names libraries without manifests. Khronos's loader loads them first.
std::vector<std::string> opencl_manifests() {
  std::vector<std::string> found = split(variable("OCL_ICD_FILENAMES"));
  const std::string place = variable_or("OCL_ICD_VENDORS", variable_or("OPENCL_VENDOR_PATH", "/etc/OpenCL/vendors"));
  std::error_code ignored;
  if (fs::is_directory(place, ignored)) {
    add_files(place, ".icd", found);
  } else {
    found.push_back(place);  // the place is one manifest or library, and the loader judges it
  }
  return found;
}

// VK_DRIVER_FILES (older name: VK_ICD_FILENAMES) replaces the search in folders; VK_ADD_DRIVER_FILES comes in front
// of either.
std::vector<std::string> vulkan_manifests() {
  const std::string named = variable_or("VK_DRIVER_FILES", variable("VK_ICD_FILENAMES"));
  std::vector<std::string> found = split(variable("VK_ADD_DRIVER_FILES"));
  if (!named.empty()) {
    const std::vector<std::string> files = split(named);
    found.insert(found.end(), files.begin(), files.end());
    return found;
  }
  const std::string home = variable("HOME");
  std::string folders = variable_or("XDG_CONFIG_HOME", home + "/.config") + ":" +
                        variable_or("XDG_CONFIG_DIRS", "/etc/xdg") +
                        ":/etc:" + variable_or("XDG_DATA_HOME", home + "/.local/share") + ":" +
                        variable_or("XDG_DATA_DIRS", "/usr/local/share:/usr/share");
  for (const std::string& folder : split(folders)) add_files(folder + "/vulkan/icd.d", ".json", found);
  return found;
}

std::optional<std::string> content_of(const std::string& path) {
  try {
    return read_file_if_there(path);
  } catch (const Error&) {  // the path is a folder or a device
    return std::nullopt;
  }
}

bool is_library(Api api, const std::string& manifest) { return api == Api::opencl && !manifest.ends_with(".icd"); }

// The library that a manifest names, as the text that the loader opens. "": the manifest is damaged. Vulkan's manifests
// may name a library beside them, by a relative path with a slash. The dynamic linker searches a bare name.
std::string library_of(Api api, const std::string& manifest) {
  if (is_library(api, manifest)) return manifest;
  const std::string content = content_of(manifest).value_or("");
  if (api == Api::opencl) return content.substr(0, content.find_first_of("\r\n"));
  const nlohmann::json json = parse_json(content);
  if (!json.is_object() || !json.contains("ICD") || !json["ICD"].is_object()) return "";
  const auto named = json["ICD"].find("library_path");
  const std::string library = named != json["ICD"].end() && named->is_string() ? named->get<std::string>() : "";
  const bool beside = library.find('/') != std::string::npos && !library.starts_with('/');
  return beside ? (fs::path(manifest).parent_path() / library).string() : library;
}

// Whether loaders, drivers or the dynamic linker read the variable of this entry. Variables that set a driver's number
// of threads do not count, since they do not change what it can do. The lists of the other interface's drivers do not
// count either: this process may have set them itself.
bool read_by_drivers(Api api, std::string_view entry) {
  static constexpr std::string_view kLists[] = {"OCL_ICD_VENDORS=", "OCL_ICD_FILENAMES=", "OPENCL_VENDOR_PATH=",
                                                "VK_DRIVER_FILES=", "VK_ICD_FILENAMES=",  "VK_ADD_DRIVER_FILES="};
  static constexpr std::string_view kSet[] = {
      "POCL_MAX_PTHREAD_COUNT=", "POCL_AFFINITY=", "POCL_SIGFPE_HANDLER=", "LP_NUM_THREADS="};
  static constexpr std::string_view kRead[] = {"OCL_",  "OPENCL_",  "CL_",      "VK_",     "POCL_", "LP_",
                                               "MESA_", "GALLIUM_", "RUSTICL_", "LIBCLC_", "LD_",   "INTEL_",
                                               "CUDA_", "ROCR_",    "HSA_",     "GPU_",    "NEO",   "IGC_",
                                               "RADV_", "ANV_",     "AMD_",     "ZE_",     "DRI_",  "NODEVICE_"};
  const auto begins = [&](std::string_view prefix) { return entry.starts_with(prefix); };
  const bool others_list = std::ranges::any_of(kLists, begins) && entry.starts_with("VK_") != (api == Api::vulkan);
  return !others_list && std::ranges::none_of(kSet, begins) && std::ranges::any_of(kRead, begins);
}

// The device nodes through which kernels offer GPUs. They show a device that was plugged in or passed to a container.
std::string device_nodes() {
  static constexpr std::string_view kNodes[] = {"nvidia", "kfd", "dxg", "mali", "kgsl", "pvr"};
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/dev", ignored)) {
    const std::string name = entry.path().filename().string();
    if (std::ranges::any_of(kNodes, [&](std::string_view prefix) { return name.starts_with(prefix); }))
      found.push_back(name);
  }
  for (const auto& entry : fs::directory_iterator("/dev/dri", ignored))
    found.push_back(entry.path().filename().string());
  std::ranges::sort(found);
  std::string text = "nodes";
  for (const std::string& one : found) text += " " + one;
  return text + "\n";
}

// The parts of the system that drivers ask for cores and memory. PoCL may end a process that lacks one in a container.
std::string seen_of_system(const std::string& root) {
  static constexpr const char* kParts[] = {"/proc/cpuinfo", "/proc/meminfo", "/proc/self", "/sys/devices/system/cpu",
                                           "/sys/devices/system/node"};
  std::string text = "system";
  for (const char* part : kParts)
    if (access((root + part).c_str(), R_OK) == 0) text += std::string(" ") + part;
  return text + "\n";
}

// The PCI address of a device ("0000:03:00.0"): the name of the folder to which the node's link in sysfs leads.
std::string pci_of(const fs::path& device) {
  std::error_code ignored;
  return fs::read_symlink(device, ignored).filename().string();
}

// By PCI vendor: NVIDIA (0x10de), AMD (0x1002), and Intel (0x8086) unless it is on the bus of integrated GPUs.
bool is_node_of_a_card(const fs::path& sysfs) {
  const std::string vendor = content_of((sysfs / "device/vendor").string()).value_or("").substr(0, 6);
  constexpr std::string_view kOwnBusOfIntel = "0000:00:";
  return vendor == "0x10de" || vendor == "0x1002" ||
         (vendor == "0x8086" && !pci_of(sysfs / "device").starts_with(kOwnBusOfIntel));
}

}  // namespace

bool may_have_card(const std::string& root) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root + "/dev", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("nvidia") && name.size() > 6 && (std::isdigit(name[6]) != 0 || name == "nvidiactl"))
      return true;
    if (name == "dxg") return true;  // a GPU of the host that this virtual machine runs on
  }
  for (const auto& entry : fs::directory_iterator(root + "/dev/dri", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("renderD") && is_node_of_a_card(fs::path(root + "/sys/class/drm") / name)) return true;
  }
  return false;
}

std::string stamp(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return path + " absent\n";
  return path + " " + std::to_string(found.st_size) + " " + std::to_string(found.st_mtim.tv_sec) + "." +
         std::to_string(found.st_mtim.tv_nsec) + " " + std::to_string(found.st_ino) + "\n";
}

std::vector<std::string> manifests(Api api) { return api == Api::opencl ? opencl_manifests() : vulkan_manifests(); }

// One line for each thing that counts. The file of the verdict holds this text, and the name of the record holds
// its hash.
std::string fingerprint(Api api, const std::vector<std::string>& manifests, const std::string& root) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry; ++entry) {
    if (read_by_drivers(api, *entry)) variables.emplace_back(*entry);
  }
  std::ranges::sort(variables);
  std::string text = std::string(name_of(api)) + "\n";
  for (const std::string& one : variables) text += one + "\n";
  utsname system{};
  if (uname(&system) == 0) text += std::string(system.release) + "\n";
  text += device_nodes() + seen_of_system(root) + stamp("/etc/ld.so.cache");
  for (const std::string& manifest : manifests) {
    text += stamp(manifest);
    const std::string library = library_of(api, manifest);
    if (library.starts_with('/')) {
      // The folder's stamp changes with the libraries that lie beside this one. A library that is not there has none.
      std::error_code ignored;
      text += stamp(library);
      if (fs::exists(library, ignored)) text += stamp(fs::path(library).parent_path().string());
    } else if (!library.empty()) {
      // The linker searches a bare name in these folders, and also in its list, whose stamp is already above.
      for (const std::string& folder : split(variable("LD_LIBRARY_PATH"))) text += stamp(folder + "/" + library);
    }
  }
  return text;
}

// Vulkan's variables take lists of manifests. OpenCL's loader reads a folder in the order of names. So manifests are
// copied there under rising numbers, and each library gets a manifest with its path.
Environment only(Api api, const std::vector<std::string>& manifests, const std::string& folder) {
  if (api == Api::vulkan) {
    std::string list;
    for (const std::string& manifest : manifests) list += (list.empty() ? "" : ":") + manifest;
    if (list.empty()) list = "/nonexistent";  // the loader would ignore an empty list
    return {{"VK_DRIVER_FILES", list}, {"VK_ICD_FILENAMES", list}, {"VK_ADD_DRIVER_FILES", ""}};
  }
  std::error_code failed;
  fs::remove_all(folder, failed);
  fs::create_directories(folder, failed);
  for (size_t i = 0; i < manifests.size() && !failed; ++i) {
    const std::string number = folder + "/" + std::to_string(1000 + i) + ".icd";  // four digits keep the order
    // A manifest that is a folder or cannot be read names no driver, neither here nor for the loader.
    const auto content = is_library(api, manifests[i]) ? manifests[i] + "\n" : content_of(manifests[i]);
    if (content && !(std::ofstream(number) << *content << std::flush))
      failed = std::make_error_code(std::errc::io_error);
  }
  if (failed) throw Error("the list of usable OpenCL drivers cannot be written: " + failed.message(), folder);
  return {{"OCL_ICD_VENDORS", folder}, {"OCL_ICD_FILENAMES", ""}};
}

}  // namespace tandem::proof
