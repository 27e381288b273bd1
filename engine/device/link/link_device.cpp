#include "engine/device/link/link_device.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "engine/device/host/arithmetic.h"
#include "engine/device/thread_device.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "sync/throttle.h"

namespace tandem {
namespace {

constexpr double kMemoryBytesPerSecond = 8e9;  // a rounded rate of one core

// Copies by the calling thread. The time of a slow link is a wait behind the copy, so the bytes are there in any case.
class LinkProcessor final : public Processor {
 public:
  explicit LinkProcessor(const DeviceOptions& options)
      : bytes_per_second_(options.link_gbps * 1e9), copies_until_failure_(options.link_fails_after) {}

  Support supports(const Operator& op) const override {
    if (std::holds_alternative<ExpertMove>(op.body) || std::holds_alternative<ExpertPrefetch>(op.body)) return {};
    return {false, "the link copies experts alone"};
  }
  // Work counts reading and writing, so a copy moves half of these bytes.
  Cost estimate(std::span<const Operator> operators) const override {
    Cost cost;
    for (const Operator& op : operators) {
      const Work of = work(op);
      cost.bytes += of.bytes;
      cost.seconds += of.bytes / 2 / (bytes_per_second_ > 0 ? bytes_per_second_ : kMemoryBytesPerSecond);
    }
    return cost;
  }
  std::unique_ptr<ThreadWork> prepare(std::span<const Operator> operators) override {
    return one_by_one(operators, [this](const Operator& op) {
      if (const auto* ahead = std::get_if<ExpertPrefetch>(&op.body)) return prefetch(*ahead);
      move(std::get<ExpertMove>(op.body), op.layer >= 0);
    });
  }

 private:
  // in_model: not of a self-test.
  void move(const ExpertMove& op, bool in_model) {
    const double start = now_seconds();
    const size_t bytes = host::run_expert_move(op);
    if (op.stays_on_gpu || bytes == 0) return;
    if (in_model) fail_if_asked();
    if (bytes_per_second_ > 0) sync::wait_until(start + static_cast<double>(bytes) / bytes_per_second_);
  }
  // Copies follow each other in real time: each takes its bytes over the rate, and none ends in the past.
  void prefetch(const ExpertPrefetch& op) {
    double end = now_seconds();
    host::run_expert_prefetch(op, [&](size_t bytes) {
      fail_if_asked();
      if (bytes_per_second_ == 0) return;
      end = std::max(end + static_cast<double>(bytes) / bytes_per_second_, now_seconds());
      sync::wait_until(end);
    });
  }
  // Tests ask for a failure, because a real link cannot be made to fail.
  void fail_if_asked() {
    if (copies_until_failure_ > 0 && --copies_until_failure_ == 0) throw Error("a copy of experts failed", "link:0");
  }

  const double bytes_per_second_;  // 0: not slowed down
  int64_t copies_until_failure_;   // 0: none fails
};

}  // namespace

// It shares the cores of the NPU, since the GPU's must stay free for kernels.
std::unique_ptr<Device> open_link(const DeviceOptions& options) {
  DeviceInfo info;
  info.id = "link:0";
  info.name = options.link_gbps > 0 ? "a link that is slowed down" : "a link within the host's memory";
  info.driver = "built in";
  info.kind = DeviceKind::host;
  info.compute_units = 1;
  info.fused_fma = true;  // it computes nothing
  // The link has no core of its own: it stays off the GPU's, and sleeps while it waits.
  DeviceOptions own = options;
  own.sync_policy = sync::Policy::event;
  return std::make_unique<ThreadDevice>(std::move(info), std::make_unique<LinkProcessor>(own), own, own.npu_cores);
}

}  // namespace tandem
