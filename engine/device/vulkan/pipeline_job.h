// The description of a trial: a pipeline to make, and to dispatch once if the driver compiles at the first dispatch. A
// child process does it before this process does it (pipelines.h).
//
// Contract: plain values that travel between the two processes as bytes. All functions are pure. read_job() returns
// nothing for bytes that are no job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/device/gpu/launch.h"

namespace tandem::vulkan {

struct PipelineJob {
  gpu::KernelLaunch launch;  // only the kinds of its arguments count: buffers are absent and words are 0
  bool corrects_quotients = false;
};

// A name for a trial on a device ("vulkan:0"): jobs with one key make a driver compile, or load, the same.
uint64_t key_of(const std::string& device, const PipelineJob& job);

std::string write_job(const PipelineJob& job);
std::optional<PipelineJob> read_job(std::string_view bytes);

}  // namespace tandem::vulkan
