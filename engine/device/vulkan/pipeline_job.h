// A pipeline to be made, and dispatched once where the driver compiles then: what a child process does before this one
// does it (pipelines.h). Plain values that travel between the two.
//
// All functions are pure. read_job() gives nothing for bytes that are no job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/device/gpu/launch.h"

namespace tandem::vulkan {

struct PipelineJob {
  gpu::KernelLaunch launch;  // of its arguments only the kinds count: all buffers are absent, all words are 0
  bool corrects_quotients = false;
};

// Names what is tried of a device ("vulkan:0"): jobs with one key make a driver compile, or load, the same.
uint64_t key_of(const std::string& device, const PipelineJob& job);

std::string write_job(const PipelineJob& job);
std::optional<PipelineJob> read_job(std::string_view bytes);

}  // namespace tandem::vulkan
