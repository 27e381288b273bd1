// Drivers that crash, abort or hang, beside the installed ones. Loaders are pointed to folders with the manifests.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/proof/driver_files.h"
#include "tests/support/scratch_folder.h"

namespace tandem::testing {

std::string fake_driver();  // fake_driver.c as a library
std::string fake_calls();   // fake_calls.c
std::string prove_program();
std::string tandem_program_path();

// Sets environment variables, and restores them at its end.
class Variables {
 public:
  Variables() = default;
  ~Variables() {
    for (const auto& [name, before] : before_)
      before ? setenv(name.c_str(), before->c_str(), 1) : unsetenv(name.c_str());
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;
  void set(const std::string& name, const std::string& value) {
    const char* before = std::getenv(name.c_str());
    before_.emplace(name, before ? std::optional<std::string>(before) : std::nullopt);
    setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

// A scratch folder with manifests of the installed OpenCL drivers and of the fake one, and an empty cache.
class BrokenDrivers {
 public:
  BrokenDrivers() {
    std::filesystem::create_directories(folder_ / "vendors");
    for (const std::string& one : proof::manifests(proof::Api::opencl))
      if (std::filesystem::path(one).extension() == ".icd") installed_.push_back(one);
  }
  BrokenDrivers(const BrokenDrivers&) = delete;
  BrokenDrivers& operator=(const BrokenDrivers&) = delete;

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  bool any_installed() const { return !installed_.empty() && std::filesystem::exists(installed_.front()); }
  void add_installed() {
    for (const std::string& one : installed_)
      std::filesystem::copy_file(one, folder_ / "vendors" / std::filesystem::path(one).filename());
  }
  void add_fake() { std::ofstream(folder_ / "vendors" / "fake.icd") << fake_driver() << "\n"; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  std::string vulkan_fake() const {
    return write("fake.json", R"({"file_format_version": "1.0.0", "ICD": {"api_version": "1.2.0", "library_path": ")" +
                                  fake_driver() + "\"}}");
  }

  // OpenCL sees only this folder, and Vulkan sees no driver. Children are programs of this build.
  void set_up(Variables& variables) const {
    variables.set("OCL_ICD_VENDORS", path("vendors"));
    variables.set("OCL_ICD_FILENAMES", "");
    for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) variables.set(name, "/nonexistent.json");
    variables.set("XDG_CACHE_HOME", path("cache"));
    variables.set("TANDEM_PROVER", prove_program());
    // A preloaded library also comes before the sanitizer's library. And a driver's crash must end the child as it does
    // without a sanitizer.
    const auto add = [&](const char* name, const std::string& more) {
      const char* given = std::getenv(name);
      variables.set(name, std::string(given ? given : "") + ":handle_segv=0:handle_sigbus=0" + more);
    };
    add("ASAN_OPTIONS", ":verify_asan_link_order=0:detect_leaks=0");
    add("TSAN_OPTIONS", "");
  }

 private:
  const testing::ScratchFolder scratch_;
  const std::filesystem::path folder_ = scratch_.path();
  std::vector<std::string> installed_;
};

}  // namespace tandem::testing
