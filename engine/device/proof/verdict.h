// What trying drivers in a child process has shown: which devices survive being opened, and what they must be spared.
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

// As the driver says; anything else under the same number is another device.
struct Identity {
  std::string name, driver;
  bool gpu = false;       // and no CPU
  CardName card{};        // of a GPU
  bool discrete = false;  // a card with memory of its own
  bool operator==(const Identity&) const = default;
};

// A GPU that could be opened shows this: as KnownGpu (engine/device/known_gpu.h).
struct Seen {
  bool shares_memory = false;
  int policies = 0, compute_units = 0;
  double look_seconds = 0;
  bool operator==(const Seen&) const = default;
};

// How the reason of a spared step begins of which a process died. Others lack something, and lack it the next day.
inline constexpr const char* kDiedOfStep = "a process that tried it ";

struct DeviceVerdict {
  Identity identity;
  std::string problem;                        // why it cannot be opened; empty: it can
  std::map<std::string, std::string> spared;  // Precautions::spared
  Seen seen{};
  std::string left_out_in{};  // the file that holds a problem which came up after it was opened (compiled_files.h)
};

// A driver that ends the process which lists its devices.
struct DriverVerdict {
  std::string manifest, problem;
};

struct Verdict {
  bool tried = false;                  // false: there was no child process, and nothing is known
  std::string note;                    // why there was none
  std::vector<DeviceVerdict> devices;  // opencl:0, opencl:1, ...
  std::vector<DriverVerdict> drivers;  // left out: the loader is given only the others, `manifests`
  std::vector<std::string> manifests;
  bool may_load = true;         // false: loading drivers may end this process, and `wanting` says why
  std::string wanting;          // what the machine lacked when a child ended: the end says nothing about its driver
  std::string remedy;           // and what helps
  std::string moment;           // what there was of memory and room when it was tried
  int64_t tried_at = 0;         // seconds since 1970
  std::string kept_in;          // the file that holds this; empty: none does
  std::vector<uint64_t> built;  // keys of programs that children have built (compiled_files.h); not kept here
  bool all_well() const;
};

// After so long what went wrong is tried again.
inline constexpr int64_t kTriedAgainAfter_s = 24 * 60 * 60;

// As kept on disk. `fingerprint` says which drivers it is about.
std::string to_text(const Verdict& verdict, const std::string& fingerprint);
// Nothing when the text is damaged, or about other drivers, or when something went wrong a day before `now` or earlier.
std::optional<Verdict> from_text(const std::string& text, const std::string& fingerprint, int64_t now);

}  // namespace tandem::proof
