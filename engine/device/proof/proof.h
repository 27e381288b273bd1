// Keeps crashing drivers out of this process: a child process opens every device first.
//
// Why a program of its own, and not fork()? A copy of this process would hold the locks of the library user's threads,
// without the threads. Drivers that are loaded already do not survive the copy. Running the user's own program again
// would run its main(). So a small helper, `tandem-prove`, is started with posix_spawn. It lists the devices of an
// interface and opens each of them, in a process that may crash, abort or hang (prover.h).
//
// The variable TANDEM_PROVER names the helper; an empty one means that nothing is tried. Without the variable the
// helper is looked for beside the running program, and where this tree was installed or built. A program that uses the
// library installs the helper beside itself, or sets the variable. Without a helper nothing is tried: devices are
// opened as they are, and `tandem devices` says so.
//
// Contract
//   The verdict is kept in the cache folder, so that the next start reads one small file. It holds as long as the
//   drivers' files, the variables they read and the helper stay the same (driver_files.h). It is dropped when a device
//   calls itself otherwise than it did.
//   A child gives no verdict if it lacked memory, room or time, or if another program ended it: the next process tries
//   again. A bad verdict is tried again a day later, and messages name the file that holds it.
//   If several processes start at once, one tries the drivers and the others wait for its verdict.
//   Some drivers end any process that lists devices. The loader's own variables hide them before this process uses
//   the loader.
//   Threads: any. Only require_usable() throws an Error. All functions throw Interrupted if the user asks to stop while
//   a driver is being tried.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/device/known_gpu.h"
#include "engine/device/proof/precautions.h"
#include "engine/device/proof/verdict.h"

namespace tandem::proof {

// The verdict of this process, made or read from disk if necessary. Call it before the first use of the interface. For
// Vulkan, call it before every instance, because its loader looks for drivers anew each time.
Verdict verdict(Api api);

// The same for a process that has found these devices: a verdict about other devices is made anew, once.
Verdict verdict_about(Api api, const std::vector<Identity>& found);

// The steps that the device must be spared when it is opened. Error if opening it would end the process.
Precautions require_usable(Api api, int index, const std::vector<Identity>& found);

// Whether PoCL's compiled files are those with which programs are known to run (compiled_files.h). True if nothing is
// tried. The call loads no driver.
bool compiled_files_unchanged();

// Leaves out a device that was opened but has a fatal kernel: from now on no default chooses it. The record of compiled
// files (compiled_files.h) says so to later processes, for a day and while the drivers stay the same.
void leave_out(Api api, int index, const std::string& problem) noexcept;

// Devices ("opencl:1") and whole drivers ("opencl:NAME.icd") that are here and cannot be used, with the reason.
struct Unusable {
  std::string id, name, reason;
};
std::vector<Unusable> unusable(Api api);

// The usable real GPUs of the interface, in their order. They come from the verdict, so no driver is loaded. If nothing
// was tried, list() finds them.
std::vector<KnownGpu> known_gpus(Api api, const std::function<std::vector<Identity>()>& list);

}  // namespace tandem::proof
