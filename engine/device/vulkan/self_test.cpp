#include "engine/device/vulkan/self_test.h"

#include <chrono>
#include <cstring>
#include <string_view>

#include "engine/device/gpu/matrix_unit_case.h"
#include "engine/device/gpu/product_kernels.h"
#include "engine/device/vulkan/prepared.h"
#include "engine/device/vulkan/sync_probe.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "sync/pool.h"

namespace tandem::vulkan {
namespace {

using gpu::microseconds_since, gpu::test_policy;
constexpr std::chrono::milliseconds kBound{5000};  // generous: the first dispatch of a shader may compile it

// Dispatches a kernel once, on whole buffers, and waits for its end. launch: names the kernel, without arguments.
// values: arguments behind the buffers. Push constants are the buffers' offsets, all 0, and then the values. It uses
// none of the executor's machinery, which is tested later.
void run_once(Handle& handle, Pipelines& pipelines, gpu::KernelLaunch launch, std::span<const VkBuffer> buffers,
              std::span<const uint32_t> values, uint32_t groups) {
  const std::string object = launch.kernel + " on " + handle.id();
  launch.args.assign(buffers.size(), gpu::BufferArg{});
  for (const uint32_t value : values) launch.args.emplace_back(value);
  const Pipeline& pipeline = pipelines.of(launch, object);

  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, static_cast<uint32_t>(buffers.size())};
  auto pool_info = typed<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  pool_info.maxSets = pool_info.poolSizeCount = 1;
  pool_info.pPoolSizes = &size;
  const auto pool =
      make<OwnedDescriptorPool>(vkCreateDescriptorPool, handle.device(), pool_info, "vkCreateDescriptorPool", object);
  auto set_info = typed<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
  set_info.descriptorPool = pool.get();
  set_info.descriptorSetCount = 1;
  set_info.pSetLayouts = &pipeline.set_layout.get();
  VkDescriptorSet set = VK_NULL_HANDLE;
  check(vkAllocateDescriptorSets(handle.device(), &set_info, &set), "vkAllocateDescriptorSets", object);
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    const VkDescriptorBufferInfo whole{buffers[i], 0, VK_WHOLE_SIZE};
    auto write = typed<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
    write.dstSet = set;
    write.dstBinding = i;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &whole;
    vkUpdateDescriptorSets(handle.device(), 1, &write, 0, nullptr);
  }
  std::vector<uint32_t> push(buffers.size(), 0);
  push.insert(push.end(), values.begin(), values.end());
  run_now(handle, object, kBound, [&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline.get());
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout.get(), 0, 1, &set, 0, nullptr);
    vkCmdPushConstants(commands, pipeline.layout.get(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                       static_cast<uint32_t>(push.size() * sizeof(uint32_t)), push.data());
    vkCmdDispatch(commands, groups, 1, 1);
  });
}

void run_probe(Handle& handle, Pipelines& pipelines, const char* kernel, std::span<const VkBuffer> buffers,
               std::span<const uint32_t> values, uint32_t groups) {
  gpu::KernelLaunch launch;
  launch.source = "probe";
  launch.kernel = kernel;
  run_once(handle, pipelines, std::move(launch), buffers, values, groups);
}

// Results of a kernel of probe.comp for `in`. It runs one work-group for each of `cases`, and each case has
// `each` results.
template <typename Out, typename In>
std::vector<Out> computed(Handle& handle, Pipelines& pipelines, const char* kernel, const std::vector<In>& in,
                          size_t cases, size_t each) {
  const std::string object = std::string(kernel) + " on " + handle.id();
  std::vector<Out> out(cases * each);
  const Allocation in_buffer = allocate_staging(handle, in.size() * sizeof(In), object);
  const Allocation out_buffer = allocate_staging(handle, out.size() * sizeof(Out), object);
  std::memcpy(in_buffer.data, in.data(), in.size() * sizeof(In));
  const VkBuffer buffers[] = {in_buffer.buffer.get(), out_buffer.buffer.get()};
  run_probe(handle, pipelines, kernel, buffers, {}, static_cast<uint32_t>(cases));
  std::memcpy(out.data(), out_buffer.data, out.size() * sizeof(Out));
  return out;
}

