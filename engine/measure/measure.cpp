#include "engine/measure/measure.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "engine/measure/cold_run.h"
#include "engine/measure/profile_grid.h"
#include "engine/plan/prediction/matmul_point.h"
#include "engine/plan/schedule.h"
#include "sync/error.h"

namespace tandem {
namespace {

// Seconds of a sample, and how often an operator runs in one at most.
constexpr double kOtherSampleSeconds = 1e-3;
constexpr int64_t kMostRepeats = 64;
// A point that looks slowed is measured again at most kMostAgain times, each time after kPause.
constexpr int kMostAgain = 4;
constexpr std::chrono::milliseconds kPause{100};

// Everything that the time of an operator other than a matmul depends on, as text.
std::string shape_text(const Operator& op) {
  const Work each = work(op);
  std::string text = std::string(kind_name(op)) + " S" + std::to_string(tokens_of(op)) + " flops " +
                     std::to_string(each.flops) + " bytes " + std::to_string(each.bytes);
  for (const Feature feature : features_of(op).list()) text += std::string(", ") + name_of(feature);
  if (const auto* attention = std::get_if<Attention>(&op.body)) {
    if (attention->window > 0) text += " " + std::to_string(attention->window);
    const KvCache& cache = attention->cache;
    text += " heads " + std::to_string(attention->heads) + " of " + std::to_string(cache.head_dim) + "/" +
            std::to_string(cache.head_dim_v) + " on " + std::to_string(cache.kv_heads);
    text += " from " + std::to_string(attention->positions.as<int32_t>()[0]);
  }
  if (const auto* grouped = std::get_if<GroupedMatMul>(&op.body)) text += " " + to_string(grouped->w.format);
  return text;
}

bool share_a_core(const DeviceInfo& a, const DeviceInfo& b) {
  return std::ranges::any_of(a.cores, [&](int core) { return std::ranges::count(b.cores, core) > 0; });
}

// Least stored seconds of the point at S tokens; absent where nothing is stored.
std::optional<double> least_of(const DiskCache& cache, const DeviceInfo& device, MatMulPoint point, int64_t S) {
  point.S = S;
  const auto seconds = stored_seconds(cache, key_of(device, point));
  return seconds ? std::optional(seconds->least) : std::nullopt;
}

// Compares a point that is bound by arithmetic with the stored times at half and at twice its tokens.
bool looks_slowed(const DiskCache& cache, const DeviceInfo& device, const MatMulPoint& point) {
  if (point.S <= kMemoryBoundTokens) return false;
  const auto own = least_of(cache, device, point, point.S);
  return own && tandem::looks_slowed(*own, least_of(cache, device, point, point.S / 2),
                                     least_of(cache, device, point, point.S * 2));
}

// Stops recording while it lives: users record passes, not measurements.
class Unrecorded {
 public:
  explicit Unrecorded(Executor& executor) : executor_(executor), before_(executor.record(nullptr)) {}
  ~Unrecorded() { executor_.record(before_); }
  Unrecorded(const Unrecorded&) = delete;
  Unrecorded& operator=(const Unrecorded&) = delete;

