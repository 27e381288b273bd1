// Shaders become pipelines, once per (source, kernel, options).
//
// Contract: options are the macros of a KernelLaunch; each is the specialisation constant of that name. Error when
// there is no such shader, when it has no such constant, or when it binds other arguments than the launch has. Threads:
// one. Ownership: keeps every pipeline until it is destroyed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "engine/device/gpu/launch.h"
#include "engine/device/proof/job_trials.h"
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
  // From now on a child process makes each new pipeline first, so that of() throws FatalProgram where a driver does not
  // survive it (proof/job_trials.h).
  void try_first();

 private:
  Pipeline build(const gpu::KernelLaunch& launch, const std::string& object);

  const Handle& handle_;
  bool corrects_quotients_ = false;
  PipelineFile file_;
  size_t loaded_bytes_ = 0;
  OwnedPipelineCache cache_;
  std::unique_ptr<proof::JobTrials> trials_;  // from try_first() on
  std::map<std::tuple<std::string, std::string, std::string>, Pipeline> pipelines_;
};

size_t buffer_count(const gpu::KernelLaunch& launch);  // of its arguments

}  // namespace tandem::vulkan
