// Drivers that abort, crash or hang at every depth, tried by the real helper.
#include "engine/device/proof/prover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/device/proof/compiled_files.h"
#include "tests/engine/device/proof/broken_drivers.h"
#include "tests/support/requirements.h"

namespace tandem::proof {
namespace {

using ::tandem::testing::BrokenDrivers;
using ::tandem::testing::Variables;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ProverTest : public ::testing::Test {
 protected:
  void SetUp() override { drivers_.set_up(variables_); }

  Verdict tried(std::chrono::seconds silence = std::chrono::seconds(120)) {
    return try_out(Api::opencl, manifests(Api::opencl),
                   {::tandem::testing::prove_program(), drivers_.path("left"), silence});
  }

  BrokenDrivers drivers_;
  Variables variables_;
};

// A helper that reports what a helper on a machine with a card reports.
TEST_F(ProverTest, what_a_helper_has_seen_of_a_card_is_kept_with_what_it_lacks) {
  const std::string helper = drivers_.write("helper", R"(#!/bin/sh
echo '{"device": {"name": "H", "driver": "1", "gpu": true, "uuid": "0a", "pci": "0000:65:00.0", "discrete": true}}'
echo '{"listed": true}'
echo 'a driver that writes where it should not'
echo '{"lacks": 7}'
echo '{"opens": 0}'
echo '{"step": "dot products"}'
echo '{"lacks": "dot products", "why": "they do not compile"}'
echo '{"lacks": "build the probe", "why": "this cannot be spared"}'
echo '{"seen": {"shares_memory": true, "policies": 5, "compute_units": 132, "look_seconds": 0.00004}}'
echo '{"through": true}'
)");
  std::filesystem::permissions(helper, std::filesystem::perms::owner_all);
  const Verdict verdict = try_out(Api::opencl, {}, {helper, drivers_.path("left"), std::chrono::seconds(120)});
  ASSERT_EQ(verdict.devices.size(), 1u);
  const DeviceVerdict& card = verdict.devices[0];
  EXPECT_EQ(card.identity, (Identity{"H", "1", true, {"0a", "0000:65:00.0"}, true}));
  EXPECT_EQ(card.seen, (Seen{true, 5, 132, 40e-6}));
  EXPECT_EQ(card.problem, "");
  EXPECT_EQ(card.spared, (std::map<std::string, std::string>{{"dot products", "they do not compile"}}));
}

// A helper that dies at one step of opening a PoCL device, unless that step is spared.
class ProverOfPocl : public ProverTest {
 protected:
  Verdict tried_with_kept_files(const std::string& step) {
    const std::string helper = drivers_.write("helper", R"(#!/bin/sh
echo '{"device": {"name": "C", "driver": "Portable Computing Language 6.0", "gpu": true, "uuid": "", "pci": "", "discrete": false}}'
echo '{"listed": true}'
echo '{"opens": 0}'
case $3 in *')" + step + R"('*) echo '{"through": true}'; exit 0 ;; esac
echo '{"step": ")" + step + R"("}'
kill -ABRT $$
)");
    std::filesystem::permissions(helper, std::filesystem::perms::owner_all);
    std::filesystem::create_directories(drivers_.path("kcache"));
    drivers_.write("kcache/program.bc", "what PoCL had compiled");
    CompiledFiles kept("", drivers_.path("kcache"));
    return try_out(Api::opencl, {}, {helper, drivers_.path("left"), std::chrono::seconds(120), &kept});
  }
  bool kept_files_stay() const { return std::filesystem::exists(drivers_.path("kcache/program.bc")); }
};

TEST_F(ProverOfPocl, that_dies_of_assembly_keeps_its_compiled_files) {
  const Verdict verdict = tried_with_kept_files("kept assembly");
  ASSERT_EQ(verdict.devices.size(), 1u);
  EXPECT_EQ(verdict.devices[0].problem, "");
  EXPECT_TRUE(verdict.devices[0].spared.contains("kept assembly"));
  EXPECT_TRUE(kept_files_stay());
}

TEST_F(ProverOfPocl, that_dies_of_assembly_is_usable_where_nothing_can_be_written) {
  variables_.set("XDG_CACHE_HOME", "/proc/no/such/folder");
  const Verdict verdict = tried_with_kept_files("kept assembly");
  ASSERT_EQ(verdict.devices.size(), 1u);
  EXPECT_EQ(verdict.devices[0].problem, "");
  EXPECT_TRUE(verdict.devices[0].spared.contains("kept assembly"));
}

TEST_F(ProverOfPocl, that_dies_of_anything_else_begins_without_its_compiled_files) {
  const Verdict verdict = tried_with_kept_files("gates");
  ASSERT_EQ(verdict.devices.size(), 1u);
  EXPECT_TRUE(verdict.devices[0].spared.contains("gates"));
  EXPECT_FALSE(kept_files_stay());
}

// Tests with the installed OpenCL drivers. Without one there is nothing to test.
class ProverOnRealDrivers : public ProverTest {
 protected:
  void SetUp() override {
    if (!drivers_.any_installed()) SKIP_FOR_WANT_OF(opencl, "no OpenCL driver is installed");
    ProverTest::SetUp();
    drivers_.add_installed();
  }
  // Whether the device has kernels with inline assembly. They exist for AVX2 and AVX-512. PoCL accepts them; other
  // drivers may not.
  static bool assembles(const DeviceVerdict& device) {
#if defined(__x86_64__)
    return device.identity.driver.starts_with("Portable Computing Language") && __builtin_cpu_supports("avx2");
#else
    return false;
#endif
  }
};

TEST_F(ProverTest, a_driver_that_dies_when_asked_for_its_devices_is_left_out_with_the_way_it_died) {
  drivers_.add_fake();
  const std::pair<const char*, const char*> ends[] = {
      {"abort", "SIGABRT"}, {"crash", "SIGSEGV"}, {"exit", "ended with status 3"}};
  for (const auto& [what, how] : ends) {
    variables_.set("TANDEM_FAKE_DRIVER", what);
    const Verdict verdict = tried();
    ASSERT_EQ(verdict.drivers.size(), 1u) << what;
    EXPECT_THAT(verdict.drivers[0].manifest, HasSubstr("fake.icd"));
    EXPECT_THAT(verdict.drivers[0].problem, HasSubstr(how));
    EXPECT_THAT(verdict.drivers[0].problem, HasSubstr(std::string("fake driver: ") + what)) << "its last words";
    EXPECT_EQ(verdict.wanting, "");
    EXPECT_THAT(verdict.devices, IsEmpty());
  }
}

TEST_F(ProverTest, a_driver_that_hangs_is_left_out_after_the_time_it_is_given) {
  drivers_.add_fake();
  variables_.set("TANDEM_FAKE_DRIVER", "hang");
  const Verdict verdict = tried(std::chrono::seconds(2));
  ASSERT_EQ(verdict.drivers.size(), 1u);
  EXPECT_THAT(verdict.drivers[0].problem, HasSubstr("gave no sign for 2 s"));
}

TEST_F(ProverTest, a_vulkan_driver_that_dies_when_asked_for_its_devices_is_left_out) {
  const std::string manifest = drivers_.vulkan_fake();
  for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) variables_.set(name, manifest);
  variables_.set("TANDEM_FAKE_DRIVER", "abort");
  const Verdict verdict =
      try_out(Api::vulkan, manifests(Api::vulkan),
              {::tandem::testing::prove_program(), drivers_.path("left"), std::chrono::seconds(60)});
  ASSERT_EQ(verdict.drivers.size(), 1u);
  EXPECT_EQ(verdict.drivers[0].manifest, manifest);
  EXPECT_THAT(verdict.drivers[0].problem, HasSubstr("SIGABRT"));
}

