#include "engine/device/device.h"

#include "engine/device/device_traits.h"

namespace tandem {

void launch_from(Device& device, const PlannedLaunch& planned, uint32_t base) {
  std::vector<sync::WaitFor> waits = planned.waits;
  for (sync::WaitFor& wait : waits) wait.epoch += base;
  sync::Signal signal = planned.signal;
  signal.epoch += base;
  device.launch(*planned.program, waits, signal);
}

std::unique_ptr<LaunchSequence> Device::sequence(std::vector<PlannedLaunch> launches) {
  return std::make_unique<LaunchSequence>(std::move(launches));
}

void Device::launch_all(const LaunchSequence& sequence, uint32_t base) {
  batch(true);
  for (const PlannedLaunch& planned : sequence.launches()) launch_from(*this, planned, base);
  batch(false);
}

DeviceTraits traits_of(const DeviceInfo& info) {
  DeviceTraits traits{.id = info.id, .kind = info.kind};
  traits.zero_copy = info.zero_copy;
  traits.rounds_to_f16 = info.rounds_to_f16;
  traits.static_graphs = info.static_graphs;
  traits.thread_of = info.thread_of;
  return traits;
}

}  // namespace tandem
