// tandem-prove INTERFACE FIRST SPARED: opens the devices of an interface, so that a driver which crashes ends this
// process and no other (proof.h). FIRST is the device to begin with, or "list" to open none. SPARED is a JSON array
// with the steps that each device is spared.
//
// Contract: writes JSON objects on standard output, one a line, each before what it announces (verdict_json.h):
//   {"device": {...}}             a device that was found.
//   {"listed"}                    no more devices follow.
//   {"opens": index}              this device is opened next.
//   {"step": text}                this step of opening it comes next.
//   {"lacks": step, "why": text}  the step has shown that something is missing.
//   {"unfit": reason}             the device computes wrong values.
//   {"built": key}                a program was built.
//   {"seen": {...}}               facts about a GPU that is open.
//   {"through"}                   the end of the report.
//   A device that reports an error has survived, and the process that opens it next gets the same error.
//   This process ends with the process that started it.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "engine/device/first_look.h"
#include "engine/device/opencl/opencl_device.h"
#include "engine/device/opencl/program_server.h"
#include "engine/device/proof/helper.h"
#include "engine/device/proof/job_server.h"
#include "engine/device/proof/verdict_json.h"
#include "engine/device/registry.h"
#include "engine/device/vulkan/pipeline_server.h"
#include "engine/device/vulkan/vulkan_device.h"
#include "sync/error.h"

namespace {

using nlohmann::json;
using namespace tandem;

// Writes the report. It alone has the standard output: text that a driver prints there goes to standard error. The file
// is CLOEXEC, so no program that a driver starts keeps the report open.
class Report {
 public:
  Report() : file_(fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), "w")) {
    if (!file_) std::abort();
    setvbuf(file_, nullptr, _IOLBF, 0);
    dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  void say(const json& what) { say_line(what.dump(-1, ' ', false, json::error_handler_t::replace)); }
  void say_line(const std::string& line) { std::fprintf(file_, "%s\n", line.c_str()); }

 private:
  FILE* file_;
};

// Seconds of the first look (first_look.h); 0: it is spared or has failed.
double look_at(Device& device, sync::Pool& pool, const Precautions& precautions) {
  if (precautions.against("first look")) return 0;
  try {
    return first_look_seconds(device, pool);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 0;
  }
}

proof::Seen seen_of(Device& device, sync::Pool& pool, const Precautions& precautions) {
  const DeviceInfo& info = device.info();
  return {info.zero_copy, static_cast<int>(std::ranges::count_if(info.policies, &PolicyTest::passed)),
          info.compute_units, look_at(device, pool, precautions)};
}

// Opens and closes one device, and reports its steps. Errors that the driver reports go to standard error: the device
// has survived them.
void open_one(const std::string& id, const proof::Identity& identity, std::map<std::string, std::string> spared,
              Report& report) {
  DeviceOptions options;
  options.precautions.spared = std::move(spared);
  options.precautions.before_step = [&](const std::string& step) {
    constexpr std::string_view kBuilt = "built ";  // a key (opencl/program_cache.h), not a step
    step.starts_with(kBuilt) ? report.say({{"built", std::stoull(step.substr(kBuilt.size()))}})
                             : report.say({{"step", step}});
  };
  options.precautions.on_lack = [&](const std::string& step, const std::string& why) {
    report.say({{"lacks", step}, {"why", why}});
  };
  sync::Pool pool;  // outlives the device
  try {
    auto device = open_device(id, options);
    if (identity.gpu) report.say({{"seen", proof::seen_as_json(seen_of(*device, pool, options.precautions))}});
    report.say({{"step", "close"}});
    device.reset();
  } catch (const UnfitDevice& unfit) {
    report.say({{"unfit", unfit.failure()}});
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
}

// Reports all devices, then opens them one after the other from `first` on.
int prove(const std::string& interface, const std::string& first, const json& spared) {
  Report report;
  const auto devices = interface == "opencl" ? opencl_identities() : vulkan_identities();
  for (const proof::Identity& one : devices) report.say({{"device", proof::identity_as_json(one)}});
  report.say({{"listed", true}});
  if (first != "list") {
    for (size_t i = std::stoul(first); i < devices.size(); ++i) {
      report.say({{"opens", i}});
      open_one(interface + ":" + std::to_string(i), devices[i], i < spared.size() ? spared[i] : json::object(), report);
    }
  }
  report.say({{"through", true}});
  return 0;
}

// A child of JobTrials, which answers questions on standard output. Command lines: tandem-prove programs INDEX NAME
// FOLDER RECORD DRIVER_FOLDER (serve_programs()), or tandem-prove pipelines INDEX NAME RECORD (serve_pipelines()).
int serve(char** argv) {
  Report report;
  const auto answer = [&](const std::string& line) { report.say_line(line); };
  if (argv[1] == std::string("pipelines")) {
    serve_pipelines({.device = std::atoi(argv[2]), .name = argv[3], .record = argv[4]}, answer);
    std::fflush(nullptr);
    _exit(0);
  }
  ProgramService service;
  service.device = std::atoi(argv[2]);
  service.name = argv[3];
  service.program_folder = argv[4];
  service.record = argv[5];
  service.driver_folder = argv[6];
  serve_programs(service, answer);
  std::fflush(nullptr);
  _exit(0);  // skips the exit handlers of drivers, which add nothing here
}

}  // namespace

// The child process that tries drivers. A driver may crash, hang, or exhaust memory here without harm to the program.
// Its task comes by arguments and its answer goes to standard output.
int main(int argc, char** argv) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);  // a crash is an expected answer, so it leaves no core file
  signal(SIGXFSZ, SIG_IGN);       // writing beyond a file size limit becomes an error of that call
  // This process tries drivers itself, so it starts no child.
  setenv("TANDEM_PROVER", "", 1);
  const std::string_view task = argc > 1 ? argv[1] : "";
  if ((argc == 7 && task == "programs") || (argc == 5 && task == "pipelines")) {
    try {
      return serve(argv);
    } catch (const proof::OtherDevice& other) {
      std::fprintf(stderr, "%s\n", other.what());
      return proof::kOtherDevice;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return 1;
    }
  }
  // The process that started this one may end while a driver hangs, and then this one must end too. serve() watches its
  // input instead.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string interface = argc == 4 ? argv[1] : "";
  if (interface != "opencl" && interface != "vulkan") {
    std::fprintf(stderr, "tandem-prove is started by Tandem, to try drivers in a process that may die\n");
    return 2;
  }
  try {
    return prove(interface, argv[2], json::parse(argv[3]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
