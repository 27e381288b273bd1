// The child process of Pipelines: makes pipelines, and dispatches them where the driver compiles then.
//
// Contract: serve_jobs() (proof/job_server.h) with jobs of pipeline_job.h. proof::OtherDevice where the device of this
// number has another name.
#pragma once

#include <functional>
#include <string>

namespace tandem {

struct PipelineService {
  int device = 0;      // vulkan:N
  std::string name;    // as the driver says
  std::string record;  // compiled_files.h
};
void serve_pipelines(const PipelineService& service, const std::function<void(const std::string&)>& answer);

}  // namespace tandem
