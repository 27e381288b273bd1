// The child process of Pipelines: makes pipelines, and dispatches them if the driver compiles at the first dispatch.
//
// Contract: serves jobs of pipeline_job.h by serve_jobs() (proof/job_server.h). Throws proof::OtherDevice if the device
// of this number has another name.
#pragma once

#include <functional>
#include <string>

namespace tandem {

struct PipelineService {
  int device = 0;      // vulkan:N
  std::string name;    // the device's name, as the driver says
  std::string record;  // path of the record (proof/compiled_files.h)
};
void serve_pipelines(const PipelineService& service, const std::function<void(const std::string&)>& answer);

}  // namespace tandem
