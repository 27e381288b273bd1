#include "engine/device/vulkan/sync_probe.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <utility>

#include "engine/device/lab/stepped_probe.h"
#include "engine/device/vulkan/commands.h"
#include "engine/device/vulkan/memory.h"
#include "engine/device/vulkan/timeline.h"
#include "shaders/limits.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem::vulkan {
namespace {

using std::chrono::milliseconds;
using OwnedEvent = Owned<VkEvent, vkDestroyEvent>;

constexpr milliseconds kIdle{20000};  // steps end by themselves once their gates are open

// The common part of all probes: a ring of submissions, each with a command buffer, a fence and an event as its gate.
// The ring bounds the number of submissions in flight, so each entry is reused only after its end.
class VulkanProbe : public SteppedProbe {
 public:
  // shared: shaders write the host's line. Otherwise mapped memory of the device takes its place.
  VulkanProbe(Handle& handle, Pipelines& pipelines, sync::Policy policy, bool shared = true)
      : SteppedProbe(handle.id(), policy, false),
        handle_(handle),
        object_("sync_probe.comp on " + handle.id()),
        pipeline_(pipelines.of(launch(), object_)),
        line_(shared ? import_host(handle, done().slot().data(), done().slot().size_bytes(), object_)
                     : allocate_staging(handle, done().slot().size_bytes(), object_)),
        timeline_(handle) {
    if (!shared) std::memset(line_.data, 0, done().slot().size_bytes());
    make_set();
    auto pool = typed<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool.queueFamilyIndex = handle_.queue_family();
    // The ring's command buffers are recorded anew for each use.
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool_ = make<OwnedCommandPool>(vkCreateCommandPool, handle_.device(), pool, "vkCreateCommandPool", object_);
    const auto fence = typed<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
    const auto event = typed<VkEventCreateInfo>(VK_STRUCTURE_TYPE_EVENT_CREATE_INFO);
    for (Submission& each : ring_) {
      each.commands = allocate_commands(handle_, pool_.get(), object_);
      each.fence = make<OwnedFence>(vkCreateFence, handle_.device(), fence, "vkCreateFence", object_);
      each.gate = make<OwnedEvent>(vkCreateEvent, handle_.device(), event, "vkCreateEvent", object_);
    }
  }
  ~VulkanProbe() override { drain(); }

 protected:
  struct Submission {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    OwnedFence fence;
    OwnedEvent gate;
    uint64_t value = 0;  // value of the timeline at its end
  };

  void begin(uint32_t step) override { submit(step, step, false); }
  void abandon() noexcept override { drain(); }

  // Records and submits steps [first, last], each behind the one before it. gated: the first step waits for the
  // gate's event.
  void submit(uint32_t first, uint32_t last, bool gated) {
    // The entry that was used longest ago.
    Submission& next = ring_[(submitted() + 1) % ring_.size()];
    wait_for_end(next);  // its commands may still run, although the host has seen their flag
    next.value = 0;
    check(vkResetFences(handle_.device(), 1, &next.fence.get()), "vkResetFences", object_);
    check(vkResetEvent(handle_.device(), next.gate.get()), "vkResetEvent", object_);
    auto begin = typed<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    check(vkBeginCommandBuffer(next.commands, &begin), "vkBeginCommandBuffer", object_);
    vkCmdBindPipeline(next.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_.pipeline.get());
    vkCmdBindDescriptorSets(next.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_.layout.get(), 0, 1, &set_, 0,
                            nullptr);
    if (gated) {
      // The event also makes the host's writes visible to the shader.
      auto barrier = typed<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
      barrier.srcAccessMask = VK_ACCESS_HOST_WRITE_BIT;
      barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
      vkCmdWaitEvents(next.commands, 1, &next.gate.get(), VK_PIPELINE_STAGE_HOST_BIT,
                      VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 1, &barrier, 0, nullptr, 0, nullptr);
    }
    for (uint32_t step = first; step != last + 1; ++step) record_step(next.commands, step);
    check(vkEndCommandBuffer(next.commands), "vkEndCommandBuffer", object_);

    // Values of the timeline number the submissions, and submission n uses entry n modulo the ring's size.
    const uint64_t value = submitted() + 1;
    handle_.submit({{&next.commands, 1}, timeline_.get(), value}, next.fence.get(), object_);
    timeline_.will_reach(value);
    next.value = value;
  }
  uint64_t submitted() const { return timeline_.last(); }
  Submission& newest() { return ring_[submitted() % ring_.size()]; }
  bool reached(uint64_t value) const { return timeline_.reached(value, object_); }
  void wait_for(uint64_t value, milliseconds deadline) const { timeline_.wait(value, deadline, object_); }
  // The fence follows the semaphore. Neither may be touched before it is signalled.
  void wait_for_end(const Submission& submission) const {
    if (submission.value == 0) return;  // the entry was never used
    check(vkWaitForFences(handle_.device(), 1, &submission.fence.get(), VK_TRUE, nanoseconds(kIdle)), "vkWaitForFences",
          object_);
  }
  // Opens every gate, so everything submitted ends. Never throws: if the device is lost, the next step shows it.
  void drain() noexcept {
    for (Submission& each : ring_) vkSetEvent(handle_.device(), each.gate.get());
    try {
      for (const Submission& each : ring_) wait_for_end(each);
    } catch (const std::exception&) {
      vkDeviceWaitIdle(handle_.device());
    }
  }