 private:
  Executor& executor_;
  Timeline* before_;
};

// Times one operator of few tokens. First the rest of the pass is read. Then all operators of the pass with its kind
// and shape run once, one after another (norms of all layers, attention over all caches). So their weights and caches
// come from memory. Returns seconds of one operator.
MeasuredSeconds in_pass(Executor& executor, Device& device, const Operator& op, std::span<const Operator> pass,
                        const Effort& effort) {
  std::vector<Operator> alike;
  for (const Operator& other : pass)
    if (other.body.index() == op.body.index() && shape_text(other) == shape_text(op)) alike.push_back(other);
  if (alike.empty()) alike.push_back(op);
  const double count = static_cast<double>(alike.size());
  const auto timed = executor.prepare({"measure", {device.info().id}, {{0, std::move(alike), {}, true}}, {}});
  ColdRun run(executor, device, rest_of_pass(device, pass, nullptr));
  run.seconds(*timed);  // compiles
  std::vector<double> seconds;
  for (int i = 0; i < effort.samples; ++i) seconds.push_back(run.seconds(*timed) / count);
  return spread_of(std::move(seconds));
}

}  // namespace

// Measures the point and keeps the least time ever seen. The result may show that this point, or its stored neighbours
// at half or twice the tokens, were measured on a slowed machine. These are measured again.
MeasuredSeconds Measurer::matmul(Device& device, const MatMulPoint& point, SameMatMuls same,
                                 std::span<const Operator> pass, const Beside& beside, const Effort& effort) {
  const std::string key = key_of(device.info(), point);
  if (const auto known = stored_seconds(cache, key)) return *known;
  TANDEM_CHECK(point.both == (beside.device != nullptr), "a point beside another device names it");
  const Unrecorded unrecorded(executor);
  const MatMulTimer timer{executor, effort, pass};
  const auto measure = [&](const MatMulPoint& at) {
    const MeasuredSeconds seconds =
        at.both ? timer.beside(device, at, same, *beside.device, beside.matmuls) : timer.alone(device, at, same);
    const auto before = stored_seconds(cache, key_of(device.info(), at));
    // A repeated measurement may only lower the stored time.
    if (!before || seconds.least < before->least) store_point(cache, device.info(), at, seconds);
  };
  measure(point);
  // A slowed point among the three is measured again.
  for (const int64_t S : {point.S, point.S / 2, 2 * point.S}) {
    MatMulPoint at = point;
    at.S = S;
    if (S > most_tokens(same.front())) continue;
    for (int again = 0; again < kMostAgain && looks_slowed(cache, device.info(), at); ++again) {
      std::this_thread::sleep_for(kPause);
      measure(at);
    }
  }
  return *stored_seconds(cache, key);
}

std::string Measurer::other_key(const Device& device, const Operator& op) {
  return measurement_key(device.info()) + "|" + shape_text(op);
}

// Few tokens with a pass: see in_pass(). Otherwise one operator is repeated until a sample takes kOtherSampleSeconds,
// and a sample's time is divided by the repetitions.
MeasuredSeconds Measurer::other(Device& device, const Operator& op, std::span<const Operator> pass,
                                const Effort& effort) {
  if (std::holds_alternative<KvAppend>(op.body)) return {};
  const std::string key = other_key(device, op);
  if (const auto known = stored_seconds(cache, key)) return *known;
  const Unrecorded unrecorded(executor);
  if (tokens_of(op) <= kMemoryBoundTokens && !pass.empty()) {
    const MeasuredSeconds seconds = in_pass(executor, device, op, pass, effort);
    store_seconds(cache, key, seconds);
    return seconds;
  }
  const auto repeated = [&](int64_t times) {
    return executor.prepare(
        schedule("measure", {device.info().id}, std::vector<Placed>(static_cast<size_t>(times), {0, op})));
  };
  const auto once = repeated(1);
  executor.run(*once);  // compiles, touches pages
  const auto times =
      std::clamp(static_cast<int64_t>(kOtherSampleSeconds / executor.run(*once)), int64_t{1}, kMostRepeats);
  const auto prepared = repeated(times);
  std::vector<double> seconds;
  for (int i = 0; i < effort.samples; ++i) seconds.push_back(executor.run(*prepared) / static_cast<double>(times));
  const MeasuredSeconds summed = spread_of(std::move(seconds));
  store_seconds(cache, key, summed);
  return summed;
}

// The other device must have cores of its own, and matmuls that write to another buffer. Then only the memory
// is shared.
Beside beside_for(const Device& device, SameMatMuls same, std::span<const std::unique_ptr<Device>> devices,
                  std::span<const std::vector<MatMul>> matrices) {
  for (const auto& other : devices) {
    if (other.get() == &device || share_a_core(other->info(), device.info())) continue;
    for (const std::vector<MatMul>& matmuls : matrices) {
      if (matmuls.front().y.slot != same.front().y.slot && other->supports({"beside", matmuls.front()}).yes)
        return {other.get(), matmuls};
    }
  }
  return {};
}

}  // namespace tandem
