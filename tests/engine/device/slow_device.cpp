// A toy that shows the least code for a device on a thread. It is an NPU that multiplies with the host's reference and
// sleeps `delay_us` before each operator. The operator with the number `fails_at`, counted from 1, fails. So does
// preparing the program with the number `refuses_at`. Programs that link this file have "slow:0" among their devices.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "engine/device/host/arithmetic.h"
#include "engine/device/registry.h"
#include "engine/device/thread_device.h"
#include "sync/error.h"
#include "sync/parse_number.h"

namespace tandem::test {
namespace {

class SlowProcessor final : public Processor {
 public:
  SlowProcessor(std::chrono::microseconds delay, int fails_at, int refuses_at)
      : delay_(delay), left_(fails_at), left_to_prepare_(refuses_at) {}
  Support supports(const Operator& op) const override {
    constexpr Features kKnown{Feature::products};
    const auto missing = missing_feature(op, kKnown);
    return missing ? Support{false, std::string("it only multiplies: ") + name_of(*missing)} : Support{};
  }
  Cost estimate(std::span<const Operator> operators) const override {
    Cost cost;
    cost.seconds = std::chrono::duration<double>(delay_).count() * static_cast<double>(operators.size());
    return cost;
  }
  std::unique_ptr<ThreadWork> prepare(std::span<const Operator> operators) override {
    if (left_to_prepare_ > 0 && --left_to_prepare_ == 0) throw Error("the toy has no room", operators.front().name);
    return one_by_one(operators, [this](const Operator& op) {
      if (delay_.count() > 0) std::this_thread::sleep_for(delay_);
      if (left_ > 0 && --left_ == 0) throw Error("the toy broke", op.name);
      host::run_reference(op);
    });
  }

 private:
  const std::chrono::microseconds delay_;
  int left_;             // operators until the one that fails; 0: none fails
  int left_to_prepare_;  // programs until the refused one; 0: none is refused
};

std::unique_ptr<Device> open_slow_device(int index, const DeviceOptions& options) {
  DeviceInfo info;
  info.id = "slow:" + std::to_string(index);
  info.name = "a slow toy";
  info.driver = "of the tests";
  info.kind = DeviceKind::npu;
  info.max_allocation_bytes = int64_t{1} << 40;
  info.compute_units = 1;
  info.cores = options.npu_cores;
  info.cuts_rows = info.static_graphs = true;
  const auto number = [&](const std::string& name) {
    const auto given = options.parameters.find(name);
    if (given == options.parameters.end()) return 0;
    const std::optional<int> value = parse_number<int>(given->second);
    if (!value || *value < 0) throw Error("the toy's " + name + " is no count", given->second, "Use 0 or more");
    return *value;
  };
  auto processor = std::make_unique<SlowProcessor>(std::chrono::microseconds(number("delay_us")), number("fails_at"),
                                                   number("refuses_at"));
  return std::make_unique<ThreadDevice>(std::move(info), std::move(processor), options, options.npu_cores);
}

DeviceCount one_device() { return {1, 0}; }

const bool kAdded =
    (add_device_factory(
         {"slow", DeviceKind::npu, "a toy", one_device, open_slow_device, {"delay_us", "fails_at", "refuses_at"}}),
     true);

}  // namespace
}  // namespace tandem::test