// Which driver it is shows only with lists of some of them, and those need a folder.
TEST_F(ProverTest, drivers_of_which_one_dies_are_not_loaded_where_no_list_of_them_can_be_written) {
  drivers_.add_fake();
  variables_.set("TANDEM_FAKE_DRIVER", "abort");
  const std::string no_folder = drivers_.write("file", "") + "/left";
  const Verdict verdict = try_out(Api::opencl, manifests(Api::opencl),
                                  {::tandem::testing::prove_program(), no_folder, std::chrono::seconds(120)});
  EXPECT_TRUE(verdict.tried);
  EXPECT_FALSE(verdict.may_load);
  EXPECT_THAT(verdict.devices, IsEmpty());
  EXPECT_THAT(verdict.wanting, HasSubstr("SIGABRT"));
  EXPECT_THAT(verdict.remedy, HasSubstr("TMPDIR"));
}

TEST_F(ProverTest, a_driver_without_devices_is_no_problem) {
  drivers_.add_fake();
  const Verdict verdict = tried();
  EXPECT_TRUE(verdict.tried);
  EXPECT_THAT(verdict.drivers, IsEmpty());
  EXPECT_THAT(verdict.devices, IsEmpty());
}

TEST_F(ProverOnRealDrivers, the_devices_of_other_drivers_are_opened_beside_one_that_dies) {
  drivers_.add_fake();
  variables_.set("TANDEM_FAKE_DRIVER", "abort");
  const Verdict verdict = tried();
  ASSERT_EQ(verdict.drivers.size(), 1u);
  EXPECT_FALSE(verdict.manifests.empty());
  ASSERT_FALSE(verdict.devices.empty());
  EXPECT_EQ(verdict.devices[0].problem, "");
  EXPECT_FALSE(verdict.devices[0].identity.name.empty());
}

