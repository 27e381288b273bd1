#include "tests/engine/run/fake_card.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "engine/device/host/host_device.h"
#include "engine/device/lab/lab.h"
#include "engine/device/registry.h"
#include "sync/error.h"

namespace tandem::test {
namespace {

std::unique_ptr<Device> open_computing(const FakeInterface& interface, const DeviceOptions& options) {
  if (interface.runs_on.empty()) return make_host_device(HostArithmetic::contract, 1, options);
  DeviceOptions as_card = options;
  as_card.gpu_family = KernelFamily::simt;
  as_card.force_copies = true;
  return open_device(interface.runs_on, as_card);
}

class FakeDevice final : public Device {
 public:
  FakeDevice(const FakeInterface& interface, const DeviceOptions& options)
      : refuses_(interface.refuses),
        prepares_nothing_(interface.prepares_nothing),
        computes_(open_computing(interface, options)),
        info_(computes_->info()) {
    info_.id = interface.known.id;
    info_.name = interface.known.name;
    info_.driver = "of the tests";
    info_.kind = DeviceKind::gpu;
    info_.cuts_rows = info_.queued = true;
    info_.family = KernelFamily::simt;
    info_.compute_units = interface.known.compute_units;
    info_.cores = {};
    info_.own_memory = info_.discrete = interface.known.discrete;
    info_.card = interface.known.card;
    info_.zero_copy = interface.known.shares_memory && !options.force_copies;
    info_.shares_thread = false;
    if (interface.memory_bytes > 0) info_.memory_bytes = interface.memory_bytes;
  }
  const DeviceInfo& info() const override { return info_; }
  Support supports(const Operator& op) const override {
    if (kind_name(op) == refuses_) return {false, "the fake card was told to"};
    return computes_->supports(op);
  }
  std::unique_ptr<Program> prepare(std::span<const Operator> operators) override {
    require_preparation();
    return computes_->prepare(operators);
  }
  std::unique_ptr<Program> prepare_keeping(std::span<const Operator> operators, const KeptSlots& kept) override {
    require_preparation();
    return computes_->prepare_keeping(operators, kept);
  }
  void launch(std::shared_ptr<const LaunchSequence> sequence, uint32_t base) override {
    computes_->launch(std::move(sequence), base);
  }
  Cost estimate(std::span<const Operator> operators) const override { return computes_->estimate(operators); }
  void finish(std::chrono::milliseconds deadline) override { computes_->finish(deadline); }
  PrivateSlots* private_slots() override { return computes_->private_slots(); }
  DeviceLab& lab() override { return lab_of(*computes_); }

 private:
  void require_preparation() const {
    if (!prepares_nothing_.empty()) throw Error("a card compiles no kernel", info_.id, prepares_nothing_);
  }
  const std::string refuses_, prepares_nothing_;
  const std::unique_ptr<Device> computes_;
  DeviceInfo info_;
};

template <FakeInterface& (*which)()>
DeviceCount count() {
  return which().present ? DeviceCount{1, 1} : DeviceCount{};
}

template <FakeInterface& (*which)()>
std::unique_ptr<Device> open(int, const DeviceOptions& options) {
  ++which().opened;
  if (options.force_copies) ++which().copies;
  if (!which().fails.empty()) throw Error("a card does not answer", which().known.id, which().fails);
  return std::make_unique<FakeDevice>(which(), options);
}

template <FakeInterface& (*which)()>
std::vector<KnownGpu> known() {
  return which().present ? std::vector{which().known} : std::vector<KnownGpu>();
}

template <FakeInterface& (*which)()>
DeviceFactory factory(const char* prefix) {
  return {prefix, DeviceKind::gpu, "a card of the tests", count<which>, open<which>, {"copies"},
          true,   false,           known<which>};
}

const bool kAdded = [] {
  add_device_factory(factory<fake_cl>("fakecl"));
  add_device_factory(factory<fake_vk>("fakevk"));
  return true;
}();

}  // namespace

FakeInterface& fake_cl() {
  static FakeInterface interface;
  return interface;
}

FakeInterface& fake_vk() {
  static FakeInterface interface;
  return interface;
}

FakeCard::FakeCard() {
  const KnownGpu card{
      "fakecl:0", "a fake card", {"0123456789abcdef0123456789abcdef", "0000:65:00.0"}, true, true, 6, 132, 0};
  fake_cl() = {true, card, "", "", 0, "", 0, 0, ""};
  fake_vk() = fake_cl();
  fake_vk().known.id = "fakevk:0";
}

FakeCard::~FakeCard() { fake_cl().present = fake_vk().present = false; }

}  // namespace tandem::test
