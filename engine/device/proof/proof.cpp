#include "engine/device/proof/proof.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/proof/circumstances.h"
#include "engine/device/proof/compiled_files.h"
#include "engine/device/proof/driver_files.h"
#include "engine/device/proof/driver_room.h"
#include "engine/device/proof/helper.h"
#include "engine/device/proof/prover.h"
#include "engine/device/proof/room.h"
#include "sync/error.h"
#include "sync/file_lock.h"
#include "sync/whole_file.h"

namespace tandem::proof {
namespace {

namespace fs = std::filesystem;

// Held by the process that tries drivers, while other processes wait for its verdict. Without a folder for the file, no
// process waits.
class Lock {
 public:
  explicit Lock(const std::string& path) {
    std::error_code ignored;
    fs::create_directories(fs::path(path).parent_path(), ignored);
    file_ = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (file_ >= 0) lock_file(file_, LOCK_EX, "another process that tries the drivers");
  }
  ~Lock() {
    if (file_ >= 0) close(file_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_ = -1;
};

// The verdict on disk, if there is one that still holds.
std::optional<Verdict> kept(const std::string& path, const std::string& fingerprint) {
  try {
    const auto text = path.empty() ? std::nullopt : read_file_if_there(path);
    auto found = text ? from_text(*text, fingerprint, std::time(nullptr)) : std::nullopt;
    if (found) found->kept_in = path;
    return found;
  } catch (const Error&) {
    return std::nullopt;  // the path is a folder, or may not be read
  }
}

// Files in the cache folder, for each set of drivers and each interface: drivers/opencl-HASH.json holds the verdict,
// and drivers/compiled-HASH the record of compiled files. Each has a lock beside it (.lock). The verdict's name stays
// when a driver changes, because it hashes paths only. The record's name changes, because it hashes the drivers' state.

// The file for these drivers and this helper. A new version of a driver replaces its content.
std::string file_for(Api api, const std::vector<std::string>& manifests, const std::string& helper) {
  const std::string folder = gpu::default_cache_folder();
  if (folder.empty()) return "";
  std::string key = helper;
  for (const std::string& manifest : manifests) key += "|" + manifest;
  return fmt::format("{}/drivers/{}-{:016x}.json", folder, name_of(api), gpu::fnv1a(key));
}

// The record of compiled files (compiled_files.h) for exactly this state of the drivers.
std::string record_for(Api api, const std::string& verdict_file, const std::string& fingerprint) {
  if (verdict_file.empty()) return "";
  const fs::path path = verdict_file;
  const char* interface = api == Api::vulkan ? "vulkan-" : "";
  return fmt::format("{}/compiled-{}{:016x}", path.parent_path().string(), interface, mixed(fingerprint));
}

// The key which says that all devices have been opened. PoCL's devices run other kernels with one worker than with
// several, so the number of workers is part of it.
uint64_t opening_key() {
  const char* workers = std::getenv("POCL_MAX_PTHREAD_COUNT");
  return mixed(workers && std::string_view(workers) == "1" ? "opened, one worker" : "opened, several workers");
}

uint64_t left_out_key(size_t device) { return mixed(fmt::format("device {} is left out", device)); }

// For lists of drivers. Each process has its own folder.
std::string scratch_folder(Api api) {
  return fmt::format("{}/tandem-{}-{}", temporary_folder(), name_of(api), getpid());
}

void keep(Api api, Verdict& verdict, const std::string& fingerprint, const std::string& path) {
  const std::string why =
      path.empty() ? why_nothing_is_kept() : gpu::replace_file(path, {to_text(verdict, fingerprint)});
  if (!why.empty()) say_not_kept(std::string("what was proven of the ") + name_of(api) + " drivers", why);
  verdict.kept_in = why.empty() ? path : "";
}

// Tries the drivers and keeps the verdict, unless the machine lacked something. Failures of this process itself, such
// as a helper that cannot be started, give a verdict that knows nothing.
Verdict try_and_keep(Api api, const std::vector<std::string>& manifests, const std::string& fingerprint,
                     const std::string& path, const std::string& helper, CompiledFiles* compiled) {
  spdlog::info("trying the {} drivers in a child process (once for each version of them)", name_of(api));
  const std::string lists = scratch_folder(api);
  try {
    Verdict verdict = try_out(api, manifests, {helper, lists, silence_limit(), compiled});
    std::error_code ignored;
    fs::remove_all(lists, ignored);
    if (!verdict.wanting.empty()) return verdict;
    keep(api, verdict, fingerprint, path);
    return verdict;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    spdlog::warn("the {} drivers are used without having been tried: {}", name_of(api), error.what());
    Verdict unknown;
    unknown.note = error.what();
    return unknown;
  }
}

// The verdict if the machine has too little memory even for loading drivers.
Verdict nothing_loaded(const Want& want) {
  Verdict verdict;
  verdict.tried = true;
  verdict.may_load = false;
  verdict.wanting = want.what;
  verdict.remedy = want.remedy;
  return verdict;
}

// One interface's drivers, as this process knows them.
class Interface {
 public:
  explicit Interface(Api api) : api_(api) {}
  ~Interface() {
    std::error_code ignored;
    if (!list_folder_.empty()) fs::remove_all(list_folder_, ignored);
  }
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;

  // Gives the verdict that is known, or reads it from its file, or lets children find it out. anew: nothing is known.
  // For OpenCL the first verdict stays. Vulkan's loader looks for drivers for every instance, so their files are
  // compared again each time, unless drivers are hidden. Drivers are tried with the user's own lists; afterwards the
  // fatal ones are hidden.
  Verdict verdict(bool anew) {
    const std::lock_guard lock(mutex_);
    if (const Want want = want_of_driver_memory()) return nothing_loaded(want);
    // Once OpenCL's loader is loaded, it keeps the drivers that it has found.
    if (known_ && !anew && (api_ == Api::opencl || hidden_is_set())) return *known_;
    if (hidden_is_set()) show();  // tries the drivers that the user's environment names
    const std::string helper = find_helper();
    if (helper.empty()) {
      Verdict unknown;
      unknown.note = "there is no child process to try drivers in: " + std::string(kHelperName) + " is not beside " +
                     "the program, and TANDEM_PROVER does not name it";
      return unknown;
    }
    if (api_ == Api::opencl) make_room_for_pocl();
    manifests_ = manifests(api_);
    const std::string now = fingerprint_of(manifests_, helper);
    if (!known_ || anew || now != fingerprint_) {
      if (!compiled_ || now != fingerprint_) compiled_ = open_record(helper, manifests_, now);
      fingerprint_ = now;
      known_ = make(helper, anew);
      add_left_out(*known_);
    }
    if (!known_->drivers.empty()) hide();
    return *known_;
  }

  void leave_out(size_t index, const std::string& problem) {
    const std::lock_guard lock(mutex_);
    // The record is on disk, so later processes leave the device out too.
    if (compiled_) compiled_->add_fatal(left_out_key(index), problem);
    if (known_) add_left_out(*known_);
  }

  // The answer for a process that may not have asked for a verdict yet.
  bool compiled_unchanged() {
    const std::string helper = find_helper();
    const std::lock_guard lock(mutex_);
    if (helper.empty()) return true;
    if (compiled_) return compiled_->unchanged();
    const std::vector<std::string> all = manifests(api_);
    return all.empty() || open_record(helper, all, fingerprint_of(all, helper))->unchanged();
  }

  std::shared_ptr<CompiledFiles> compiled() {
    const std::lock_guard lock(mutex_);
    return compiled_;
  }

 private:
  // The helper is part of it, since another helper proves other things.
  std::string fingerprint_of(const std::vector<std::string>& manifests, const std::string& helper) const {
    return fingerprint(api_, manifests) + stamp(helper);
  }
  // Only PoCL's folder is watched.
  std::unique_ptr<CompiledFiles> open_record(const std::string& helper, const std::vector<std::string>& manifests,
                                             const std::string& fingerprint) const {
    return std::make_unique<CompiledFiles>(record_for(api_, file_for(api_, manifests, helper), fingerprint),
                                           api_ == Api::opencl ? pocl_folder() : "");
  }

  // Reads the kept verdict, first without the lock and then with it, because another process may have written it
  // meanwhile. Otherwise tries the drivers under the lock. A kept verdict does not count if PoCL's files have changed
  // since devices were opened with them.
  Verdict make(const std::string& helper, bool anew) {
    const std::string path = file_for(api_, manifests_, helper);
    if (manifests_.empty()) {
      Verdict nothing;
      nothing.tried = true;
      return nothing;
    }
    const uint64_t opening = opening_key();
    const auto known = [&]() -> std::optional<Verdict> {
      if (anew || (compiled_ && !compiled_->knows(opening))) return std::nullopt;
      return kept(path, fingerprint_);
    };
    if (auto found = known()) return *found;
    std::optional<Lock> lock;
    if (!path.empty()) lock.emplace(path + ".lock");
    if (lock && compiled_) compiled_->look_again();
    if (auto found = known()) return *found;
    Verdict found = try_and_keep(api_, manifests_, fingerprint_, path, helper, compiled_.get());
    if (compiled_ && found.tried && found.wanting.empty()) {
      found.built.push_back(opening);
      compiled_->add(found.built);
    }
    return found;
  }

  // Adds devices that were left out after they had been opened; the record of compiled files names them.
  void add_left_out(Verdict& verdict) {
    if (!compiled_) return;
    for (size_t i = 0; i < verdict.devices.size(); ++i) {
      const auto why = compiled_->fatal(left_out_key(i));
      if (why && verdict.devices[i].problem.empty())
        verdict.devices[i].problem = *why, verdict.devices[i].left_out_in = compiled_->record();
    }
  }

  // Sets the loader's variables so that it sees the surviving drivers alone, for as long as this process lives. If that
  // fails, no driver is loaded.
  void hide() {
    try {
      list_folder_ = scratch_folder(api_);
      hidden_ = only(api_, known_->manifests, list_folder_);
      before_.clear();
      for (const auto& [name, value] : hidden_) {
        const char* before = std::getenv(name.c_str());
        before_.emplace_back(before ? std::optional<std::string>(before) : std::nullopt);
        setenv(name.c_str(), value.c_str(), 1);
      }
    } catch (const std::exception& error) {
      known_->devices.clear();
      known_->may_load = false;
      known_->wanting = std::string("a driver that ends processes could not be hidden: ") + error.what();
      known_->remedy = kTemporaryAdvice;
    }
  }
  // Restores the variables that hide() has set.
  void show() {
    for (size_t i = 0; i < hidden_.size(); ++i) {
      if (before_[i]) {
        setenv(hidden_[i].first.c_str(), before_[i]->c_str(), 1);
      } else {
        unsetenv(hidden_[i].first.c_str());
      }
    }
    hidden_.clear();
  }
  // Whether the variables stand as hide() has set them. The user of the library may have changed them.
  bool hidden_is_set() const {
    if (hidden_.empty()) return false;
    for (const auto& [name, value] : hidden_) {
      const char* now = std::getenv(name.c_str());
      if (!now || value != now) return false;
    }
    return true;
  }

  const Api api_;
  std::mutex mutex_;
  std::optional<Verdict> known_;
  std::vector<std::string> manifests_;
  std::string fingerprint_;
  std::shared_ptr<CompiledFiles> compiled_;
  Environment hidden_;                              // variables that hide() has set in this process
  std::vector<std::optional<std::string>> before_;  // values that stood there before
  std::string list_folder_;
};

// Drivers are loaded once for the whole process, and so is what is known about them.
Interface& interface(Api api) {
  static Interface opencl(Api::opencl), vulkan(Api::vulkan);
  return api == Api::opencl ? opencl : vulkan;
}

// Advice to the user about a failure. file: holds that failure.
std::string what_to_do(const Verdict& verdict, const std::string& file) {
  if (!verdict.wanting.empty())
    return "That says nothing about the driver, and it is tried again next time. " + verdict.remedy +
           ", or name another device with --device";
  std::string text = "Update the driver, or name another device with --device";
  if (!file.empty())
    text += ". It is tried again after a day, after a change of the driver, or when this file is deleted: " + file;
  return text;
}

const std::string& file_about(const Verdict& verdict, const DeviceVerdict& device) {
  return device.left_out_in.empty() ? verdict.kept_in : device.left_out_in;
}

// The text for lists of what cannot be used.
std::string reason_and_file(const std::string& problem, const Verdict& verdict, const std::string& file) {
  if (!verdict.wanting.empty()) return problem + "; it is tried again next time";
  return file.empty() ? problem : problem + " (kept for a day in " + file + ")";
}

// Whether the verdict is about these devices, in this order.
bool is_about(const Verdict& verdict, const std::vector<Identity>& found) {
  if (verdict.devices.size() != found.size()) return false;
  for (size_t i = 0; i < found.size(); ++i) {
    if (!(verdict.devices[i].identity == found[i])) return false;
  }
  return true;
}

}  // namespace

bool compiled_files_unchanged() { return interface(Api::opencl).compiled_unchanged(); }

std::shared_ptr<CompiledFiles> compiled_files(Api api) { return interface(api).compiled(); }

void leave_out(Api api, int index, const std::string& problem) noexcept {
  try {
    interface(api).leave_out(static_cast<size_t>(index), problem);
  } catch (const std::exception& error) {
    spdlog::info("that {}:{} cannot be used is not kept: {}", name_of(api), index, error.what());
  }
}

Verdict verdict(Api api) { return interface(api).verdict(false); }

// If a new trial finds other devices again, nothing is known: child and parent see different drivers.
Verdict verdict_about(Api api, const std::vector<Identity>& found) {
  Verdict known = verdict(api);
  if (!known.tried || is_about(known, found)) return known;
  spdlog::info("the {} devices are not those that were tried", name_of(api));
  known = interface(api).verdict(true);
  if (is_about(known, found)) return known;
  Verdict unknown;
  unknown.note = "a child process finds other devices than this one";
  return unknown;
}

// A verdict that knows nothing spares the device no step.
Precautions require_usable(Api api, int index, const std::vector<Identity>& found) {
  const Verdict known = verdict_about(api, found);
  if (!known.tried || index < 0 || static_cast<size_t>(index) >= known.devices.size()) return {};
  const DeviceVerdict& device = known.devices[static_cast<size_t>(index)];
  if (device.problem.empty()) return {device.spared};
  throw Error("this device cannot be used",
              std::string(name_of(api)) + ":" + std::to_string(index) + " (" + device.identity.name + ", " +
                  device.identity.driver + ")",
              "It was tried beforehand: " + device.problem + ". " + what_to_do(known, file_about(known, device)));
}

std::vector<Unusable> unusable(Api api) {
  std::vector<Unusable> all;
  const Verdict known = verdict(api);
  if (!known.may_load) all.push_back({name_of(api), "all drivers", known.wanting});
  for (size_t i = 0; i < known.devices.size(); ++i) {
    const DeviceVerdict& one = known.devices[i];
    if (!one.problem.empty())
      all.push_back({std::string(name_of(api)) + ":" + std::to_string(i), one.identity.name,
                     reason_and_file(one.problem, known, file_about(known, one))});
  }
  for (const DriverVerdict& one : known.drivers)
    all.push_back({std::string(name_of(api)) + ":" + fs::path(one.manifest).filename().string(), one.manifest,
                   reason_and_file(one.problem, known, known.kept_in)});
  return all;
}

// Facts that only a trial finds (Seen) are empty if nothing was tried.
std::vector<KnownGpu> known_gpus(Api api, const std::function<std::vector<Identity>()>& list) {
  const Verdict known = verdict(api);
  std::vector<DeviceVerdict> devices = known.devices;
  if (!known.tried)
    for (Identity& one : list()) devices.push_back({std::move(one), "", {}});
  std::vector<KnownGpu> gpus;
  for (size_t i = 0; i < devices.size(); ++i) {
    const auto& [identity, problem, spared, seen, left_out_in] = devices[i];
    if (!identity.gpu || !problem.empty()) continue;
    gpus.push_back({std::string(name_of(api)) + ":" + std::to_string(i), identity.name, identity.card,
                    identity.discrete, seen.shares_memory, seen.policies, seen.compute_units, seen.look_seconds});
  }
  return gpus;
}

}  // namespace tandem::proof