TEST_F(ProverOnRealDrivers, a_compiler_that_aborts_on_prefetch_is_spared_it_and_its_device_is_usable) {
  variables_.set("LD_PRELOAD", ::tandem::testing::fake_calls());
  variables_.set("TANDEM_FAKE_BUILD", "HAS_PREFETCH");
  const Verdict verdict = tried();
  ASSERT_FALSE(verdict.devices.empty());
  const DeviceVerdict& device = verdict.devices[0];
  EXPECT_EQ(device.problem, "");
  ASSERT_TRUE(device.spared.contains("prefetch"));
  EXPECT_THAT(device.spared.at("prefetch"), HasSubstr("SIGABRT"));
  EXPECT_THAT(device.spared.at("prefetch"), HasSubstr("Unexpected intrinsic"));
  // PoCL 5.0 and 6.0 die without any fake call when they must return compiled assembly.
  EXPECT_EQ(device.spared.size() - device.spared.count("kept assembly"), 1u);
  EXPECT_EQ(verdict.wanting, "");
}

TEST_F(ProverOnRealDrivers, a_compiler_that_aborts_on_everything_makes_its_device_unusable) {
  variables_.set("LD_PRELOAD", ::tandem::testing::fake_calls());
  variables_.set("TANDEM_FAKE_BUILD", "-cl-std");
  const Verdict verdict = tried();
  ASSERT_FALSE(verdict.devices.empty());
  EXPECT_THAT(verdict.devices[0].problem, HasSubstr("SIGABRT"));
  EXPECT_THAT(verdict.devices[0].problem, HasSubstr("build the probe"));
}

TEST_F(ProverOnRealDrivers, a_crash_while_sharing_memory_leaves_a_device_that_copies) {
  variables_.set("LD_PRELOAD", ::tandem::testing::fake_calls());
  variables_.set("TANDEM_FAKE_MAP", "1");
  const Verdict verdict = tried();
  ASSERT_FALSE(verdict.devices.empty());
  EXPECT_EQ(verdict.devices[0].problem, "");
  ASSERT_TRUE(verdict.devices[0].spared.contains("zero copy"));
  EXPECT_THAT(verdict.devices[0].spared.at("zero copy"), HasSubstr("SIGSEGV"));
}

// PoCL 5 and 6 always die of programs with inline assembly.
TEST_F(ProverOnRealDrivers, a_driver_that_dies_when_it_is_asked_for_compiled_programs_is_asked_for_none) {
  variables_.set("LD_PRELOAD", ::tandem::testing::fake_calls());
  for (const auto& [text, step] : {std::pair{"probe_increment", "kept programs"}, {"__asm__", "kept assembly"}}) {
    variables_.set("TANDEM_FAKE_KEPT", text);
    const Verdict verdict = tried();
    ASSERT_FALSE(verdict.devices.empty());
    const DeviceVerdict& device = verdict.devices[0];
    EXPECT_EQ(device.problem, "");
    if (step == std::string("kept assembly") && !assembles(device)) continue;
    ASSERT_TRUE(device.spared.contains(step)) << step;
    EXPECT_THAT(device.spared.at(step), HasSubstr("SIGABRT"));
    for (const auto& [spared, why] : device.spared) EXPECT_THAT(spared, AnyOf(step, "kept assembly")) << why;
  }
}

TEST_F(ProverOnRealDrivers, a_device_that_ends_loops_early_is_unusable_because_it_would_compute_wrong_values) {
  variables_.set("LD_PRELOAD", ::tandem::testing::fake_calls());
  variables_.set("TANDEM_FAKE_COUNT", "65535");
  const Verdict verdict = tried();
  ASSERT_FALSE(verdict.devices.empty());
  EXPECT_THAT(verdict.devices[0].problem, HasSubstr("ends the loops of a kernel after 65535 iterations"));
  EXPECT_EQ(verdict.wanting, "");
}

TEST_F(ProverOnRealDrivers, a_device_that_hangs_when_it_is_opened_is_unusable) {
  variables_.set("LD_PRELOAD", ::tandem::testing::fake_calls());
  variables_.set("TANDEM_FAKE_CONTEXT", "hang");
  const Verdict verdict = tried(std::chrono::seconds(10));
  ASSERT_FALSE(verdict.devices.empty());
  EXPECT_THAT(verdict.devices[0].problem, HasSubstr("gave no sign for 10 s"));
  EXPECT_EQ(verdict.wanting, "");
}

}  // namespace
}  // namespace tandem::proof
