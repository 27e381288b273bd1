#include "engine/device/vulkan/pipelines.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <vector>

#include "engine/device/vulkan/pipeline_job.h"
#include "shaders/shaders.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem::vulkan {
namespace {

struct Specialisation {
  std::vector<VkSpecializationMapEntry> entries;
  std::vector<uint32_t> words;
};

// Sets the specialisation constants that the options name. CORRECTED is set for those shaders that have it, if
// quotients are to be corrected.
Specialisation specialise(const ShaderFacts& facts, std::string options, bool corrects_quotients,
                          const std::string& object) {
  if (corrects_quotients && facts.constants.contains("CORRECTED")) options += " -DCORRECTED=1";
  Specialisation made;
  for (const auto& [name, value] : gpu::constants(options)) {
    const auto found = facts.constants.find(name);
    if (found == facts.constants.end())
      throw Error("the shader has no specialisation constant '" + name + "'", object, "Options: " + options);
    const auto offset = static_cast<uint32_t>(made.words.size() * sizeof(uint32_t));
    made.entries.push_back({found->second.id, offset, sizeof(uint32_t)});
    made.words.push_back(constant_word(found->second.type, value, name + " of " + object));
  }
  return made;
}

// Compares the shader with its launch before the driver does: buffers, push constants, and the size of a work-group.
// Error names the first difference.
void check_arguments(const ShaderFacts& facts, const gpu::KernelLaunch& launch, const Limits& limits,
                     const std::string& object) {
  auto expect = [&](bool holds, const std::string& what) {
    if (!holds) throw Error("the shader and its launch do not fit: " + what, object);
  };
  const size_t buffers = buffer_count(launch);
  expect(facts.bindings <= buffers,
         "it binds " + std::to_string(facts.bindings) + " buffers, the launch has " + std::to_string(buffers));
  expect(facts.push_words == launch.args.size(), "its push constants have " + std::to_string(facts.push_words) +
                                                     " words, the launch has " + std::to_string(launch.args.size()) +
                                                     " arguments");
  expect(4 * facts.push_words <= limits.max_push_bytes,
         "the device takes " + std::to_string(limits.max_push_bytes) + " bytes of push constants");
  const auto [x, y, z] = facts.local_size;
  expect(uint64_t{x} * y * z <= limits.max_invocations,
         "the device's work-groups have " + std::to_string(limits.max_invocations) + " invocations");
  // A launch of single invocations accepts any work-group size of the shader.
  const bool sized = launch.local[0] * launch.local[1] * launch.local[2] > 1;
  expect(!sized || (x == launch.local[0] && y == launch.local[1] && z == launch.local[2]),
         "its work-group is " + std::to_string(x) + " x " + std::to_string(y) + " x " + std::to_string(z));
}

}  // namespace

size_t buffer_count(const gpu::KernelLaunch& launch) {
  return static_cast<size_t>(std::ranges::count_if(
      launch.args, [](const gpu::Arg& arg) { return std::holds_alternative<gpu::BufferArg>(arg); }));
}

// A driver that does not recognise the data begins with an empty cache. So only real errors come back.
Pipelines::Pipelines(const Handle& handle, PipelineFile file) : handle_(handle), file_(std::move(file)) {
  const std::vector<char> kept = file_.load().value_or(std::vector<char>{});
  loaded_bytes_ = kept.size();
  auto info = typed<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  info.initialDataSize = kept.size();
  info.pInitialData = kept.empty() ? nullptr : kept.data();
  cache_ = make<OwnedPipelineCache>(vkCreatePipelineCache, handle.device(), info, "vkCreatePipelineCache", handle.id());
}

// Saves the driver's cache if it has grown since it was loaded. Errors only mean that the next start compiles again.
Pipelines::~Pipelines() {
  size_t bytes = 0;
  if (vkGetPipelineCacheData(handle_.device(), cache_.get(), &bytes, nullptr) != VK_SUCCESS || bytes <= loaded_bytes_)
    return;  // nothing is new
  std::vector<char> data(bytes);
  if (vkGetPipelineCacheData(handle_.device(), cache_.get(), &bytes, data.data()) != VK_SUCCESS) return;
  data.resize(bytes);
  file_.save(data);
}