Allocation staging_of(Handle& handle, const void* from, size_t bytes, const std::string& object) {
  Allocation staging = allocate_staging(handle, bytes, object);
  std::memcpy(staging.data, from, bytes);
  return staging;
}

// [tokens, rows]: the product of a case by the kernel that the context gives it.
std::vector<float> product_of(const gpu::MatrixUnitCase& units, const gpu::LoweringContext& context, Handle& handle,
                              Pipelines& pipelines) {
  const std::string object = "test of matrix units on " + handle.id();
  const gpu::ProductShape shape{
      .format = units.format, .act_i8 = true, .tokens = gpu::MatrixUnitCase::kTokens, .row_pieces = true};
  const Allocation w = staging_of(handle, units.pieces.data(), units.pieces.size(), object);
  const Allocation x = staging_of(handle, units.codes.data(), units.codes.size() * sizeof(ActBlock), object);
  std::vector<float> sums(gpu::MatrixUnitCase::kSums, -1.0f);
  const Allocation y = staging_of(handle, sums.data(), sums.size() * sizeof(float), object);
  const VkBuffer buffers[] = {w.buffer.get(), x.buffer.get(), y.buffer.get()};
  std::vector<uint32_t> values = {static_cast<uint32_t>(units.panel.size())};
  for (const int32_t size : gpu::MatrixUnitCase::sizes()) values.push_back(static_cast<uint32_t>(size));
  run_once(handle, pipelines, product_launch(product_kernel(shape, context), shape, kPanelRows, context), buffers,
           values, 1);
  std::memcpy(sums.data(), y.data, sums.size() * sizeof(float));
  return sums;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Why the doorbell policy is not tested on this device.
std::string no_doorbell(const Handle& handle, int64_t loop_budget) {
  if (loop_budget > 0) {
    return "no shader can stay: the driver ends an invocation's loops after " + std::to_string(loop_budget) +
           " iterations";
  }
  return handle.cpu() ? "Tandem has no shader that stays, only an OpenCL kernel"
                      : "a GPU may end a shader that stays for long";
}

}  // namespace

// Imports a slot, then lets the shader increment words twice that the host has written after the import.
Proof prove_zero_copy(Handle& handle, Pipelines& pipelines) {
  constexpr uint32_t kWords = 1024;
  sync::Pool pool;
  sync::Slot& slot = pool.acquire(kWords * sizeof(uint32_t), sync::SlotUse::activations, "zero-copy test");
  try {
    const Allocation import = import_host(handle, slot.data(), slot.size_bytes(), "zero-copy test on " + handle.id());
    // Two rounds with different values, so that a copy made at the import does not pass.
    for (uint32_t round = 0; round < 2; ++round) {
      for (uint32_t i = 0; i < kWords; ++i) slot.as<uint32_t>()[i] = 1000 * round + i;
      run_probe(handle, pipelines, "probe_increment", {&import.buffer.get(), 1}, {}, kWords);
      for (uint32_t i = 0; i < kWords; ++i) {
        if (slot.as<uint32_t>()[i] != 1000 * round + i + 1)
          return {false, "shader and host do not see each other's stores in imported memory"};
      }
    }
  } catch (const Error& error) {
    return {false, error.what()};
  }
  return {true, "VK_EXT_external_memory_host: shader and host saw each other's stores"};
}

bool prove_fused_fma(Handle& handle, Pipelines& pipelines) {
  const std::vector<float> in = gpu::fma_cases();
  const std::vector<float> out = computed<float>(handle, pipelines, "probe_fma", in, in.size() / 3, 1);
  return gpu::rounded_once(in, out);
}

