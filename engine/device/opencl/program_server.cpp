#include "engine/device/opencl/program_server.h"

#include <sys/mman.h>

#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/opencl/platform.h"
#include "engine/device/opencl/program_files.h"
#include "engine/device/opencl/program_job.h"
#include "engine/device/opencl/shadow_pages.h"
#include "engine/device/proof/job_server.h"
#include "sync/error.h"

namespace tandem {
namespace opencl {
namespace {

// Opens the device by itself, without its tests: a context and one in-order queue are enough for jobs.
class ProgramServer {
 public:
  ProgramServer(const ProgramService& service, const FoundDevice& found)
      : id_("opencl:" + std::to_string(service.device)),
        device_(found.device),
        files_(service.program_folder, device_) {
    cl_int code = CL_SUCCESS;
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                          reinterpret_cast<cl_context_properties>(found.platform()), 0};
    context_ = cl::Context(device_, properties, nullptr, nullptr, &code);
    check(code, "clCreateContext", id_);
    queue_ = cl::CommandQueue(context_, device_, 0, &code);
    check(code, "clCreateCommandQueue", id_);
  }

  // Returns the keys of jobs that went well. Error for what the driver reports.
  std::vector<uint64_t> perform(const ProgramJob& job) {
    if (job.task == ProgramJob::Task::keep) return keep(job);
    const cl::Program& program = built(job.program);
    if (job.task == ProgramJob::Task::launch) launch(program, job);
    // keep() will repeat the job on the kept form of its program.
    jobs_.push_back(job);
    return {key_of(id_, job)};
  }

 private:
  // Builds each program once in this process, from its kept form or from source, and creates all its kernels.
  const cl::Program& built(const ProgramText& wanted) {
    ProgramJob build;
    build.program = wanted;
    const uint64_t key = key_of(id_, build);
    if (const auto known = programs_.find(key); known != programs_.end()) return known->second;
    cl_int code = CL_SUCCESS;
    cl::Program program;
    if (wanted.kept) {
      const auto binary = files_.load(wanted.text, wanted.options);
      // The file was there when the other process asked (ProgramCache::kept).
      if (!binary) throw Error("the compiled program is not there any more", id_);
      program = cl::Program(context_, {device_}, {*binary}, nullptr, &code);
    } else {
      program = cl::Program(context_, wanted.text, false, &code);
    }
    check(code, "clCreateProgram", id_);
    check(program.build(device_, wanted.options.c_str()), "clBuildProgram", id_);
    std::vector<cl::Kernel> kernels;
    check(program.createKernels(&kernels), "clCreateKernelsInProgram", id_);
    return programs_.emplace(key, program).first->second;
  }

  // Launches on zeroed memory. One work-group in each dimension is enough, unless the grid has so many groups that the
  // driver compiles another form (many_groups()).
  void launch(const cl::Program& program, const ProgramJob& job) {
    cl_int code = CL_SUCCESS;
    cl::Kernel kernel(program, job.kernel.c_str(), &code);
    check(code, "clCreateKernel", job.kernel);
    std::vector<std::unique_ptr<ShadowPages>> pages;
    std::vector<cl::Buffer> buffers;
    for (const uint64_t bytes : job.buffers) {
      pages.push_back(std::make_unique<ShadowPages>(bytes));
      // A list begins with its first record, so an empty list must begin with END (list_launcher.cpp).
      if (pages.size() == 1 && bytes >= sizeof job.first_word && job.first_word != 0)
        std::memcpy(pages.back()->data(), &job.first_word, sizeof job.first_word);
      buffers.emplace_back(context_, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, pages.back()->data(), &code);
      check(code, "clCreateBuffer", job.kernel);
    }
    cl_uint index = 0;
    for (const JobArgument& argument : job.arguments) {
      if (const auto* buffer = std::get_if<JobBuffer>(&argument)) {
        const cl_mem memory = buffers[buffer->number]();
        code = kernel.setArg(index++, sizeof memory, &memory);
      } else if (const auto* address = std::get_if<JobAddress>(&argument)) {
        // The list kernel gets the host's address of its list as a number.
        const auto value = reinterpret_cast<uintptr_t>(pages[address->number]->data());
        code = kernel.setArg(index++, sizeof value, &value);
      } else {
        const std::string& bytes = std::get<std::string>(argument);
        code = kernel.setArg(index++, bytes.size(), bytes.data());
      }
      check(code, "clSetKernelArg", job.kernel);
    }
    std::array<size_t, 3> items{}, group{};
    const auto many = many_groups(job.global, job.local);
    for (size_t d = 0; d < 3; ++d) group[d] = job.local[d], items[d] = many[d] ? job.global[d] : job.local[d];
    code = queue_.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(items[0], items[1], items[2]),
                                       cl::NDRange(group[0], group[1], group[2]));
    check(code, "clEnqueueNDRangeKernel", job.kernel);
    check(queue_.finish(), "clFinish", job.kernel);
  }

  // Asks the driver for the program's compiled form and saves it. Then repeats all jobs that went well with the source
  // on the saved form, so that this form is known to go well too.
  std::vector<uint64_t> keep(const ProgramJob& job) {
    const cl::Program& program = built(job.program);
    std::vector<std::vector<unsigned char>> binaries;
    check(program.getInfo(CL_PROGRAM_BINARIES, &binaries), "clGetProgramInfo", id_);
    // A driver without a compiled form is no error: nothing is kept.
    if (binaries.size() != 1 || binaries.front().empty()) return {};
    if (const std::string why = files_.save(job.program.text, job.program.options, binaries.front()); !why.empty())
      throw proof::Unwritten(why);
    std::vector<uint64_t> keys;
    const std::vector<ProgramJob> known = jobs_;
    for (ProgramJob again : known) {
      if (again.program.kept || again.program.text != job.program.text || again.program.options != job.program.options)
        continue;
      again.program.kept = true;
      const cl::Program& kept = built(again.program);
      if (again.task == ProgramJob::Task::launch) launch(kept, again);
      keys.push_back(key_of(id_, again));
    }
    // A process that uses the kept form first builds it, so the build has a key too.
    ProgramJob build;
    build.program = job.program;
    build.program.kept = true;
    built(build.program);
    keys.push_back(key_of(id_, build));
    return keys;
  }

  const std::string id_;
  const cl::Device device_;
  const ProgramFiles files_;
  cl::Context context_;
  cl::CommandQueue queue_;
  std::map<uint64_t, cl::Program> programs_;
  std::vector<ProgramJob> jobs_;  // jobs that went well in this process
};

}  // namespace
}  // namespace opencl

// A device with another number or name ends this process with OtherDevice, before any job is done.
void serve_programs(const ProgramService& service, const std::function<void(const std::string&)>& answer) {
  using namespace opencl;
  const std::vector<FoundDevice> found = find_devices();
  const bool exists = service.device >= 0 && static_cast<size_t>(service.device) < found.size();
  const std::string name =
      exists ? found[static_cast<size_t>(service.device)].device.getInfo<CL_DEVICE_NAME>() : std::string();
  if (!exists || name != service.name)
    throw proof::OtherDevice("opencl:" + std::to_string(service.device), service.name, name);
  ProgramServer server(service, found[static_cast<size_t>(service.device)]);
  proof::CompiledFiles files(service.record, service.driver_folder);
  const auto perform = [&](const std::string& question) -> proof::Performed {
    const auto job = read_job(question);
    if (!job) throw Error("that is no job", "standard input");
    return {server.perform(*job), job->task == ProgramJob::Task::keep};
  };
  proof::serve_jobs(files, perform, answer);
}

}  // namespace tandem
