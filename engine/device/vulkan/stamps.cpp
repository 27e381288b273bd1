#include "engine/device/vulkan/stamps.h"

#include <time.h>

#include <array>
#include <chrono>

#include "sync/clock.h"

namespace tandem::vulkan {
namespace {

// At most so many programs in flight are measured.
constexpr uint32_t kPlaces = 64;
constexpr uint32_t kCalibration = 2 * kPlaces;  // index of the last query
constexpr std::chrono::seconds kBound{5};

}  // namespace

// Records two command buffers for each place: one resets the queries and stamps the begin, the other stamps the end.
void Stamps::record_places() {
  const std::string object = "timestamps on " + handle_.id();
  auto info = typed<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = kCalibration + 1;
  queries_ = make<OwnedQueryPool>(vkCreateQueryPool, handle_.device(), info, "vkCreateQueryPool", object);
  pool_ = make_command_pool(handle_, object);
  const auto begin = typed<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  for (uint32_t place = 0; place < kPlaces; ++place) {
    before_.push_back(allocate_commands(handle_, pool_.get(), object));
    check(vkBeginCommandBuffer(before_.back(), &begin), "vkBeginCommandBuffer", object);
    vkCmdResetQueryPool(before_.back(), queries_.get(), 2 * place, 2);
    vkCmdWriteTimestamp(before_.back(), VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, queries_.get(), 2 * place);
    check(vkEndCommandBuffer(before_.back()), "vkEndCommandBuffer", object);
    after_.push_back(allocate_commands(handle_, pool_.get(), object));
    check(vkBeginCommandBuffer(after_.back(), &begin), "vkBeginCommandBuffer", object);
    vkCmdWriteTimestamp(after_.back(), VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, queries_.get(), 2 * place + 1);
    check(vkEndCommandBuffer(after_.back()), "vkEndCommandBuffer", object);
    free_.push_back(place);
  }
}

// Submits one timestamp and waits for it.
uint64_t Stamps::stamp_now() {
  const std::string object = "timestamps on " + handle_.id();
  run_now(handle_, object, kBound, [this](VkCommandBuffer commands) {
    vkCmdResetQueryPool(commands, queries_.get(), kCalibration, 1);
    vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, queries_.get(), kCalibration);
  });
  uint64_t ticks = 0;
  check(vkGetQueryPoolResults(handle_.device(), queries_.get(), kCalibration, 1, sizeof ticks, &ticks, sizeof ticks,
                              VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
        "vkGetQueryPoolResults", object);
  return ticks;
}

// Ties the device's counter to the host's clock at one moment. A driver that can read both at once is asked to.
// Otherwise a stamp is made between two readings of the host's clock, and the try with the closest readings counts.
void Stamps::calibrate() {
  if (handle_.limits().timestamp_bits == 0) return;
  std::lock_guard lock(mutex_);
  // The queries and their command buffers are made at the first use.
  if (!queries_) record_places();
  if (const auto calibrated = handle_.calibrated_timestamps()) {
    std::array<VkCalibratedTimestampInfoEXT, 2> clocks{
        typed<VkCalibratedTimestampInfoEXT>(VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT),
        typed<VkCalibratedTimestampInfoEXT>(VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT)};
    clocks[0].timeDomain = VK_TIME_DOMAIN_DEVICE_EXT;
    clocks[1].timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
    uint64_t values[2] = {0, 0}, deviation = 0;
    check(calibrated(handle_.device(), 2, clocks.data(), values, &deviation), "vkGetCalibratedTimestampsEXT",
          handle_.id());
    ticks_ = values[0];
    seconds_ = static_cast<double>(values[1]) * 1e-9;
  } else {
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {  // the closest of a few tries counts
      const double before = now_seconds();
      const uint64_t ticks = stamp_now();
      const double after = now_seconds();
      if (after - before >= best) continue;
      best = after - before;
      ticks_ = ticks;
      seconds_ = (before + after) / 2;
    }
  }
  calibrated_ = true;
}

// Nothing: the clocks are not tied, or all places are in use. The program then runs without stamps.
std::optional<Stamps::Place> Stamps::take() {
  std::lock_guard lock(mutex_);
  if (!calibrated_ || free_.empty()) return std::nullopt;
  const uint32_t index = free_.back();
  free_.pop_back();
  return Place{before_[index], after_[index], index};
}

// A counter of few bits wraps. The value lies shortly before or after the last reading, so the shorter way counts.
double Stamps::seconds_of(uint64_t ticks) const {
  const uint32_t bits = handle_.limits().timestamp_bits;
  const uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const uint64_t forward = (ticks - ticks_) & mask, back = (ticks_ - ticks) & mask;
  const double unit = handle_.limits().timestamp_seconds;
  return forward <= back ? seconds_ + static_cast<double>(forward) * unit : seconds_ - static_cast<double>(back) * unit;
}

// Each reading becomes the new tie, so that a wrapping counter is never far from its tie.
std::optional<Stamps::Times> Stamps::read(const Place& place) {
  uint64_t ticks[2] = {0, 0};
  const VkResult code = vkGetQueryPoolResults(handle_.device(), queries_.get(), 2 * place.index, 2, sizeof ticks, ticks,
                                              sizeof ticks[0], VK_QUERY_RESULT_64_BIT);
  // Stamps that are not written yet give nothing.
  if (code != VK_SUCCESS) return std::nullopt;
  std::lock_guard lock(mutex_);
  const Times times{seconds_of(ticks[0]), seconds_of(ticks[1])};
  ticks_ = ticks[1];
  seconds_ = times.end_seconds;
  return times;
}

}  // namespace tandem::vulkan