  const std::byte* mapped_line() const { return line_.data + done().offset_bytes(); }  // for lines that are not shared

  Handle& handle_;
  std::string object_;

 private:
  // For the pipeline only the kinds of arguments matter: a buffer and four words.
  static gpu::KernelLaunch launch() {
    gpu::KernelLaunch launch;
    launch.source = launch.kernel = "sync_probe";
    launch.args = {gpu::BufferArg{}, 0u, 0u, 0u, 0u};
    return launch;
  }

  // The set names the line's whole buffer; steps find their line by a push constant.
  void make_set() {
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    auto pool = typed<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
    pool.maxSets = pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    descriptors_ =
        make<OwnedDescriptorPool>(vkCreateDescriptorPool, handle_.device(), pool, "vkCreateDescriptorPool", object_);
    auto set = typed<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
    set.descriptorPool = descriptors_.get();
    set.descriptorSetCount = 1;
    set.pSetLayouts = &pipeline_.set_layout.get();
    check(vkAllocateDescriptorSets(handle_.device(), &set, &set_), "vkAllocateDescriptorSets", object_);
    const VkDescriptorBufferInfo whole{line_.buffer.get(), 0, VK_WHOLE_SIZE};
    auto write = typed<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
    write.dstSet = set_;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &whole;
    vkUpdateDescriptorSets(handle_.device(), 1, &write, 0, nullptr);
  }

  // Cuts a chain into dispatches, because a driver may limit the loops of an invocation (shaders/limits.h).
  void record_step(VkCommandBuffer commands, uint32_t step) {
    uint64_t left = work().iterations;
    bool first = true;
    do {
      const uint64_t links = std::min<uint64_t>(left, TANDEM_PROBE_LINKS);
      left -= links;
      // In the order of shaders/sync_probe.comp: line, step, links, whether the chain begins, whether it ends.
      const uint32_t push[] = {static_cast<uint32_t>(done().offset_bytes() / sizeof(uint32_t)), step,
                               static_cast<uint32_t>(links), std::exchange(first, false), left == 0};
      vkCmdPushConstants(commands, pipeline_.layout.get(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, push);
      vkCmdDispatch(commands, 1, 1, 1);
      handle_.synchronization().barrier(commands, kShaders, kShaders | kHost);
    } while (left > 0);
  }

  const Pipeline& pipeline_;
  Allocation line_;
  Timeline timeline_;
  OwnedDescriptorPool descriptors_;
  VkDescriptorSet set_ = VK_NULL_HANDLE;  // allocated from the pool
  OwnedCommandPool pool_;
  std::array<Submission, 8> ring_;
};

// The shader raises the flag, and the host's waiter of the policy waits for it.
class FlagProbe final : public VulkanProbe {
 public:
  using VulkanProbe::VulkanProbe;
};

// The host waits for the submission's fence.
class FenceProbe final : public VulkanProbe {
 public:
  using VulkanProbe::VulkanProbe;