// Each case is a pair of numbers with two results: the quotient, and the root of the first number.
bool prove_quotients(Handle& handle, Pipelines& pipelines) {
  const std::vector<float> in = gpu::quotient_cases();
  const std::vector<float> out = computed<float>(handle, pipelines, "probe_quotient", in, in.size() / 2, 2);
  return gpu::divided_exactly(in, out);
}

bool prove_packed_dot(Handle& handle, Pipelines& pipelines) {
  if (!handle.has_integer_dot_product()) return false;
  const std::vector<uint32_t> in = gpu::packed_dot_cases();
  try {
    return gpu::dot_is_exact(in, computed<int32_t>(handle, pipelines, "probe_dot", in, in.size() / 2, 1));
  } catch (const Error&) {
    return false;  // shaders then multiply one by one, with the same sums
  }
}

// Without fused fma the host's bits are no reference, so products without units are.
bool prove_matrix_units(Handle& handle, Pipelines& pipelines, const gpu::LoweringContext& context, bool fused_fma) {
  gpu::LoweringContext plain = context;
  plain.matrix_units = gpu::MatrixUnits::none;
  try {
    for (const gpu::MatrixUnitCase& units : gpu::matrix_unit_cases()) {
      const std::vector<float> sums = product_of(units, context, handle, pipelines);
      const bool same =
          fused_fma ? units.has_plain_bits(sums) : same_bits(sums, product_of(units, plain, handle, pipelines));
      if (!same) return false;
    }
    return true;
  } catch (const Error&) {
    return false;  // the driver does not compile them; shaders then multiply four bytes at a time, or one by one
  }
}

// The shader counts its iterations. A driver may end loops early and report nothing (docs/drivers.md).
int64_t find_loop_budget(Handle& handle, Pipelines& pipelines) {
  // More than the 65,535 iterations after which lavapipe ends loops.
  constexpr uint32_t kWanted = 70000;
  const Allocation counted = allocate_staging(handle, sizeof(uint32_t), "loop test on " + handle.id());
  const uint32_t values[] = {kWanted};
  run_probe(handle, pipelines, "probe_loop", {&counted.buffer.get(), 1}, values, 1);
  uint32_t count = 0;
  std::memcpy(&count, counted.data, sizeof count);
  return count == kWanted ? 0 : count;
}

// Without shared memory only the fence is tested, and flags are the host thread's. Otherwise a probe of each policy
// runs one step.
std::vector<PolicyTest> test_policies(Handle& handle, Pipelines& pipelines, bool shared, int64_t loop_budget,
                                      const Precautions& precautions) {
  std::vector<PolicyTest> tests;
  const std::string submitted = std::string(", submitted by ") + handle.synchronization().submit_call();
  if (!shared) {
    tests.push_back(test_policy(sync::Policy::blocking, precautions, [&] {
      const auto begin = Clock::now();
      run_now(handle, "self-test on " + handle.id(), kBound, [](VkCommandBuffer) {});
      return "a fence was waited for within " + microseconds_since(begin) + submitted;
    }));
    for (const sync::Policy policy : {sync::Policy::event, sync::Policy::spin, sync::Policy::predict})
      tests.push_back({policy, true, "flags are raised by the device's host thread: memory is not shared"});
    for (const sync::Policy policy : {sync::Policy::gate, sync::Policy::doorbell})
      tests.push_back({policy, false, "memory is not shared"});
    return tests;
  }
  for (const sync::Policy policy :
       {sync::Policy::blocking, sync::Policy::event, sync::Policy::spin, sync::Policy::predict, sync::Policy::gate}) {
    tests.push_back(test_policy(policy, precautions, [&] {
      const auto probe = make_sync_probe(handle, pipelines, policy, 0);
      probe->arm();
      const auto begin = Clock::now();
      probe->start();
      probe->wait(0, kBound);
      return "a step's end was seen after " + microseconds_since(begin) +
             (policy == sync::Policy::blocking ? submitted : "");
    }));
  }
  tests.push_back({sync::Policy::doorbell, false, no_doorbell(handle, loop_budget)});
  return tests;
}

}  // namespace tandem::vulkan
