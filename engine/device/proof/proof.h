// No driver may take the program down: what is proven when a device is opened is proven in a child process first.
//
// Why a program of its own, and not fork(): a copy of this process would hold the locks, and none of the threads, of
// whatever the user of the library has running, and drivers that are loaded already do not survive it; running the
// user's own program again would run its main(). So a small helper, `tandem-prove`, is started with posix_spawn. It
// lists the devices of an interface and opens each of them, in a process that may crash, abort or hang (prover.h).
//
// Where the helper is looked for: the variable TANDEM_PROVER (empty: nothing is tried), beside the running program, and
// where this tree was built or installed to. A program that uses the library installs it beside itself, or sets the
// variable. Where it is not found nothing is tried: devices are opened as they are, and `tandem devices` says so.
//
// Contract
//   The verdict is kept in the cache folder for as long as the drivers' files, the variables they read and the helper
//   stay the same (driver_files.h), so that the next start reads one small file; and it is thrown away when a device
//   calls itself otherwise than it did. A child that lacked memory, room or time, or that somebody else ended, gives no
//   verdict: the next process tries again. A bad verdict is tried again a day later, and messages name the file that
//   holds it. If several processes start at once, one tries and the others wait for its verdict. Drivers with which
//   devices cannot even be listed are hidden from the loader by its own variables, before it is used in this process.
//   Threads: any. Nothing here throws an Error but require_usable(); all throw Interrupted where the user asks to stop
//   while a driver is being tried.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/device/known_gpu.h"
#include "engine/device/proof/precautions.h"
#include "engine/device/proof/verdict.h"

namespace tandem::proof {

// Before the first use of the interface in this process, and before every one of Vulkan, whose loader looks for drivers
// anew for every instance.
Verdict verdict(Api api);

// As verdict(), where the devices that were found are these: a verdict about others is made anew, once.
Verdict verdict_about(Api api, const std::vector<Identity>& found);

// What the device is to be spared when it is opened. Error when it would end the process.
Precautions require_usable(Api api, int index, const std::vector<Identity>& found);

// Whether PoCL's compiled files are those that programs are known to go well with (compiled_files.h); true where
// nothing is tried. No driver is loaded for that.
bool compiled_files_unchanged();

// A device that opens may still have a fatal kernel. From now on nothing chooses it. The record of compiled files
// (compiled_files.h) says so to later processes, for a day and while the drivers stay the same.
void leave_out(Api api, int index, const std::string& problem) noexcept;

// What is here and cannot be used, and why: devices "opencl:1", and whole drivers, "opencl:NAME.icd".
struct Unusable {
  std::string id, name, reason;
};
std::vector<Unusable> unusable(Api api);

// The real GPUs of the interface that can be used, in their order: by the verdict, so that no driver is loaded here;
// where nothing was tried, as list() finds them.
std::vector<KnownGpu> known_gpus(Api api, const std::function<std::vector<Identity>()>& list);

}  // namespace tandem::proof
