#include "engine/device/vulkan/prepared.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <limits>
#include <set>

#include "engine/device/vulkan/hazards.h"
#include "engine/device/vulkan/private_slots.h"
#include "sync/error.h"

namespace tandem::vulkan {
namespace {

constexpr std::chrono::seconds kCopyDeadline{60}, kWarmUpDeadline{60};

// One copy for each row of a region, between the slot and the staging buffer.
std::vector<VkBufferCopy> copies(const Staged& staged, bool upload) {
  const Region& region = staged.region;
  std::vector<VkBufferCopy> rows;
  for (int64_t row = 0; row < region.rows; ++row) {
    const uint64_t in_slot = region.at.offset_bytes + static_cast<uint64_t>(row) * region.pitch_bytes;
    const uint64_t in_staging = staged.at + static_cast<uint64_t>(row) * region.width_bytes;
    rows.push_back({upload ? in_staging : in_slot, upload ? in_slot : in_staging, region.width_bytes});
  }
  return rows;
}

// The 32 bits of an argument, as shaders read it. Error if a number does not fit.
uint32_t push_word(const gpu::Arg& arg, const std::string& object) {
  if (const auto* value = std::get_if<int32_t>(&arg)) return std::bit_cast<uint32_t>(*value);
  if (const auto* value = std::get_if<uint32_t>(&arg)) return *value;
  if (const auto* value = std::get_if<float>(&arg)) return std::bit_cast<uint32_t>(*value);
  const uint64_t wide = std::get<uint64_t>(arg);
  if (wide > std::numeric_limits<uint32_t>::max())
    throw Error("a kernel argument of " + std::to_string(wide) + " does not fit the 32 bits that shaders have", object);
  return static_cast<uint32_t>(wide);
}

// Number of work-groups in each dimension. Error if the device does not allow so many.
std::array<uint32_t, 3> groups_of(const gpu::KernelLaunch& launch, const Limits& limits, const std::string& object) {
  std::array<uint32_t, 3> groups{};
  for (size_t d = 0; d < 3; ++d) {
    const size_t count = launch.global[d] / launch.local[d];
    if (count > limits.max_groups[d]) {
      throw Error("a dispatch of " + std::to_string(count) + " work-groups is larger than the device allows (" +
                      std::to_string(limits.max_groups[d]) + ")",
                  object, "Use a smaller batch (--chunk)");
    }
    groups[d] = static_cast<uint32_t>(count);
  }
  return groups;
}

// Calls copy(address in the slot, address in the staging buffer, bytes) for each row.
template <typename Copy>
void for_rows(const Staged& staged, const Allocation& staging, const Copy& copy) {
  const Region& region = staged.region;
  for (int64_t row = 0; row < region.rows; ++row) {
    copy(region.at.slot->data() + region.at.offset_bytes + static_cast<size_t>(row) * region.pitch_bytes,
         staging.data + staged.at + static_cast<size_t>(row) * region.width_bytes, region.width_bytes);
  }
}

}  // namespace

// Called before every launch, because the slots may have new content.
void Prepared::fill_staging() const {
  for (const Staged& staged : uploads)
    for_rows(staged, staging, [](std::byte* slot, std::byte* copy, size_t bytes) { std::memcpy(copy, slot, bytes); });
}

void Prepared::empty_staging() const {
  for (const Staged& staged : downloads)
    for_rows(staged, staging, [](std::byte* slot, std::byte* copy, size_t bytes) { std::memcpy(slot, copy, bytes); });
}

// A launch with everything that recording it needs.
struct Preparer::Bound {
  Pipeline* pipeline = nullptr;
  VkDescriptorSet set = VK_NULL_HANDLE;
  bool behind_barrier = false;
  std::vector<uint32_t> push;
  std::array<uint32_t, 3> groups{};

  void record(VkCommandBuffer commands, const std::array<uint32_t, 3>& count) const {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->pipeline.get());
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->layout.get(), 0, 1, &set, 0, nullptr);
    vkCmdPushConstants(commands, pipeline->layout.get(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                       static_cast<uint32_t>(push.size() * sizeof(uint32_t)), push.data());
    vkCmdDispatch(commands, count[0], count[1], count[2]);
  }
};

