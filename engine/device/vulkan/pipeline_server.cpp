#include "engine/device/vulkan/pipeline_server.h"

#include <memory>
#include <utility>
#include <vector>

#include "engine/device/proof/job_server.h"
#include "engine/device/vulkan/pipeline_job.h"
#include "engine/device/vulkan/pipelines.h"
#include "engine/device/vulkan/prepared.h"

namespace tandem {
namespace vulkan {
namespace {

// Opens the device by itself, without its tests. It keeps no pipeline file and imports no memory, since jobs have
// no operands.
class PipelineServer {
 public:
  explicit PipelineServer(const PipelineService& service)
      : handle_(the_handle(service)),
        pipelines_(*handle_, PipelineFile("", {})),
        memory_(*handle_, false, false),
        preparer_(handle_, pipelines_, memory_, pool_, {}) {}

  static std::shared_ptr<Handle> the_handle(const PipelineService& service) {
    auto handle = std::make_shared<Handle>(service.device, std::vector<int>{}, nullptr);
    if (handle->name() != service.name) throw proof::OtherDevice(handle->id(), service.name, handle->name());
    return handle;
  }

  // Does the job and returns its key. The first job that corrects quotients makes all later pipelines do so.
  uint64_t perform(const PipelineJob& job) {
    if (job.corrects_quotients && !std::exchange(corrects_, true)) pipelines_.correct_quotients();
    preparer_.compile(job.launch);
    return key_of(handle_->id(), job);
  }

 private:
  std::shared_ptr<Handle> handle_;
  Pipelines pipelines_;
  sync::Pool pool_;
  SlotMemory memory_;
  Preparer preparer_;
  bool corrects_ = false;
};

}  // namespace
}  // namespace vulkan

// No folder of the driver is watched for this record, unlike for PoCL's.
void serve_pipelines(const PipelineService& service, const std::function<void(const std::string&)>& answer) {
  using namespace vulkan;
  PipelineServer server(service);
  proof::CompiledFiles files(service.record, "");
  const auto perform = [&](const std::string& question) -> proof::Performed {
    const auto job = read_job(question);
    if (!job) throw Error("that is no job", "standard input");
    return {{server.perform(*job)}, false};
  };
  proof::serve_jobs(files, perform, answer);
}

}  // namespace tandem
