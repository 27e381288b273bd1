// Kernels that some drivers compile wrongly (docs/drivers.md). Tests leave them out and give the reason.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "engine/device/registry.h"
#include "tests/support/program_folder.h"

namespace tandem::testing {

// The reason why tests leave out the family on this driver (DeviceInfo::driver), or "".
inline std::string miscompiled_by(std::string_view driver, std::string_view family) {
  constexpr std::string_view kPocl = "Portable Computing Language ";
  if (family != "simt" || !driver.starts_with(kPocl)) return "";
  if (std::atoi(std::string(driver.substr(kPocl.size())).c_str()) < 5) return "";
  return "PoCL 5 and later compile some kernels with barriers wrongly (docs/drivers.md)";
}

// The same for a device by its id, which is opened once in a process. Returns "" if there is no such device.
inline std::string miscompiled_on(const std::string& id, std::string_view family) {
  if (family != "simt" || !id.starts_with("opencl")) return "";
  static std::map<std::string, std::string> drivers;
  const auto [known, is_new] = drivers.try_emplace(id);
  if (is_new && std::ranges::count(available_devices(), id) > 0) {
    DeviceOptions options;
    options.program_folder = test::program_folder();
    known->second = open_device(id, options)->info().driver;
  }
  return miscompiled_by(known->second, family);
}

}  // namespace tandem::testing

// Leaves the test or its SetUp, also if the device is required: the fault is not Tandem's.
#define SKIP_WHERE_MISCOMPILED(id, family)                                                         \
  if (const std::string fault = ::tandem::testing::miscompiled_on((id), (family)); !fault.empty()) \
  GTEST_SKIP() << "skipped: " << fault