Preparer::Preparer(std::shared_ptr<Handle> handle, Pipelines& pipelines, SlotMemory& memory, sync::Pool& own_pool,
                   gpu::LoweringContext context)
    : shared_handle_(std::move(handle)),
      handle_(*shared_handle_),
      pipelines_(pipelines),
      memory_(memory),
      scratch_(own_pool),
      context_(context),
      dummy_(allocate_device(handle_, 4096, "the dummy argument on " + handle_.id())) {}

// One pool for all descriptor sets of a program: one set for each launch, and one for each rearrangement, which has a
// single buffer.
OwnedDescriptorPool Preparer::make_descriptors(std::span<const gpu::KernelLaunch> launches, size_t rearrangements,
                                               const std::string& object) {
  size_t buffers = rearrangements;
  for (const gpu::KernelLaunch& launch : launches) buffers += buffer_count(launch);
  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  static_cast<uint32_t>(std::max<size_t>(1, buffers))};
  auto info = typed<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  info.maxSets = static_cast<uint32_t>(std::max<size_t>(1, launches.size() + rearrangements));
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  return make<OwnedDescriptorPool>(vkCreateDescriptorPool, handle_.device(), info, "vkCreateDescriptorPool", object);
}

// A set with the pipeline's layout. The pool owns it, so it is not freed by itself.
VkDescriptorSet Preparer::make_set(VkDescriptorPool pool, const Pipeline& pipeline, const std::string& object) {
  auto info = typed<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
  info.descriptorPool = pool;
  info.descriptorSetCount = 1;
  info.pSetLayouts = &pipeline.set_layout.get();
  VkDescriptorSet set = VK_NULL_HANDLE;
  check(vkAllocateDescriptorSets(handle_.device(), &info, &set), "vkAllocateDescriptorSets", object);
  return set;
}

// Makes the launch's pipeline, its descriptor set, and its push constants. They have one word for each argument: a
// buffer's offset in words, or the argument itself. A binding starts where its slot starts, if it may be as long as the
// slot. Otherwise it starts near the operand, at a multiple of the required alignment, and is as long as allowed.
Preparer::Bound Preparer::bind(const gpu::KernelLaunch& launch, VkDescriptorPool pool, const std::string& object) {
  const Limits& limits = handle_.limits();
  Bound bound;
  bound.pipeline = &pipelines_.of(launch, object);
  bound.set = make_set(pool, *bound.pipeline, object);
  bound.groups = groups_of(launch, limits, object);
  std::vector<VkDescriptorBufferInfo> buffers;
  buffers.reserve(buffer_count(launch));
  std::vector<VkWriteDescriptorSet> writes;
  for (const gpu::Arg& arg : launch.args) {
    const auto* operand = std::get_if<gpu::BufferArg>(&arg);
    if (!operand) {
      bound.push.push_back(push_word(arg, object));
      continue;
    }
    // An absent operand binds the dummy buffer, which the shader does not read.
    VkDescriptorBufferInfo info{dummy_.buffer.get(), 0, VK_WHOLE_SIZE};
    uint64_t offset = 0;
    if (operand->at) {
      const sync::Slot& slot = *operand->at.slot;
      offset = operand->at.offset_bytes;
      TANDEM_CHECK(offset % 4 == 0, "an operand's offset: " + object);
      info.buffer = memory_.buffer(slot);
      if (slot.size_bytes() > limits.max_buffer_range) {
        info.offset = offset / limits.offset_alignment * limits.offset_alignment;
        info.range = std::min<uint64_t>(limits.max_buffer_range, slot.size_bytes() - info.offset);
      }
    }
    bound.push.push_back(static_cast<uint32_t>((offset - info.offset) / 4));
    auto write = typed<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
    write.dstSet = bound.set;
    write.dstBinding = static_cast<uint32_t>(buffers.size());
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    // The vector has room for all buffers, so the pointers to its elements stay valid.
    buffers.push_back(info);
    write.pBufferInfo = &buffers.back();
    writes.push_back(write);
  }
  vkUpdateDescriptorSets(handle_.device(), static_cast<uint32_t>(writes.size()), writes.data(), 0, nullptr);
  return bound;
}

