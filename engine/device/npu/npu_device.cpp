#include "engine/device/npu/npu_device.h"

#include <unistd.h>

#include <utility>

#include "engine/device/npu/npu_program.h"
#include "engine/device/npu/npu_support.h"
#include "engine/device/thread_device.h"
#include "npu_emu/self_test.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {

namespace {

// The cores of the array's team; the first core belongs to the device's thread.
std::vector<int> all_but_first(const std::vector<int>& cores) {
  return cores.empty() ? std::vector<int>() : std::vector<int>(cores.begin() + 1, cores.end());
}

std::vector<int> only_first(const std::vector<int>& cores) {
  return cores.empty() ? std::vector<int>() : std::vector<int>{cores.front()};
}

// The emulated chip. Estimates come from its model of time, and results from the emulator's arithmetic.
class NpuProcessor final : public Processor {
 public:
  NpuProcessor(npu_emu::NpuParams params, const std::vector<int>& cores)
      : params_(std::move(params)), array_{npu_emu::Team(all_but_first(cores)), {}} {}
  Support supports(const Operator& op) const override { return npu_support(params_, op); }
  std::unique_ptr<ThreadWork> prepare(std::span<const Operator> operators) override {
    return std::make_unique<NpuProgram>(params_, operators, array_);
  }
  Cost estimate(std::span<const Operator> operators) const override;

 private:
  const npu_emu::NpuParams params_;
  NpuArray array_;
};

// The chip's modelled cost: the sum over the products, and one launch for all of them.
Cost NpuProcessor::estimate(std::span<const Operator> operators) const {
  Cost cost;
  for (const Operator& op : operators) {
    const npu_emu::GraphProduct product = graph_product(op.name, std::get<MatMul>(op.body));
    const npu_emu::ProductCost each =
        npu_emu::product_cost(params_, product.shape(), product.number_format(), product.weight_bytes());
    cost.seconds += each.seconds;
    cost.joules += each.joules;
    cost.bytes += each.dram_bytes;
    cost.flops += 2.0 * static_cast<double>(product.tokens) * static_cast<double>(product.rows) *
                  static_cast<double>(product.columns);
  }
  if (!operators.empty()) cost.seconds += params_.launch_seconds;
  return cost;
}

npu_emu::NpuParams params_of(const DeviceParameters& parameters) {
  const auto file = parameters.find("params");
  return file == parameters.end() ? npu_emu::NpuParams() : npu_emu::load_params(file->second);
}

// The description of the device: the chip's numbers from `params`, and the memory of this machine.
DeviceInfo describe(const npu_emu::NpuParams& params, int index, const std::vector<int>& cores) {
  const ExactLoops& loops = *best_packed_loops().exact;
  DeviceInfo info;
  info.id = "npu:" + std::to_string(index);
  info.name = params.name + " " + std::to_string(params.array.rows) + "x" + std::to_string(params.array.cols) + " " +
              npu_emu::to_string(params.dataflow);
  info.driver = std::string("emulated, ") + to_string(loops.set);
  info.kind = DeviceKind::npu;
  info.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  info.max_allocation_bytes = params.compiler.max_graph_bytes;
  // A unit is a thread that emulates the array, and no part of the array.
  info.compute_units = cores.empty() ? 1 : static_cast<int>(cores.size());
  info.cores = cores;
  info.fused_fma = npu_emu::fma_is_fused(loops);
  info.rounds_to_f16 = true;
  info.cuts_rows = info.static_graphs = true;
  info.models_time = true;
  return info;
}

}  // namespace

DeviceCount npu_device_count() { return {1, 0}; }

// The device is a ThreadDevice whose processor is the emulator; its thread takes the first NPU core.
std::unique_ptr<Device> open_npu_device(int index, const DeviceOptions& options) {
  if (index < 0 || index >= npu_device_count().all) {
    throw Error("no such NPU", "npu:" + std::to_string(index), "there is one emulated NPU: npu:0");
  }
  npu_emu::NpuParams params = params_of(options.parameters);
  DeviceInfo info = describe(params, index, options.npu_cores);
  auto processor = std::make_unique<NpuProcessor>(std::move(params), options.npu_cores);
  return std::make_unique<ThreadDevice>(std::move(info), std::move(processor), options, only_first(options.npu_cores));
}

}  // namespace tandem
