// A driver with several workers. There no pass is one list of programs (engine/device/opencl/list_launcher.h), and
// workers share the work-groups of each kernel. PoCL reads its number of workers once. So each number has a program of
// its own, which sets the number before anything else runs. Other drivers keep their own number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/device/registry.h"
#include "sync/error.h"
#include "tests/engine/run/logits.h"
#include "tests/engine/run/whole_model.h"
#include "tests/support/data.h"

namespace tandem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const int kSet = setenv("POCL_MAX_PTHREAD_COUNT", TANDEM_TEST_WORKERS, 1);

class Workers : public ::testing::TestWithParam<const char*> {};

TEST_P(Workers, share_every_plan_without_changing_a_bit) {
  ASSERT_EQ(kSet, 0);
  if (std::ranges::count(available_devices(), "opencl:0") == 0) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
  for (const char* name : {"first", "second"}) {
    WholeModelOptions options;
    options.devices = {"opencl:0", "npu:0", "host"};
    WholeModel model(repository_data(std::string("mixed-models/") + name + ".gguf"), options);
    const int units = model.first().compute_units;
    if (!model.first().driver.starts_with("Portable Computing Language") && units != std::atoi(GetParam()))
      GTEST_SKIP() << "skipped: " << model.first().driver << " has " << units << " compute units, not " << GetParam();
    ASSERT_EQ(units, std::atoi(GetParam()));  // PoCL uses the number that was set
    const auto ids = some_ids(model.vocabulary(), 180);
    const std::vector<float> expected = model.all_logits("host-only", ids, 180);
    for (const Strategy& strategy : strategies_for_any_model()) {
      SCOPED_TRACE(std::string(name) + " " + strategy.name);
      const std::span<const int32_t> all = ids;
      auto logits = model.all_logits(strategy.name, all.first(177), 100);
      for (size_t at = 177; at < 180; ++at) {
        const auto next = model.run(strategy.name, all.subspan(at, 1), static_cast<int64_t>(at), 1);
        logits.insert(logits.end(), next.begin(), next.end());
      }
      EXPECT_EQ(different_bits(logits, expected), 0u);
    }
  }
}

// A pass is one list of programs on a single worker only. Runs use the doorbell only in that case.
TEST_P(Workers, have_no_doorbell_that_runs_could_wait_by_and_say_so) {
  if (std::ranges::count(available_devices(), "opencl:0") == 0) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
  const std::string units = [] {
    const auto device = open_device("opencl:0", DeviceOptions());
    const std::string count = std::to_string(device->info().compute_units);
    for (const PolicyTest& test : device->info().policies) {
      if (test.policy != sync::Policy::doorbell || !test.passed) continue;
      EXPECT_THAT(test.reason, HasSubstr("but runs cannot wait by it: they need a single worker, and it has " + count));
    }
    return count;
  }();
  ASSERT_NE(units, "1");
  DeviceOptions options;
  options.sync_policy = sync::Policy::doorbell;
  EXPECT_THAT([&] { open_device("opencl:0", options); },
              ThrowsMessage<Error>(AllOf(HasSubstr("need a single worker, and it has " + units),
                                         HasSubstr("--sync knows here: blocking"))));
}

INSTANTIATE_TEST_SUITE_P(Of, Workers, ::testing::Values(TANDEM_TEST_WORKERS),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tandem::testing