// Lowers all operators and decides on barriers. Makes copies of weights and a staging buffer if they are needed. Then
// binds every launch and records the command buffer.
std::shared_ptr<Prepared> Preparer::prepare(std::span<const Operator> operators, const KeptSlots& kept) {
  auto prepared = std::make_shared<Prepared>();
  prepared->handle = shared_handle_;
  prepared->name = operators.empty() ? "(empty)" : operators.front().name;
  if (operators.size() > 1) prepared->name += " .. " + operators.back().name;
  const std::string object = prepared->name + " on " + handle_.id();
  std::vector<gpu::KernelLaunch> launches;
  std::vector<bool> barriers;  // whether launch i needs one in front
  Hazards hazards;
  for (gpu::LoweredRun& run : gpu::lower_program(operators, context_)) {
    hazards.begin(operators.subspan(run.begin, run.end - run.begin));
    scratch_.give_to(run.launches);
    for (gpu::KernelLaunch& launch : run.launches) {
      barriers.push_back(hazards.needs_barrier(launch));
      launches.push_back(std::move(launch));
    }
  }
  // Weights with a copy on the device are uploaded by the launcher. The staging buffer is for everything else, and only
  // if memory is not shared.
  if (memory_.own_weights()) {
    gpu::CopiedRegions regions;
    for (const Operator& op : operators) gpu::collect_regions(op, regions, kept);
    copy_weights(regions, *prepared);
    if (!memory_.shared()) {
      for (const sync::Slot* slot : regions.divided) prepared->divided.push_back(memory_.parts_of(*slot));
      stage(regions, *prepared);
    }
  }
  std::vector<gpu::PanelRange> ranges;
  for (const Operator& op : operators)
    std::ranges::move(gpu::row_piece_ranges(op, context_), std::back_inserter(ranges));
  prepared->descriptors = make_descriptors(launches, ranges.size(), object);
  add_rearrangements(ranges, *prepared, object);
  std::vector<Bound> bound;
  for (const gpu::KernelLaunch& launch : launches) {
    const std::string kernel = prepared->name + " (" + launch.kernel + ") on " + handle_.id();
    bound.push_back(bind(launch, prepared->descriptors.get(), kernel));
    bound.back().behind_barrier = barriers[bound.size() - 1];
  }
  if (handle_.cpu()) warm_up(bound, object);
  record(*prepared, bound);
  return prepared;
}

// For the child process that tries pipelines: makes the pipeline as prepare() does, but no program.
void Preparer::compile(const gpu::KernelLaunch& launch) {
  const std::string object = launch.kernel + " on " + handle_.id();
  const OwnedDescriptorPool descriptors = make_descriptors({&launch, 1}, 0, object);
  Bound bound = bind(launch, descriptors.get(), object);
  if (handle_.cpu()) warm_up({&bound, 1}, object);
}

// Notes each slot of weights once, if the device has a copy of its own.
void Preparer::copy_weights(const gpu::CopiedRegions& regions, Prepared& prepared) {
  std::set<const sync::Slot*> seen;
  for (const Region& region : regions.weights) {
    if (!seen.insert(region.at.slot).second) continue;
    if (auto copy = memory_.copy_of(*region.at.slot)) prepared.weights.push_back(std::move(*copy));
  }
}

// The dispatch starts at the part's first panel and has a group for each of its panels.
void Preparer::add_rearrangements(std::span<const gpu::PanelRange> ranges, Prepared& prepared,
                                  const std::string& object) {
  for (const gpu::PanelRange& range : ranges) {
    const auto record = [bound = bind(gpu::rearrange(range), prepared.descriptors.get(), object), range](
                            VkCommandBuffer commands, const gpu::RearrangedBytes::Part& part) {
      Bound partial = bound;
      partial.push[0] += static_cast<uint32_t>((part.begin - range.begin()) / sizeof(uint32_t));
      partial.groups[1] = static_cast<uint32_t>((part.end - part.begin) / range.panel_bytes());
      partial.record(commands, partial.groups);
    };
    prepared.rearrangements.push_back({range, memory_.copy_of(*range.at.slot)->state, record});
  }
}

// Gives each region to be copied a place in one staging buffer, uploads first.
void Preparer::stage(const gpu::CopiedRegions& regions, Prepared& prepared) {
  uint64_t bytes = 0;
  auto place = [&](const std::vector<Region>& from, std::vector<Staged>& to) {
    for (const Region& region : from) {
      to.push_back({region, bytes});
      bytes += static_cast<uint64_t>(region.rows) * region.width_bytes;
    }
  };
  place(regions.uploads, prepared.uploads);
  place(regions.downloads, prepared.downloads);
  prepared.staged_bytes = bytes;
  prepared.staging = allocate_staging(handle_, std::max<uint64_t>(bytes, 4), "staging of " + prepared.name);
}

