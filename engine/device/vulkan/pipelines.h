// Makes pipelines from shaders, once for each (source, kernel, options).
//
// Contract: options are the macros of a KernelLaunch, and each one sets the specialisation constant of its name. Error
// when there is no such shader, when it has no such constant, or when it binds other arguments than the launch has.
// Threads: one. Ownership: keeps every pipeline until it is destroyed.
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
  bool warm = false;  // it was dispatched, so a driver that compiles at the first dispatch has done so
};

class Pipelines {
 public:
  Pipelines(const Handle& handle, PipelineFile file);
  ~Pipelines();  // writes the pipelines that the driver has compiled to the file
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;
  Pipeline& of(const gpu::KernelLaunch& launch, const std::string& object);
  // From now on shaders correct the driver's quotients and roots (shaders/quotient.glsl). Pipelines made before
  // are dropped.
  void correct_quotients();
  // From now on a child process makes each new pipeline first. If a driver does not survive that, of() throws
  // FatalProgram (proof/job_trials.h).
  void try_first();

 private:
  Pipeline build(const gpu::KernelLaunch& launch, const std::string& object);

  const Handle& handle_;
  bool corrects_quotients_ = false;
  PipelineFile file_;
  size_t loaded_bytes_ = 0;
  OwnedPipelineCache cache_;
  std::unique_ptr<proof::JobTrials> trials_;  // set by try_first()
  std::map<std::tuple<std::string, std::string, std::string>, Pipeline> pipelines_;
};

size_t buffer_count(const gpu::KernelLaunch& launch);  // number of buffers among its arguments

}  // namespace tandem::vulkan
