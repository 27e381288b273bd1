#include "tests/engine/device/on_target.h"

#include <map>
#include <string>

#include "tests/support/requirements.h"

namespace tandem::testing {
namespace {

// Closed when the last test has ended: later a driver may have taken down its own.
class SharedBenches : public ::testing::Environment {
 public:
  std::map<std::string, Bench> of_targets;
  void TearDown() override { of_targets.clear(); }
};

// Owned by GoogleTest.
SharedBenches* const kSharedBenches =
    static_cast<SharedBenches*>(::testing::AddGlobalTestEnvironment(new SharedBenches));

}  // namespace

Bench& shared_bench(const Target& target) { return kSharedBenches->of_targets[target.name]; }
void close_shared_bench(const Target& target) { kSharedBenches->of_targets.erase(target.name); }

void OnTarget::SetUp() {
  if (const std::string reason = missing(GetParam()); !reason.empty())
    SKIP_OR_FAIL(test::needs_of(GetParam().id), reason);
  if (!bench_.device) bench_.device = open_target(GetParam(), bench_.messages);
}

void OnTarget::TearDown() {
  forget();
  bench_.report_messages();
  if (HasFailure()) close_shared_bench(GetParam());  // it may hang or be damaged
}

void OnTarget::forget() {
  for (const CaseMemory& memory : memories_)
    for (sync::Slot* slot : memory.slots()) bench_.pool.release(*slot);
  memories_.clear();
}

}  // namespace tandem::testing