// Pipelines without the correction are dropped, so that later launches make them anew.
void Pipelines::correct_quotients() {
  pipelines_.clear();
  corrects_quotients_ = true;
}

// The child learns the device's number and name, so that it does not test another device (pipeline_server.h).
void Pipelines::try_first() {
  const std::string id = handle_.id();
  trials_ = std::make_unique<proof::JobTrials>(
      proof::Api::vulkan, id, false,
      [number = id.substr(id.find(':') + 1), name = handle_.name()](const proof::CompiledFiles& files) {
        return std::vector<std::string>{"pipelines", number, name, files.record()};
      });
}

// A pipeline that is not known yet goes to the child first, if try_first() was called.
Pipeline& Pipelines::of(const gpu::KernelLaunch& launch, const std::string& object) {
  // A pipeline depends neither on the launch's grid nor on the values of its arguments.
  const auto key = std::make_tuple(launch.source, launch.kernel, launch.options);
  if (const auto found = pipelines_.find(key); found != pipelines_.end()) return found->second;
  if (trials_) {
    const PipelineJob job{launch, corrects_quotients_};
    const std::string tried = launch.kernel + " (" + launch.options + ") on " + handle_.id();
    trials_->require(key_of(handle_.id(), job), tried, write_job(job));
  }
  return pipelines_.emplace(key, build(launch, object)).first->second;
}

// Makes the pipeline and its two layouts. The descriptor set has a storage buffer for each buffer argument, and the
// push constants have a word for each argument.
Pipeline Pipelines::build(const gpu::KernelLaunch& launch, const std::string& object) {
  const auto words = shader_code(launch.source, launch.kernel);
  if (!words) {
    throw Error("no such shader is embedded", launch.kernel + " of " + launch.source + ".comp, for " + object,
                "Shaders live in shaders/; cmake finds new ones when it runs again");
  }
  const ShaderFacts facts = read_facts(*words, object);
  check_arguments(facts, launch, handle_.limits(), object);
  const Specialisation special = specialise(facts, launch.options, corrects_quotients_, object);
  const VkDevice device = handle_.device();

  Pipeline made;
  std::vector<VkDescriptorSetLayoutBinding> bindings(buffer_count(launch));
  for (uint32_t i = 0; i < bindings.size(); ++i)
    bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  auto sets = typed<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  sets.bindingCount = static_cast<uint32_t>(bindings.size());
  sets.pBindings = bindings.data();
  made.set_layout =
      make<OwnedSetLayout>(vkCreateDescriptorSetLayout, device, sets, "vkCreateDescriptorSetLayout", object);

  const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                 static_cast<uint32_t>(launch.args.size() * sizeof(uint32_t))};
  auto layout = typed<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &made.set_layout.get();
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &push;
  made.layout = make<OwnedPipelineLayout>(vkCreatePipelineLayout, device, layout, "vkCreatePipelineLayout", object);

  // The module is needed only while the pipeline is made.
  auto code = typed<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  code.codeSize = words->size_bytes();
  code.pCode = words->data();
  const auto module = make<OwnedShaderModule>(vkCreateShaderModule, device, code, "vkCreateShaderModule", object);
  const VkSpecializationInfo values{static_cast<uint32_t>(special.entries.size()), special.entries.data(),
                                    special.words.size() * sizeof(uint32_t), special.words.data()};
  auto info = typed<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module.get();
  // The specification wants whole subgroups for shaders with cooperative matrices.
  auto size = typed<VkPipelineShaderStageRequiredSubgroupSizeCreateInfo>(
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
  if (const auto& units = handle_.matrix_units(); facts.has_cooperative_matrices && units) {
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    size.requiredSubgroupSize = units->subgroup_size;
    if (units->has_several_sizes) info.stage.pNext = &size;
  }
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &values;
  info.layout = made.layout.get();
  VkPipeline pipeline = VK_NULL_HANDLE;
  const auto started = Clock::now();
  check(vkCreateComputePipelines(device, cache_.get(), 1, &info, nullptr, &pipeline), "vkCreateComputePipelines",
        object);
  made.pipeline = OwnedPipeline(device, pipeline);
  spdlog::debug("{}: {} of {}.comp ({}) compiled in {:.3f} s", handle_.id(), launch.kernel, launch.source,
                launch.options, seconds_since(started));
  return made;
}

}  // namespace tandem::vulkan
