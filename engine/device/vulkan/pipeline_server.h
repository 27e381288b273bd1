// The child process of Pipelines: makes pipelines, and dispatches them where the driver compiles then.
//
// Contract: serve_jobs() (proof/job_server.h) with jobs of pipeline_job.h.
#pragma once

#include <functional>
#include <string>

namespace tandem {

// device: vulkan:N; record: compiled_files.h.
void serve_pipelines(int device, const std::string& record, const std::function<void(const std::string&)>& answer);

}  // namespace tandem
