#include "engine/device/vulkan/pipeline_job.h"

#include <nlohmann/json.hpp>

#include "engine/device/proof/compiled_files.h"
#include "shaders/shaders.h"

namespace tandem::vulkan {
namespace {

using nlohmann::json;
constexpr char kBuffer = 'b', kWord = 'w';

// One letter for each argument.
std::string kinds_of(const std::vector<gpu::Arg>& args) {
  std::string kinds;
  for (const gpu::Arg& arg : args) kinds += std::holds_alternative<gpu::BufferArg>(arg) ? kBuffer : kWord;
  return kinds;
}

}  // namespace

// The shaders' own hash is part of the key, since a job names them only.
uint64_t key_of(const std::string& device, const PipelineJob& job) {
  return proof::mixed(write_job(job), proof::mixed(device, shaders_hash()));
}

// The grid and the values of arguments are left out, because a pipeline depends on neither.
std::string write_job(const PipelineJob& job) {
  const gpu::KernelLaunch& launch = job.launch;
  return json{{"source", launch.source},
              {"kernel", launch.kernel},
              {"options", launch.options},
              {"local", launch.local},
              {"arguments", kinds_of(launch.args)},
              {"corrects", job.corrects_quotients}}
      .dump();
}

// The grid is one work-group, which is enough to make a driver compile.
std::optional<PipelineJob> read_job(std::string_view bytes) {
  const json all = json::parse(bytes, nullptr, false);
  if (!all.is_object()) return std::nullopt;
  try {
    PipelineJob job;
    job.launch.source = all.at("source");
    job.launch.kernel = all.at("kernel");
    job.launch.options = all.at("options");
    job.launch.local = all.at("local");
    job.launch.global = job.launch.local;
    job.corrects_quotients = all.at("corrects");
    for (const char kind : all.at("arguments").get<std::string>()) {
      if (kind != kBuffer && kind != kWord) return std::nullopt;
      job.launch.args.push_back(kind == kBuffer ? gpu::Arg{gpu::BufferArg{}} : gpu::Arg{uint32_t{0}});
    }
    return job;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace tandem::vulkan
