// `tandem devices`: its report, required devices and named devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/device/registry.h"
#include "tests/engine/app/program.h"
#include "tests/support/requirements.h"

namespace tandem {
namespace {

using ::tandem::testing::Outcome;
using ::tandem::testing::tandem_program;
using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST(DevicesCommand, reports_every_available_device_as_json) {
  Outcome outcome = tandem_program({"devices", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  nlohmann::json report = nlohmann::json::parse(outcome.out);
  std::vector<std::string> ids;
  for (const auto& device : report["devices"]) {
    ids.push_back(device["id"]);
    EXPECT_FALSE(device.contains("error")) << device.dump();
    for (const char* key :
         {"name", "driver", "kind", "memory_bytes", "zero_copy", "zero_copy_note", "fused_fma", "policies"}) {
      EXPECT_TRUE(device.contains(key)) << key;
    }
    EXPECT_EQ(device["policies"].size(), 6u) << device["id"];
    for (const auto& policy : device["policies"]) {
      EXPECT_TRUE(policy["passed"].get<bool>() || policy["reason"] != "") << device["id"] << " " << policy["policy"];
    }
  }
  EXPECT_EQ(ids, available_devices());
  EXPECT_EQ(report["pairs"].size(), ids.size() * (ids.size() - 1)) << "every two devices, both ways";
  for (const auto& pair : report["pairs"]) EXPECT_TRUE(pair["passed"].get<bool>()) << pair.dump();
  EXPECT_FALSE(report["layout"]["gpu_cores"].empty());
}

TEST(DevicesCommand, names_one_device_when_asked_for_it) {
  Outcome outcome = tandem_program({"devices", "--device", "host"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("host  "));
  EXPECT_THAT(outcome.out, HasSubstr("zero copy"));
}

TEST(DevicesCommand, names_the_kernels_of_a_gpu_where_more_is_asked_for) {
  const auto available = available_devices();
  if (std::ranges::count(available, "opencl:0") == 0) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
  const Outcome plain = tandem_program({"devices", "--device", "opencl:0"});
  const Outcome more = tandem_program({"devices", "--device", "opencl:0", "-v"});
  EXPECT_THAT(plain.out, ::testing::Not(HasSubstr("  kernels ")));
  EXPECT_THAT(more.out, HasSubstr("  kernels    8-bit activations: "));
  const Outcome asked = tandem_program({"devices", "--device", "opencl:0", "--json"});
  EXPECT_FALSE(nlohmann::json::parse(asked.out).at("devices").at(0).at("kernels").empty());
}

TEST(DevicesCommand, is_content_with_a_required_device_that_it_was_not_asked_to_look_at) {
  const auto available = available_devices();
  if (std::ranges::count(available, "opencl:0") == 0) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
  const char* before = std::getenv("REQUIRE_OPENCL");
  const std::string kept = before ? before : "";
  setenv("REQUIRE_OPENCL", "1", 1);
  Outcome outcome = tandem_program({"devices", "--device", "host"});
  if (kept.empty()) unsetenv("REQUIRE_OPENCL");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST(DevicesCommand, fails_for_a_named_device_that_is_not_there) {
  Outcome outcome = tandem_program({"devices", "--device", "opencl:99"});
  EXPECT_EQ(outcome.status, 1);
  // With REQUIRE_OPENCL=1 the answer may only say that the required device is missing.
  EXPECT_THAT(outcome.out + outcome.err, AnyOf(HasSubstr("cannot be used"), HasSubstr("REQUIRE_OPENCL")));
}

// The loader reads both variables with its list of drivers again for every instance.
class NoVulkanDriver {
 public:
  NoVulkanDriver() {
    for (const char* list : kLists) {
      const char* before = std::getenv(list);
      kept_.emplace_back(before ? before : "");
      setenv(list, "/nonexistent.json", 1);
    }
  }
  ~NoVulkanDriver() {
    for (size_t i = 0; i < kept_.size(); ++i) {
      unsetenv(kLists[i]);
      if (!kept_[i].empty()) setenv(kLists[i], kept_[i].c_str(), 1);
    }
  }

 private:
  static constexpr const char* kLists[] = {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"};
  std::vector<std::string> kept_;
};

TEST(DevicesCommand, fails_when_a_required_device_is_missing) {
  const NoVulkanDriver missing;
  const char* before = std::getenv("REQUIRE_VULKAN");
  const std::string kept = before ? before : "";
  setenv("REQUIRE_VULKAN", "1", 1);
  Outcome outcome = tandem_program({"devices", "--device", "host"});
  if (kept.empty()) unsetenv("REQUIRE_VULKAN");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("REQUIRE_VULKAN"));
}

}  // namespace
}  // namespace tandem
