// The abilities that must be proven at start, for each driver. A test that needs an ability skips without a proof. So a
// proof that fails by mistake would silently leave out all of those tests. Here it is a failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/pair_self_test.h"
#include "engine/device/registry.h"
#include "sync/affinity.h"
#include "sync/error.h"
#include "sync/waiter.h"
#include "tests/engine/device/every_device.h"
#include "tests/support/requirements.h"

namespace tandem::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// The driver has one core of two or more.
struct Proven {
  const char* driver;  // the beginning of DeviceInfo::driver
  KernelFamily family;
  bool zero_copy, fused_fma;
  std::map<sync::Policy, std::string> refused = {};  // policies that fail, with a part of the reason; all others pass
  std::map<sync::Policy, std::string> closed =
      {};  // policies that pass but that no run can use, with a part of the reason
};
const Proven kTable[] = {
    // Debian 12 has PoCL 3.1 and lavapipe of Mesa 22.3.6, Debian 13 PoCL 6.0 and lavapipe of Mesa 25.0.7.
    {"Portable Computing Language", KernelFamily::simd, true, true},
    {"llvmpipe Mesa 22.",
     KernelFamily::simd,
     true,
     false,
     {{sync::Policy::doorbell, "after 65535 iterations"}}},  // the loop budget
    {"llvmpipe Mesa 25.", KernelFamily::simd, true, false, {{sync::Policy::doorbell, "has no shader that stays"}}},
    // These drivers are fetched by ./dev drivers. Intel's has as many workers as it has cores.
    {"Intel(R) OpenCL", KernelFamily::simd, true, true, {}, {{sync::Policy::doorbell, "single worker"}}},
    {"SwiftShader", KernelFamily::simd, true, false, {{sync::Policy::doorbell, "has no shader that stays"}}},
    {"emulated", KernelFamily::none, true, true},
    {"built in", KernelFamily::none, true, true},
};

// Devices that must be left out, with a part of the reason. rusticl offers Mesa's software renderer to OpenCL.
struct Unfit {
  const char *interface, *device, *reason;
};
const Unfit kUnfit[] = {{"opencl", "llvmpipe", "ends the loops of a kernel after 65535 iterations"}};

const Unfit* unfit_row_of(const std::string& id, const std::string& name) {
  for (const Unfit& row : kUnfit)
    if (id.starts_with(row.interface) && name.starts_with(row.device)) return &row;
  return nullptr;
}

const Proven* row_of(const std::string& driver) {
  for (const Proven& row : kTable)
    if (driver.starts_with(row.driver)) return &row;
  return nullptr;
}

class ProvenOf : public ::testing::TestWithParam<std::string> {
 protected:
  static DeviceOptions options() {
    DeviceOptions options;
    options.program_folder = gpu::default_cache_folder();
    options.gpu_cores = {0};
    configure_drivers(options);
    return options;
  }
  void SetUp() override {
    if (usable_cores().size() < 2) GTEST_SKIP() << "skipped: on one core nothing may spin, and no policy is proven";
    const DeviceOptions one_core = options();
    for (const std::string& id : available_devices())
      if (id.starts_with(GetParam())) devices_.push_back(open_device(id, one_core));
    for (UnusableDevice& one : unusable_devices())
      if (one.id.starts_with(GetParam())) unusable_.push_back(std::move(one));
    if (devices_.empty() && !in_table(unusable_)) SKIP_OR_FAIL(test::needs_of(GetParam()), "no device " + GetParam());
  }
  static bool in_table(const std::vector<UnusableDevice>& unusable) {
    return std::ranges::any_of(unusable,
                               [](const UnusableDevice& one) { return unfit_row_of(one.id, one.name) != nullptr; });
  }
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<UnusableDevice> unusable_;
};