// Order of the commands: uploads, launches with their barriers, downloads, and a last barrier. Copies from the staging
// buffer are ordered among themselves only if their regions overlap.
void Preparer::record(Prepared& prepared, std::span<const Bound> launches) {
  const std::string object = prepared.name + " on " + handle_.id();
  prepared.pool = make_command_pool(handle_, object);
  const VkCommandBuffer commands = prepared.commands = allocate_commands(handle_, prepared.pool.get(), object);
  auto begin = typed<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  // Several launches of a program may be in flight at once.
  begin.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
  check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer", object);
  auto copy = [&](const Staged& staged, bool up) {
    const VkBuffer staging = prepared.staging.buffer.get(), slot = memory_.buffer(*staged.region.at.slot);
    const std::vector<VkBufferCopy> rows = copies(staged, up);
    vkCmdCopyBuffer(commands, up ? staging : slot, up ? slot : staging, static_cast<uint32_t>(rows.size()),
                    rows.data());
  };
  const Synchronization& order = handle_.synchronization();
  // Copies take part in the order only if memory is not shared.
  const Actors actors = memory_.shared() ? kShaders : kShaders | kTransfers;
  std::vector<Region> unordered;  // regions filled since the last barrier; overlapping ones need an order
  for (const Staged& staged : prepared.uploads) {
    const auto overlapped = [&](const Region& region) { return overlaps(region, staged.region); };
    if (std::ranges::any_of(unordered, overlapped)) {
      order.barrier(commands, kTransfers, kTransfers);
      unordered.clear();
    }
    copy(staged, true);
    unordered.push_back(staged.region);
  }
  if (!prepared.uploads.empty()) order.barrier(commands, kTransfers, kShaders);
  for (const Bound& launch : launches) {
    if (launch.behind_barrier) order.barrier(commands, kShaders, kShaders);
    launch.record(commands, launch.groups);
  }
  prepared.dispatches = launches.size();
  if (!prepared.downloads.empty()) order.barrier(commands, actors, kTransfers);
  for (const Staged& staged : prepared.downloads) copy(staged, false);
  order.barrier(commands, actors, actors | kHost);  // covers later submissions too
  check(vkEndCommandBuffer(commands), "vkEndCommandBuffer", object);
}

// lavapipe compiles a pipeline at its first dispatch. The compiler takes 15 to 220 ms on the queue's thread, which
// looks like a hung step and ruins the first prediction. A dispatch of no work-groups makes it compile, and touches
// no memory.
void Preparer::warm_up(std::span<Bound> launches, const std::string& object) {
  // A pipeline that several launches share is dispatched once.
  std::vector<Bound*> cold;
  for (Bound& launch : launches) {
    if (!launch.pipeline->warm) cold.push_back(&launch);
    launch.pipeline->warm = true;
  }
  if (cold.empty()) return;
  run_now(handle_, "warming up " + object, kWarmUpDeadline, [&](VkCommandBuffer commands) {
    for (const Bound* launch : cold) {
      launch->record(commands, {0, 1, 1});
      full_barrier(handle_, commands);  // the validation layers count it as a launch
    }
  });
}

void rearrange(Handle& handle, const Prepared& prepared) {
  std::vector<std::function<void(VkCommandBuffer)>> dispatches;
  for (const Rearrangement& one : prepared.rearrangements) {
    for (const auto& part : one.state->rearranged.add(one.range.begin(), one.range.end()))
      dispatches.push_back([&one, part](VkCommandBuffer commands) { one.record(commands, part); });
  }
  if (dispatches.empty()) return;
  try {
    run_now(handle, "weights of " + prepared.name, kCopyDeadline, [&](VkCommandBuffer commands) {
      for (const auto& dispatch : dispatches) dispatch(commands);
    });
  } catch (const Error&) {
    for (const Rearrangement& one : prepared.rearrangements) *one.state = {};
    throw;
  }
}

void upload(Handle& handle, const WeightsCopy& weights) {
  const size_t bytes = weights.slot->size_bytes();
  const Region whole{{weights.slot, 0}, 1, bytes, bytes};
  const auto copy = [&weights](const sync::Slot&) { return weights.buffer; };
  store_regions(handle, copy, std::span(&whole, 1));
  // Set last, so that the next launch tries again after a failure.
  *weights.state = {weights.slot->times_acquired(), {}};
}

}  // namespace tandem::vulkan
