#include "engine/device/vulkan/hazards.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace tandem::vulkan {
namespace {

bool any_overlap(const std::vector<Region>& some, const std::vector<Region>& others) {
  return std::ranges::any_of(some, [&](const Region& a) {
    return std::ranges::any_of(others, [&](const Region& b) { return overlaps(a, b); });
  });
}

// Arguments of one operator's launches say where they begin, but not how far they reach. So two arguments in one slot
// may overlap, and count if one of them writes. Two results that begin apart are parts of one result that was cut, and
// do not overlap.
bool may_meet(const gpu::BufferArg& first, const gpu::BufferArg& second) {
  if (!first.at || first.at.slot != second.at.slot) return false;
  if (first.writes && second.writes) return first.at.offset_bytes == second.at.offset_bytes;
  return first.writes || second.writes;
}

std::vector<gpu::BufferArg> buffers_of(const gpu::KernelLaunch& launch) {
  std::vector<gpu::BufferArg> buffers;
  for (const gpu::Arg& arg : launch.args) {
    if (const auto* buffer = std::get_if<gpu::BufferArg>(&arg)) buffers.push_back(*buffer);
  }
  return buffers;
}

}  // namespace

// The three hazards: read after write, write after write, and write after read.
bool Hazards::meet(const Regions& first, const Regions& second) {
  return any_overlap(first.writes, second.reads) || any_overlap(first.writes, second.writes) ||
         any_overlap(first.reads, second.writes);
}

// The operator before this one counts only if it was launched since the last barrier.
void Hazards::begin(std::span<const Operator> operators) {
  if (!bound_.empty()) open_.push_back(std::move(current_));
  bound_.clear();
  current_ = {};
  for (const Operator& op : operators) {
    for_each_region(op, [this](const Region& region, bool is_read, bool is_written) {
      if (is_read) current_.reads.push_back(region);
      if (is_written) current_.writes.push_back(region);
    });
  }
}

// Compares the launch with everything since the last barrier: the device's own memory, regions of earlier operators,
// and arguments of this operator's earlier launches. A barrier clears all three. Then the launch itself is added.
bool Hazards::needs_barrier(const gpu::KernelLaunch& launch) {
  const std::vector<gpu::BufferArg> buffers = buffers_of(launch);
  const bool writes_own =
      std::ranges::any_of(buffers, [](const auto& each) { return each.own_bytes > 0 && each.writes; });
  const bool reads_own =
      std::ranges::any_of(buffers, [](const auto& each) { return each.own_bytes > 0 && !each.writes; });
  // All operators share the device's own memory (gpu/scratch.h), so it has a state of its own. A write must not meet
  // earlier reads and writes, and a read must not meet an earlier write.
  const bool own = (writes_own && own_ != Own::untouched) || (reads_own && own_ == Own::written);
  const bool barrier = own ||
                       std::ranges::any_of(open_, [this](const Regions& earlier) { return meet(earlier, current_); }) ||
                       std::ranges::any_of(bound_, [&](const gpu::BufferArg& a) {
                         return std::ranges::any_of(buffers, [&](const gpu::BufferArg& b) { return may_meet(a, b); });
                       });
  if (barrier) {
    open_.clear();
    bound_.clear();
    own_ = Own::untouched;
  }
  if (writes_own) own_ = Own::written;
  if (reads_own && own_ == Own::untouched) own_ = Own::read;
  bound_.insert(bound_.end(), buffers.begin(), buffers.end());
  return barrier;
}

}  // namespace tandem::vulkan
