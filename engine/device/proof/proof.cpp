#include "engine/device/proof/proof.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/proof/driver_files.h"
#include "engine/device/proof/helper.h"
#include "engine/device/proof/prover.h"
#include "sync/error.h"

namespace tandem::proof {
namespace {

namespace fs = std::filesystem;

// Held by the process that tries, so that others wait for its verdict. Without a folder there is nothing to wait for.
class Lock {
 public:
  explicit Lock(const std::string& path) {
    std::error_code ignored;
    fs::create_directories(fs::path(path).parent_path(), ignored);
    file_ = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (file_ >= 0) flock(file_, LOCK_EX);
  }
  ~Lock() {
    if (file_ >= 0) close(file_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_ = -1;
};

std::optional<Verdict> kept(const std::string& path, const std::string& fingerprint) {
  std::ifstream in(path, std::ios::binary);
  if (path.empty() || !in) return std::nullopt;
  return from_text({std::istreambuf_iterator<char>(in), {}}, fingerprint);
}

// The file of these drivers and this environment; a new version of a driver replaces it.
std::string file_for(Api api, const std::vector<std::string>& manifests, const std::string& helper) {
  const std::string folder = gpu::default_cache_folder();
  if (folder.empty()) return "";
  std::string key = helper;
  for (const std::string& manifest : manifests) key += "|" + manifest;
  return fmt::format("{}/drivers/{}-{:016x}.json", folder, name_of(api), gpu::fnv1a(key));
}

// For lists of drivers; this process's own.
std::string scratch_folder(Api api) {
  return fmt::format("{}/tandem-{}-{}", fs::temp_directory_path().string(), name_of(api), getpid());
}

Verdict try_and_keep(Api api, const std::vector<std::string>& manifests, const std::string& fingerprint,
                     const std::string& path, const std::string& helper) {
  spdlog::info("trying the {} drivers in a child process (once for each version of them)", name_of(api));
  const std::string lists = scratch_folder(api);
  try {
    Trial trial = try_out(api, manifests, {helper, lists, silence_limit()});
    std::error_code ignored;
    fs::remove_all(lists, ignored);
    if (trial.lasting && !path.empty()) {
      const std::string text = to_text(trial.verdict, fingerprint);
      if (const std::string why = gpu::replace_file(path, {text}); !why.empty())
        spdlog::info("what was proven of the {} drivers is not kept: {}", name_of(api), why);
    }
    return trial.verdict;
  } catch (const std::exception& error) {
    spdlog::warn("the {} drivers are used without having been tried: {}", name_of(api), error.what());
    Verdict unknown;
    unknown.note = error.what();
    return unknown;
  }
}

// One process's view of one interface.
class Interface {
 public:
  explicit Interface(Api api) : api_(api) {}
  ~Interface() {
    std::error_code ignored;
    if (!list_folder_.empty()) fs::remove_all(list_folder_, ignored);
  }
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;

  Verdict verdict(bool anew) {
    const std::lock_guard lock(mutex_);
    // Once it is loaded, OpenCL's loader keeps the drivers it has found.
    if (known_ && !anew && (api_ == Api::opencl || hidden_is_set())) return *known_;
    if (hidden_is_set()) show();  // what is tried are the drivers that the user has
    const std::string helper = find_helper();
    if (helper.empty()) {
      Verdict unknown;
      unknown.note = "there is no child process to try drivers in: " + std::string(kHelperName) + " is not beside " +
                     "the program, and TANDEM_PROVER does not name it";
      return unknown;
    }
    manifests_ = manifests(api_);
    const std::string now = fingerprint(api_, manifests_) + stamp(helper);  // another helper proves other things
    if (!known_ || anew || now != fingerprint_) {
      fingerprint_ = now;
      known_ = make(helper, anew);
    }
    if (!known_->drivers.empty()) hide();
    return *known_;
  }

 private:
  Verdict make(const std::string& helper, bool anew) {
    const std::string path = file_for(api_, manifests_, helper);
    if (manifests_.empty()) return {.tried = true, .note = "", .devices = {}, .drivers = {}, .manifests = {}};
    if (!anew) {
      if (auto found = kept(path, fingerprint_)) return *found;
    }
    std::optional<Lock> lock;
    if (!path.empty()) {
      lock.emplace(path + ".lock");
      if (!anew) {
        if (auto found = kept(path, fingerprint_)) return *found;
      }
    }
    return try_and_keep(api_, manifests_, fingerprint_, path, helper);
  }

  // The loader is given the drivers that survive, for as long as this process lives.
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
      spdlog::warn("a driver that ends processes could not be hidden: {}", error.what());
    }
  }
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
  Environment hidden_;                              // set in this process
  std::vector<std::optional<std::string>> before_;  // what stood there
  std::string list_folder_;
};

// Drivers belong to the process, and so does what is known of them.
Interface& interface(Api api) {
  static Interface opencl(Api::opencl), vulkan(Api::vulkan);
  return api == Api::opencl ? opencl : vulkan;
}

bool is_about(const Verdict& verdict, const std::vector<Identity>& found) {
  if (verdict.devices.size() != found.size()) return false;
  for (size_t i = 0; i < found.size(); ++i) {
    if (!(verdict.devices[i].identity == found[i])) return false;
  }
  return true;
}

}  // namespace

Verdict verdict(Api api) { return interface(api).verdict(false); }

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

Precautions require_usable(Api api, int index, const std::vector<Identity>& found) {
  const Verdict known = verdict_about(api, found);
  if (!known.tried || index < 0 || static_cast<size_t>(index) >= known.devices.size()) return {};
  const DeviceVerdict& device = known.devices[static_cast<size_t>(index)];
  if (device.problem.empty()) return {device.spared};
  throw Error(
      "this device cannot be used",
      std::string(name_of(api)) + ":" + std::to_string(index) + " (" + device.identity.name + ", " +
          device.identity.driver + ")",
      "It was tried beforehand: " + device.problem + ". Update the driver, or name another device with --device");
}

std::vector<Unusable> unusable(Api api) {
  std::vector<Unusable> all;
  const Verdict known = verdict(api);
  for (size_t i = 0; i < known.devices.size(); ++i) {
    const DeviceVerdict& one = known.devices[i];
    if (!one.problem.empty())
      all.push_back({std::string(name_of(api)) + ":" + std::to_string(i), one.identity.name, one.problem});
  }
  for (const DriverVerdict& one : known.drivers)
    all.push_back(
        {std::string(name_of(api)) + ":" + fs::path(one.manifest).filename().string(), one.manifest, one.problem});
  return all;
}

std::vector<KnownGpu> known_gpus(Api api, const std::function<std::vector<Identity>()>& list) {
  const Verdict known = verdict(api);
  std::vector<DeviceVerdict> devices = known.devices;
  if (!known.tried)
    for (Identity& one : list()) devices.push_back({std::move(one), "", {}});
  std::vector<KnownGpu> gpus;
  for (size_t i = 0; i < devices.size(); ++i) {
    const auto& [identity, problem, spared, seen] = devices[i];
    if (!identity.gpu || !problem.empty()) continue;
    gpus.push_back({std::string(name_of(api)) + ":" + std::to_string(i), identity.name, identity.card,
                    identity.discrete, seen.shares_memory, seen.policies, seen.compute_units, seen.look_seconds});
  }
  return gpus;
}

}  // namespace tandem::proof
