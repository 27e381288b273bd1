#include "tests/engine/device/on_target.h"

#include "tests/engine/device/driver_faults.h"
#include "tests/engine/device/open_once.h"
#include "tests/support/requirements.h"

namespace tandem::testing {

OnTarget::Shared& OnTarget::shared_bench() {
  auto& benches = test::kSharedByTests<Shared>->all;
  const auto found = benches.find(GetParam().name);
  if (found != benches.end() && found->second.has_failed) benches.erase(found);
  return benches[GetParam().name];
}

void OnTarget::SetUp() {
  if (const std::string reason = missing(GetParam()); !reason.empty())
    SKIP_OR_FAIL(test::needs_of(GetParam().id), reason);
  SKIP_WHERE_MISCOMPILED(GetParam().id, GetParam().family);
  if (!bench_.device) bench_.device = open_target(GetParam(), bench_.messages);
}

void OnTarget::TearDown() {
  forget();
  bench_.report_messages();
  shared_.has_failed = HasFailure();
}

void OnTarget::forget() {
  for (const CaseMemory& memory : memories_)
    for (sync::Slot* slot : memory.slots()) bench_.pool.release(*slot);
  for (sync::Slot* slot : slots_) bench_.pool.release(*slot);
  memories_.clear();
  slots_.clear();
}

}  // namespace tandem::testing
