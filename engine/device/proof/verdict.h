// The result of trying drivers in a child process: devices that can be opened, and steps that they must be spared.
//
// Contract: plain values; all functions are pure. Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/card_name.h"

namespace tandem::proof {

enum class Api { opencl, vulkan };
const char* name_of(Api api);  // "opencl", as in device ids

// A device as its driver describes it. If any of it differs under the same number, it is another device.
struct Identity {
  std::string name, driver;
  bool gpu = false;       // anything but a CPU
  CardName card{};        // empty for a CPU
  bool discrete = false;  // a card with memory of its own
  bool operator==(const Identity&) const = default;
};

// Facts about a GPU that could be opened. They mean what they mean in KnownGpu (engine/device/known_gpu.h).
struct Seen {
  bool shares_memory = false;
  int policies = 0, compute_units = 0;
  double look_seconds = 0;
  bool operator==(const Seen&) const = default;
};

// The reason of a spared step begins with this text if a process died of the step. Other reasons name something that
// the driver lacks, and it lacks that the next day too.
inline constexpr const char* kDiedOfStep = "a process that tried it ";

struct DeviceVerdict {
  Identity identity;
  std::string problem;                        // why the device cannot be opened; "": it can
  std::map<std::string, std::string> spared;  // Precautions::spared
  Seen seen{};
  std::string left_out_in{};  // file that holds a problem found after the device was opened (compiled_files.h)
};

// A driver that ends any process which lists its devices.
struct DriverVerdict {
  std::string manifest, problem;
};

struct Verdict {
  bool tried = false;                  // false: no child process ran, and nothing is known
  std::string note;                    // why none ran
  std::vector<DeviceVerdict> devices;  // opencl:0, opencl:1, ...
  std::vector<DriverVerdict> drivers;  // hidden from the loader, which sees the others alone: `manifests`
  std::vector<std::string> manifests;
  bool may_load = true;         // false: loading drivers may end this process, and `wanting` says why
  std::string wanting;          // what the machine lacked when a child ended; that end says nothing about the driver
  std::string remedy;           // what the user can do about it
  std::string moment;           // memory and disk space when the drivers were tried
  int64_t tried_at = 0;         // seconds since 1970
  std::string kept_in;          // path of the file that holds this verdict; "": there is none
  std::vector<uint64_t> built;  // keys of programs that children have built (compiled_files.h); to_text() omits them
  bool all_well() const;
};

// A failure is tried again after this time.
inline constexpr int64_t kTriedAgainAfter_s = 24 * 60 * 60;

// The text that is kept on disk. fingerprint: says which drivers it is about (driver_files.h).
std::string to_text(const Verdict& verdict, const std::string& fingerprint);
// Nothing if the text is damaged or is about other drivers. Nothing either if it holds a failure that was found a day
// before `now` or earlier, or later than `now`.
std::optional<Verdict> from_text(const std::string& text, const std::string& fingerprint, int64_t now);

}  // namespace tandem::proof
