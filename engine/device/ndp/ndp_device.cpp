// A near-memory unit as an emulated device: results by the host's loops, and times by the figures of its id.
#include "engine/device/ndp/ndp_device.h"

#include <array>
#include <cstdio>
#include <string>
#include <utility>

#include "engine/device/host/arithmetic.h"
#include "engine/device/ndp/unit_time.h"
#include "engine/device/thread_device.h"
#include "packed/loops/loops.h"

namespace tandem {
namespace {

// What a unit computes: products in all packed formats, and the gate between them.
constexpr Features kOfUnits{Feature::products,
                            Feature::unrounded_weights,
                            Feature::integer_activations,
                            Feature::grouped_products,
                            Feature::product_columns,
                            Feature::activation,
                            Feature::gelu};

// Computes by the host's loops, so results are those of every other device. Its estimate is that of the described unit.
class NdpProcessor final : public Processor {
 public:
  NdpProcessor(const NearMemory& unit, const std::vector<int>& cores)
      : unit_(unit), workers_(std::max(1, static_cast<int>(cores.size())), cores) {}

  Support supports(const Operator& op) const override {
    if (const auto missing = missing_feature(op, kOfUnits))
      return {false, std::string(name_of(*missing)) + ": a near-memory unit multiplies, and computes gated units"};
    return {};
  }

  std::unique_ptr<ThreadWork> prepare(std::span<const Operator> operators) override {
    return one_by_one(operators, [this](const Operator& op) { host::run_contract(op, loops_, workers_); });
  }

  Cost estimate(std::span<const Operator> operators) const override {
    Cost cost;
    for (const Operator& op : operators) {
      const Cost each = unit_cost(unit_, op);
      cost.seconds += each.seconds, cost.bytes += each.bytes, cost.flops += each.flops;
    }
    return cost;
  }

 private:
  const NearMemory unit_;
  const host::HostLoops& loops_ = host::best_loops();
  host::Workers workers_;
};

// "near-memory unit, 102.4 GB/s, 51.2 GMAC/s, 32 GiB"
std::string name_of_unit(const NearMemory& unit) {
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), "near-memory unit, %g GB/s, %g GMAC/s, %g GiB", unit.bytes_per_second / 1e9,
                unit.macs_per_second / 1e9, static_cast<double>(unit.memory_bytes) / (1 << 30));
  return text.data();
}

// Says in its driver's name that times on the wall clock are not a unit's, because lists show that line.
DeviceInfo describe(const NearMemory& unit, int index, const std::vector<int>& cores) {
  DeviceInfo info;
  info.id = "ndp:" + std::to_string(index);
  info.name = name_of_unit(unit);
  info.driver = std::string("emulated, ") + to_string(host::best_loops().set) +
                "; its time on the wall clock is that of the host's cores";
  info.kind = DeviceKind::unit;
  info.memory_bytes = info.max_allocation_bytes = unit.memory_bytes;
  info.compute_units = 1;
  info.cores = cores;
  info.fused_fma = host::fuses_multiply_add();
  info.models_time = true;
  info.near_memory = unit;
  return info;
}

}  // namespace

DeviceCount ndp_device_count() { return {1, 0}; }

// Its thread is that of an NPU, which is not in the way of a GPU's kernels.
std::unique_ptr<Device> open_ndp_device(int index, const DeviceOptions& options) {
  const NearMemory unit = near_memory_of(options.parameters);
  return std::make_unique<ThreadDevice>(describe(unit, index, options.npu_cores),
                                        std::make_unique<NdpProcessor>(unit, options.npu_cores), options,
                                        options.npu_cores);
}

// The core layout knows nothing of further units, so they take the other device's cores.
std::unique_ptr<Device> open_ndp_beside(ThreadDevice& other, int index, const DeviceOptions& options) {
  const NearMemory unit = near_memory_of(options.parameters);
  const std::vector<int>& cores = other.info().cores;
  return std::make_unique<ThreadDevice>(describe(unit, index, cores), std::make_unique<NdpProcessor>(unit, cores),
                                        options, other);
}

}  // namespace tandem
