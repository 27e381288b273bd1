#include "engine/device/vulkan/litmus.h"

#include "engine/device/vulkan/commands.h"
#include "engine/device/vulkan/memory.h"
#include "shaders/limits.h"
#include "sync/error.h"

namespace tandem::vulkan {
namespace {

// A walk as a launch, from which Pipelines makes the pipeline.
gpu::KernelLaunch launch_of(const LitmusWalk& walk) {
  gpu::KernelLaunch launch;
  launch.source = launch.kernel = "litmus";
  launch.args = {gpu::BufferArg{}, static_cast<uint32_t>(walk.test), walk.side, walk.round, walk.looks, walk.seed};
  return launch;
}

// One descriptor set, one command buffer that is recorded anew for each walk, and one fence. Memory is imported when a
// walk names another slot.
class VulkanAgent final : public LitmusAgent {
 public:
  // Everything is made once, because a test walks thousands of times.
  VulkanAgent(Handle& handle, Pipelines& pipelines)
      : handle_(handle), object_("litmus.comp on " + handle.id()), pipeline_(pipelines.of(launch_of({}), object_)) {
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    auto descriptors = typed<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
    descriptors.maxSets = descriptors.poolSizeCount = 1;
    descriptors.pPoolSizes = &size;
    descriptors_ = make<OwnedDescriptorPool>(vkCreateDescriptorPool, handle_.device(), descriptors,
                                             "vkCreateDescriptorPool", object_);
    auto set = typed<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
    set.descriptorPool = descriptors_.get();
    set.descriptorSetCount = 1;
    set.pSetLayouts = &pipeline_.set_layout.get();
    check(vkAllocateDescriptorSets(handle_.device(), &set, &set_), "vkAllocateDescriptorSets", object_);
    auto pool = typed<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool.queueFamilyIndex = handle_.queue_family();
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool_ = make<OwnedCommandPool>(vkCreateCommandPool, handle_.device(), pool, "vkCreateCommandPool", object_);
    commands_ = allocate_commands(handle_, pool_.get(), object_);
    const auto fence = typed<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
    fence_ = make<OwnedFence>(vkCreateFence, handle_.device(), fence, "vkCreateFence", object_);
  }
  ~VulkanAgent() override {
    if (running_) vkDeviceWaitIdle(handle_.device());  // the shader's looks are bounded, so this ends
  }

  const std::string& name() const override { return handle_.id(); }
  uint32_t looks() const override { return TANDEM_LITMUS_LOOKS; }
  void start(const LitmusWalk& walk) override {
    if (imported_ != walk.memory) import(*walk.memory);
    record(walk);
    check(vkResetFences(handle_.device(), 1, &fence_.get()), "vkResetFences", object_);
    handle_.submit({{&commands_, 1}}, fence_.get(), object_);
    running_ = true;
  }
  // After a missed deadline running_ stays set, so the destructor waits for the device.
  void finish(std::chrono::milliseconds deadline) override {
    if (!running_) return;
    const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline).count();
    check(vkWaitForFences(handle_.device(), 1, &fence_.get(), VK_TRUE, static_cast<uint64_t>(nanoseconds)),
          "vkWaitForFences", object_);
    running_ = false;
  }
  void release_memory() override {
    imported_ = nullptr;
    memory_ = Allocation();
  }

 private:
  // Replaces the imported memory, and points the descriptor set to it.
  void import(const sync::Slot& slot) {
    release_memory();
    memory_ = import_host(handle_, slot.data(), slot.size_bytes(), object_);
    imported_ = &slot;
    const VkDescriptorBufferInfo whole{memory_.buffer.get(), 0, VK_WHOLE_SIZE};
    auto write = typed<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
    write.dstSet = set_;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &whole;
    vkUpdateDescriptorSets(handle_.device(), 1, &write, 0, nullptr);
  }

  // Push constants: the buffer's offset in words, then the arguments of launch_of().
  void record(const LitmusWalk& walk) {
    const uint32_t push[] = {0, static_cast<uint32_t>(walk.test), walk.side, walk.round, walk.looks, walk.seed};
    auto begin = typed<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    check(vkBeginCommandBuffer(commands_, &begin), "vkBeginCommandBuffer", object_);
    vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_.pipeline.get());
    vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_.layout.get(), 0, 1, &set_, 0, nullptr);
    vkCmdPushConstants(commands_, pipeline_.layout.get(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, push);
    vkCmdDispatch(commands_, 1, 1, 1);
    full_barrier(handle_, commands_);
    check(vkEndCommandBuffer(commands_), "vkEndCommandBuffer", object_);
  }

  Handle& handle_;
  std::string object_;
  const Pipeline& pipeline_;
  OwnedDescriptorPool descriptors_;
  OwnedCommandPool pool_;
  OwnedFence fence_;
  VkDescriptorSet set_ = VK_NULL_HANDLE;       // allocated from descriptors_
  VkCommandBuffer commands_ = VK_NULL_HANDLE;  // allocated from pool_
  Allocation memory_;
  const sync::Slot* imported_ = nullptr;  // compared only, never read
  bool running_ = false;
};

}  // namespace

std::unique_ptr<LitmusAgent> make_litmus_agent(Handle& handle, Pipelines& pipelines) {
  return std::make_unique<VulkanAgent>(handle, pipelines);
}

}  // namespace tandem::vulkan
