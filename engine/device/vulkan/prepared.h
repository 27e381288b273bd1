// A program that is ready to launch: descriptor sets, a command buffer that is recorded once, and the regions to copy.
//
// Contract: the commands may be submitted again and again, also while an earlier submission runs. Submissions to one
// queue take effect in their order. If memory is not shared, the command buffer copies between slots and the staging
// buffer. The launcher fills the staging buffer before a launch and empties it afterwards.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/gpu/fused.h"
#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/regions.h"
#include "engine/device/gpu/row_pieces.h"
#include "engine/device/gpu/scratch.h"
#include "engine/device/vulkan/commands.h"
#include "engine/device/vulkan/memory.h"
#include "engine/device/vulkan/pipelines.h"
#include "sync/duration_predictor.h"
#include "sync/waiter.h"

namespace tandem::vulkan {

// A region and its place in the staging buffer, where its rows lie one after the other.
struct Staged {
  Region region;
  uint64_t at = 0;
};

// Panels that the program's kernels read in pieces of rows (gpu/row_pieces.h), and the dispatch that rearranges those
// from byte `begin` to `end` of their slot.
struct Rearrangement {
  gpu::PanelRange range;
  std::shared_ptr<CopyState> state;
  std::function<void(VkCommandBuffer, const gpu::RearrangedBytes::Part&)> record;
};

struct Prepared {
  // Shared, because a program may outlive its device, and destroying its objects needs the handle.
  std::shared_ptr<Handle> handle;
  std::string name;  // first operator's (.. last's)
  OwnedDescriptorPool descriptors;
  OwnedCommandPool pool;
  VkCommandBuffer commands = VK_NULL_HANDLE;  // allocated from `pool`
  size_t dispatches = 0;                      // in `commands`
  std::vector<WeightsCopy> weights;           // uploaded before a launch reads them for the first time
  std::vector<Rearrangement> rearrangements;  // behind these uploads
  uint64_t arranged_behind = 0;               // the launcher's count of uploads when they were last looked at
  std::vector<PartsCopy> divided;             // changed parts are uploaded before each launch
  std::vector<Staged> uploads, downloads;     // copied around every launch if memory is not shared
  Allocation staging;
  uint64_t staged_bytes = 0;                     // of all uploads and downloads
  sync::DurationPredictor duration, flag_waits;  // used by the launcher's thread
  const Program* owner = nullptr;                // identity in DeviceSpan; never dereferenced

  void fill_staging() const;   // from the slots
  void empty_staging() const;  // to the slots
};

class Preparer {
 public:
  // own_pool: for the device's own memory.
  Preparer(std::shared_ptr<Handle> handle, Pipelines& pipelines, SlotMemory& memory, sync::Pool& own_pool,
           gpu::LoweringContext context);
  std::shared_ptr<Prepared> prepare(std::span<const Operator> operators, const KeptSlots& kept = {});
  // Makes the driver compile everything that a launch needs. The launch has no operands.
  void compile(const gpu::KernelLaunch& launch);
  const gpu::LoweringContext& context() const { return context_; }

 private:
  struct Bound;
  Bound bind(const gpu::KernelLaunch& launch, VkDescriptorPool pool, const std::string& object);
  OwnedDescriptorPool make_descriptors(std::span<const gpu::KernelLaunch> launches, size_t rearrangements,
                                       const std::string& object);
  VkDescriptorSet make_set(VkDescriptorPool pool, const Pipeline& pipeline, const std::string& object);
  void copy_weights(const gpu::CopiedRegions& regions, Prepared& prepared);
  void add_rearrangements(std::span<const gpu::PanelRange> ranges, Prepared& prepared, const std::string& object);
  void stage(const gpu::CopiedRegions& regions, Prepared& prepared);
  void record(Prepared& prepared, std::span<const Bound> launches);
  void warm_up(std::span<Bound> launches, const std::string& object);

  std::shared_ptr<Handle> shared_handle_;
  Handle& handle_;
  Pipelines& pipelines_;
  SlotMemory& memory_;
  gpu::Scratch scratch_;
  gpu::LoweringContext context_;
  Allocation dummy_;  // bound for absent operands
};

// Rearranges the panels of the program's weights that are not in pieces of rows yet. After a failure the weights count
// as not uploaded.
void rearrange(Handle& handle, const Prepared& prepared);

// Fills the device's copy of weights through pieces of a staging buffer. The host must have written the slot before.
void upload(Handle& handle, const WeightsCopy& weights);

}  // namespace tandem::vulkan
