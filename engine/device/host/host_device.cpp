#include "engine/device/host/host_device.h"

#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "engine/device/host/arithmetic.h"
#include "engine/device/thread_device.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "sync/throttle.h"

namespace tandem {
namespace {

// The features that both the loops of the contract and the reference compute.
constexpr Features kKnownFeatures = features_of(ComputedBy::host);

class HostProcessor final : public Processor {
 public:
  // loops: a static table, which outlives the processor.
  // slower: products take so many times as long.
  HostProcessor(HostArithmetic arithmetic, int threads, const std::vector<int>& cores, const host::HostLoops& loops,
                double slower)
      : arithmetic_(arithmetic), loops_(loops), slower_(slower), workers_(threads, cores) {}

  Support supports(const Operator& op) const override {
    if (const auto missing = missing_feature(op, kKnownFeatures))
      return {false, std::string("no loop for ") + name_of(*missing)};
    // The loops keep the values of a tile on the stack, which limits the length of a value.
    const auto* attention = std::get_if<Attention>(&op.body);
    if (attention && attention->cache.head_dim_v > host::kMaxHeadDimV)
      return {false, "a value head of more than " + std::to_string(host::kMaxHeadDimV) + " elements"};
    return {};
  }

  std::unique_ptr<ThreadWork> prepare(std::span<const Operator> operators) override {
    if (arithmetic_ == HostArithmetic::reference) return one_by_one(operators, host::run_reference);
    if (slower_ > 1) return one_by_one(operators, [this](const Operator& op) { run_slowly(op); });
    return one_by_one(operators, [this](const Operator& op) { host::run_contract(op, loops_, workers_); });
  }

  // Estimates with rounded rates of a server's cores: 32 GFLOP/s for each core with the contract's decoding, 16 GB/s
  // for all cores together, 8 W for each core.
  Cost estimate(std::span<const Operator> operators) const override {
    const double cores = workers_.threads();
    Cost cost;
    for (const Operator& op : operators) {
      const Work of = work(op);
      cost.flops += of.flops;
      cost.bytes += of.bytes;
      cost.seconds += std::max(of.flops / (32e9 * cores), of.bytes / 16e9);
    }
    cost.joules = cost.seconds * 8 * cores;
    return cost;
  }

 private:
  void run_slowly(const Operator& op) {
    const double start = now_seconds();
    host::run_contract(op, loops_, workers_);
    if (std::holds_alternative<GroupedMatMul>(op.body) || std::holds_alternative<MatMul>(op.body))
      sync::wait_until(start + slower_ * (now_seconds() - start));
  }

  const HostArithmetic arithmetic_;
  const host::HostLoops& loops_;
  const double slower_;
  host::Workers workers_;
};

// The reference does not claim a fused fma, because its sums in double precision give other bits.
DeviceInfo describe(HostArithmetic arithmetic, int threads, const std::vector<int>& cores,
                    const host::HostLoops& loops) {
  const bool reference = arithmetic == HostArithmetic::reference;
  DeviceInfo info;
  info.id = "host";
  info.name =
      reference ? "host reference (double-precision sums)" : std::string("host contract, ") + to_string(loops.set);
  info.driver = "built in";
  info.kind = DeviceKind::host;
  info.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  info.max_allocation_bytes = info.memory_bytes;
  info.compute_units = threads;
  info.cores = cores;
  info.fused_fma = !reference && host::fuses_multiply_add();
  return info;
}

}  // namespace

// volatile keeps the compiler from computing the result itself.
bool host::fuses_multiply_add() {
  volatile float third = 1.0f / 3.0f;  // 3 * (1/3) - 1 is zero when the product is rounded before the addition
  return __builtin_fmaf(third, 3.0f, -1.0f) != 0;
}

DeviceCount host_device_count() { return {1, 0}; }

// Takes a thread for each given core, or for each core of the machine; at most 16 threads.
std::unique_ptr<Device> open_host_device(int, const DeviceOptions& options) {
  const size_t given = options.gpu_cores.size() + options.npu_cores.size();
  const size_t threads = given > 0 ? given : std::max(1u, std::thread::hardware_concurrency());
  return make_host_device(HostArithmetic::contract, static_cast<int>(std::min<size_t>(threads, 16)), options);
}

std::unique_ptr<Device> open_host_beside(ThreadDevice& other, const DeviceOptions& options) {
  // The other device's thread has the first core; further cores help.
  const std::vector<int>& cores = other.info().cores;
  const int threads = std::max(1, static_cast<int>(cores.size()));
  const host::HostLoops& loops = host::best_loops();
  DeviceInfo info = describe(HostArithmetic::contract, threads, cores, loops);
  info.driver = "built in, on the thread of " + other.info().id;
  auto processor =
      std::make_unique<HostProcessor>(HostArithmetic::contract, threads, cores, loops, options.host_slower);
  return std::make_unique<ThreadDevice>(std::move(info), std::move(processor), options, other);
}

std::unique_ptr<Device> make_host_device(HostArithmetic arithmetic, int threads, const DeviceOptions& options,
                                         InstructionSet set) {
  const host::HostLoops* chosen = host::find_loops(set);
  if (!chosen) throw Error("this machine cannot run these instructions", to_string(set), "name no instruction set");
  threads = std::max(1, threads);
  std::vector<int> cores = options.gpu_cores;
  cores.insert(cores.end(), options.npu_cores.begin(), options.npu_cores.end());
  DeviceInfo info = describe(arithmetic, threads, cores, *chosen);
  auto processor = std::make_unique<HostProcessor>(arithmetic, threads, cores, *chosen, options.host_slower);
  return std::make_unique<ThreadDevice>(std::move(info), std::move(processor), options, cores);
}

}  // namespace tandem
