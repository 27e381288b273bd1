// What all devices share: sequences from launches, single launches, and refusals.
#include "engine/device/device.h"

#include "engine/device/device_traits.h"
#include "engine/device/lab/lab.h"
#include "sync/error.h"

namespace tandem {

// A sequence is launched again and again, and each time its epochs count from another base.
PlannedLaunch counted_from(uint32_t base, PlannedLaunch planned) {
  for (sync::WaitFor& wait : planned.waits) wait.epoch += base;
  planned.signal.epoch += base;
  return planned;
}

std::shared_ptr<const LaunchSequence> make_sequence(Device& device, std::vector<PlannedLaunch> launches) {
  // The device builds first, because the launches then move into the sequence.
  auto built = device.build(launches);
  return std::make_shared<const LaunchSequence>(std::move(launches), std::move(built));
}

// A single launch is a sequence of one, so devices have one way to launch.
void launch_one(Device& device, Program& program, std::span<const sync::WaitFor> waits, sync::Signal signal) {
  std::vector<PlannedLaunch> one;
  one.push_back({&program, {waits.begin(), waits.end()}, signal});
  device.launch(std::make_shared<const LaunchSequence>(std::move(one)), 0);
}

// supports() asks the device itself, so the device must outlive the traits.
DeviceTraits traits_of(const Device& device) {
  const DeviceInfo& info = device.info();
  DeviceTraits traits{.id = info.id};
  traits.supports = [&device](const Operator& op) { return device.supports(op); };
  traits.discrete = info.discrete;
  traits.zero_copy = info.zero_copy;
  traits.rounds_to_f16 = info.rounds_to_f16;
  traits.cuts_rows = info.cuts_rows;
  traits.static_graphs = info.static_graphs;
  traits.thread_of = info.thread_of;
  traits.near_memory = info.near_memory;
  return traits;
}

// The error has the reason of the policy's own test. If the policy has no test, it names the policies that passed.
void require_policy(const DeviceInfo& info, sync::Policy policy) {
  std::string passed;
  for (const PolicyTest& test : info.policies) {
    if (test.policy == policy && test.passed) return;
    if (test.policy == policy)
      throw Error("a waiting policy is switched off", name_of(test.policy) + " on " + info.id, test.reason);
    if (test.passed) passed += (passed.empty() ? "" : ", ") + name_of(test.policy);
  }
  throw Error("a waiting policy was not tried", name_of(policy) + " on " + info.id, "What passed here: " + passed);
}

void refuse_litmus(const DeviceInfo& info) {
  throw Error("litmus tests need memory that the host and the device both see", info.id, info.zero_copy_note);
}

}  // namespace tandem
