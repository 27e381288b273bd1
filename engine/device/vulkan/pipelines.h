// Shaders become pipelines, once per (source, kernel, options).
//
// Contract: options are the macros of a KernelLaunch; each is the specialisation constant of that name. Error when
// there is no such shader, when it has no such constant, or when it binds other arguments than the launch has. Threads:
// one. Ownership: keeps every pipeline until it is destroyed.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "engine/device/gpu/launch.h"
#include "engine/device/vulkan/handle.h"
#include "engine/device/vulkan/pipeline_file.h"
#include "engine/device/vulkan/spirv.h"

namespace tandem::vulkan {

struct Pipeline {
  OwnedSetLayout set_layout;
  OwnedPipelineLayout layout;
  OwnedPipeline pipeline;
  bool warm = false;  // it has been dispatched: a driver that compiles at the first dispatch has done so
};

class Pipelines {
 public:
  Pipelines(const Handle& handle, PipelineFile file);
  ~Pipelines();  // keeps what the driver compiled in the file
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;
  Pipeline& of(const gpu::KernelLaunch& launch, const std::string& object);
  // From now on shaders correct the driver's quotients and roots (shaders/quotient.glsl); before any other pipeline.
  void correct_quotients();

 private:
  Pipeline build(const gpu::KernelLaunch& launch, const std::string& object);

  const Handle& handle_;
  bool corrects_quotients_ = false;
  PipelineFile file_;
  size_t loaded_bytes_ = 0;
  OwnedPipelineCache cache_;
  std::map<std::tuple<std::string, std::string, std::string>, Pipeline> pipelines_;
};

size_t buffer_count(const gpu::KernelLaunch& launch);  // of its arguments

}  // namespace tandem::vulkan