 protected:
  sync::WaitReport await(uint32_t step, const sync::WaitContext& context) override {
    const auto begin = Clock::now();
    check(vkWaitForFences(handle_.device(), 1, &newest().fence.get(), VK_TRUE, nanoseconds(context.deadline)),
          "vkWaitForFences", object_);
    // The fence follows the step, so the flag must be up.
    if (!done().reached(step)) throw Error("a step was never started", std::string(context.step));
    return {std::chrono::duration<double>(Clock::now() - begin).count(), 0};
  }
};

// Like FenceProbe, but the line is the device's, so fetch() reads it afterwards.
class LaunchProbe final : public VulkanProbe {
 public:
  LaunchProbe(Handle& handle, Pipelines& pipelines) : VulkanProbe(handle, pipelines, sync::Policy::blocking, false) {}

 protected:
  sync::WaitReport await(uint32_t, const sync::WaitContext& context) override {
    const auto begin = Clock::now();
    check(vkWaitForFences(handle_.device(), 1, &newest().fence.get(), VK_TRUE, nanoseconds(context.deadline)),
          "vkWaitForFences", object_);
    return {std::chrono::duration<double>(Clock::now() - begin).count(), 0};
  }
  void fetch() override {
    std::array<uint32_t, 16> words;
    std::memcpy(words.data(), mapped_line(), sizeof words);
    take_line(words);
  }
};

// The host polls the timeline for 200 us, then sleeps until it reaches the step's value.
class TimelineProbe final : public VulkanProbe {
 public:
  using VulkanProbe::VulkanProbe;

 protected:
  sync::WaitReport await(uint32_t step, const sync::WaitContext& context) override {
    constexpr double kPollSeconds = 200e-6;
    const uint64_t value = newest().value;
    const auto begin = Clock::now();
    const auto waited = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
    bool ended = reached(value);
    while (!ended && waited() < kPollSeconds) {
      sched_yield();
      ended = reached(value);
    }
    const double polled = waited();
    if (!ended) wait_for(value, context.deadline);
    if (!done().reached(step)) throw Error("a step was never started", std::string(context.step));
    return {waited(), polled};
  }
};

// A step is submitted ahead behind its gate. Starting the step means setting the gate's event. Later editions of Vulkan
// forbid that order; prepare() shows whether the driver can do it.
class EventGateProbe final : public VulkanProbe {
 public:
  using VulkanProbe::VulkanProbe;

 protected:
  void queue_ahead(uint32_t step) override { submit(step, step, true); }
  void begin(uint32_t) override { open(); }
  bool begin_chain(uint32_t first, uint32_t last) override {
    submit(first, last, true);
    open();
    return true;
  }

 private:
  void open() { check(vkSetEvent(handle_.device(), newest().gate.get()), "vkSetEvent", object_); }
};

}  // namespace

// prepare() runs steps, so a policy that does not work here throws its reason.
std::unique_ptr<SyncProbe> make_sync_probe(Handle& handle, Pipelines& pipelines, sync::Policy policy,
                                           double work_seconds) {
  std::unique_ptr<SteppedProbe> made;
  if (policy == sync::Policy::blocking) {
    made = std::make_unique<FenceProbe>(handle, pipelines, sync::Policy::blocking);
  } else if (policy == sync::Policy::event) {
    made = std::make_unique<TimelineProbe>(handle, pipelines, sync::Policy::event);
  } else if (policy == sync::Policy::gate) {
    made = std::make_unique<EventGateProbe>(handle, pipelines, sync::Policy::gate);
  } else {
    made = std::make_unique<FlagProbe>(handle, pipelines, policy);
  }
  made->prepare(work_seconds);
  return made;
}

std::unique_ptr<SyncProbe> make_launch_probe(Handle& handle, Pipelines& pipelines, double work_seconds) {
  auto made = std::make_unique<LaunchProbe>(handle, pipelines);
  made->prepare(work_seconds);
  return made;
}

}  // namespace tandem::vulkan