TEST_P(ProvenOf, every_device_of_a_driver_in_the_table_is_what_the_table_says) {
  std::string unknown;
  for (const auto& device : devices_) {
    const DeviceInfo& info = device->info();
    SCOPED_TRACE(info.id + ", " + info.driver);
    const Proven* row = row_of(info.driver);
    if (row == nullptr) {
      unknown += (unknown.empty() ? "" : ", ") + info.driver;
      continue;
    }
    EXPECT_EQ(info.family, row->family);
    EXPECT_EQ(info.zero_copy, row->zero_copy) << info.zero_copy_note;
    EXPECT_EQ(info.fused_fma, row->fused_fma);
    std::vector<sync::Policy> tested;
    for (const PolicyTest& test : info.policies) {
      const auto refused = row->refused.find(test.policy);
      EXPECT_EQ(test.passed, refused == row->refused.end()) << name_of(test.policy) << ": " << test.reason;
      if (refused != row->refused.end()) {
        EXPECT_THAT(test.reason, HasSubstr(refused->second));
      }
      if (const auto closed = row->closed.find(test.policy); closed != row->closed.end()) {
        EXPECT_THAT(test.reason, AllOf(HasSubstr("runs cannot wait by it"), HasSubstr(closed->second)));
      }
      tested.push_back(test.policy);
    }
    EXPECT_THAT(sync::kPolicies, ::testing::IsSubsetOf(tested));
  }
  for (const auto& device : devices_)
    EXPECT_EQ(unfit_row_of(device->info().id, device->info().name), nullptr) << device->info().driver << " is used";
  for (const UnusableDevice& one : unusable_) {
    const Unfit* row = unfit_row_of(one.id, one.name);
    if (row == nullptr)
      unknown += (unknown.empty() ? "" : ", ") + one.name;
    else
      EXPECT_THAT(one.reason, HasSubstr(row->reason));
  }
  if (!unknown.empty()) GTEST_SKIP() << "skipped: the table does not say what must be proven of " << unknown;
}

TEST_P(ProvenOf, every_policy_in_the_table_opens_its_device_and_no_other_does) {
  for (const UnusableDevice& one : unusable_) {
    DeviceOptions any = options();
    for (const sync::Policy policy : sync::kPolicies) {
      any.sync_policy = policy;
      EXPECT_THROW(open_device(one.id, any), Error) << one.id << ", " << name_of(policy);
    }
  }
  const std::vector<std::unique_ptr<Device>> devices = std::move(devices_);
  for (const auto& device : devices) {
    const Proven* row = row_of(device->info().driver);
    if (row == nullptr) GTEST_SKIP() << "skipped: the table does not know " << device->info().driver;
    for (const sync::Policy policy : sync::kPolicies) {
      SCOPED_TRACE(device->info().id + ", " + name_of(policy));
      DeviceOptions with_policy = options();
      with_policy.sync_policy = policy;
      const auto open = [&] { require_policy(open_device(device->info().id, with_policy)->info(), policy); };
      const auto closed = row->closed.find(policy);
      if (row->refused.contains(policy)) {
        EXPECT_THROW(open(), Error);
      } else if (closed != row->closed.end()) {
        EXPECT_THAT(open, ThrowsMessage<Error>(HasSubstr(closed->second)));
      } else {
        EXPECT_NO_THROW(open());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ProvenOf, ::testing::ValuesIn(test::kinds_of_devices()),
                         [](const auto& info) { return info.param; });

// Plans combine devices that see each other's results.
TEST(Proven, devices_in_the_table_can_work_on_one_plan) {
  DeviceOptions options;
  options.program_folder = gpu::default_cache_folder();
  options.gpu_cores = {0};
  configure_drivers(options);
  std::vector<std::unique_ptr<Device>> devices;
  for (const std::string& id : available_devices()) {
    devices.push_back(open_device(id, options));
    if (row_of(devices.back()->info().driver) == nullptr) devices.pop_back();
  }
  EXPECT_GE(devices.size(), 2u) << "the emulated NPU and the host are always there";
  sync::Pool pool;
  for (size_t a = 0; a < devices.size(); ++a) {
    for (size_t b = a + 1; b < devices.size(); ++b) {
      for (const PairTest& test : test_pair(*devices[a], *devices[b], pool))
        EXPECT_TRUE(test.passed) << test.from << " to " << test.to << ": " << test.reason;
    }
  }
}

}  // namespace
}  // namespace tandem::testing
