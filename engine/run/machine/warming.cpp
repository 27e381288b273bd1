#include "engine/run/machine/warming.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/proof/driver_files.h"
#include "engine/device/proof/proof.h"
#include "engine/device/proof/room.h"
#include "engine/device/proof/spawn.h"

extern char** environ;

namespace tandem {
namespace {

namespace fs = std::filesystem;

// On a core that both use, the text gets nearly all of the time. The compiler gets the rest, for example while the
// text's devices wait for each other.
constexpr int kNiceness = 15;
constexpr rlim_t kUsualStack = rlim_t{8} << 20;

// This process's environment, with absolute paths of the folders that say where files are kept, because the program
// starts in another folder.
std::vector<std::string> environment_for_any_folder() {
  static constexpr std::string_view kFolders[] = {"XDG_CACHE_HOME=", "HOME="};
  std::vector<std::string> all;
  for (char** entry = environ; *entry; ++entry) {
    std::string text = *entry;
    std::error_code ignored;
    for (const std::string_view name : kFolders)
      if (text.starts_with(name) && text.size() > name.size())
        text = std::string(name) + fs::absolute(text.substr(name.size()), ignored).string();
    all.push_back(std::move(text));
  }
  return all;
}

// Whether a variable that drivers and loaders read has a relative path. Such variables belong to what a mark depends
// on, so they are passed on unchanged. The program must then start in this process's folder.
bool names_relative_path(const std::vector<std::string>& environment) {
  static constexpr std::string_view kPaths[] = {
      "OCL_ICD_VENDORS=", "OPENCL_VENDOR_PATH=",  "VK_DRIVER_FILES=", "VK_ICD_FILENAMES=", "POCL_CACHE_DIR=",
      "TANDEM_PROVER=",   "VK_ADD_DRIVER_FILES=", "LD_LIBRARY_PATH=", "LD_PRELOAD="};
  return std::ranges::any_of(environment, [](std::string_view entry) {
    return std::ranges::any_of(kPaths, [&](std::string_view name) {
      return entry.starts_with(name) && entry.size() > name.size() && entry[name.size()] != '/';
    });
  });
}

// The path of the mark: a hash of the set, the program and the fingerprints of all drivers.
std::string path_of(const std::string& set, const std::string& program) {
  const std::string folder = gpu::default_cache_folder();
  if (folder.empty()) return "";
  std::string text = set + "|" + proof::stamp(program);
  for (const proof::Api api : {proof::Api::opencl, proof::Api::vulkan})
    text += "|" + proof::fingerprint(api, proof::manifests(api));
  return fmt::format("{}/warm/{:016x}", folder, gpu::fnv1a(text));
}

}  // namespace

Warming::Warming(const std::string& set, const std::string& program)
    : program_(program), path_(path_of(set, program)) {}

Warming::~Warming() {
  if (lock_ >= 0) close(lock_);
}

// Reaps the child if it has ended. A mark counts only while the compiled files of drivers are unchanged.
bool Warming::done() const {
  if (child_ > 0 && waitpid(child_, nullptr, WNOHANG) != 0) child_ = 0;
  return !path_.empty() && access(path_.c_str(), F_OK) == 0 && proof::compiled_files_unchanged();
}

bool Warming::start(const std::vector<std::string>& arguments) {
  if (path_.empty() || program_.empty()) return false;
  std::vector<std::string> environment = environment_for_any_folder();
  const std::string folder = names_relative_path(environment) ? "" : "/";
  // A session of its own: an interrupt that ends the text, or a closed terminal, does not end the program.
  const int error =
      proof::spawn({program_, arguments, std::move(environment), {-1, -1, -1}, folder, /*own_session=*/true}, child_);
  if (error != 0) child_ = 0;
  spdlog::info("compiling the GPU's kernels in the background{}", error == 0 ? "" : " failed: no process was started");
  return error == 0;
}

// Only one process compiles a set. The system releases the lock when the process ends, however it ends.
bool Warming::lock() {
  if (path_.empty()) return false;
  std::error_code ignored;
  fs::create_directories(fs::path(path_).parent_path(), ignored);
  lock_ = open((path_ + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  return lock_ >= 0 && flock(lock_, LOCK_EX | LOCK_NB) == 0;
}

void Warming::mark() const noexcept {
  const std::string why = path_.empty() ? proof::why_nothing_is_kept() : gpu::replace_file(path_, {});
  if (!why.empty()) proof::say_not_kept("that the GPU's kernels are compiled", why);
}

// Locks stay, because running programs may hold them.
void Warming::unmark_all() const noexcept {
  if (path_.empty()) return;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::path(path_).parent_path(), ignored)) {
    if (entry.path().extension() != ".lock") fs::remove(entry.path(), ignored);
  }
}

// Sets a low priority, and raises inherited soft limits to the hard limits. The limit of the stack rises to 8 MiB only,
// because each thread gets a stack of that size.
void give_way_to_others() {
  setpriority(PRIO_PROCESS, 0, kNiceness);
  for (const auto which :
       {RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_STACK, RLIMIT_CPU}) {
    rlimit limit{};
    if (getrlimit(which, &limit) != 0 || limit.rlim_cur == limit.rlim_max) continue;
    if (which == RLIMIT_STACK && limit.rlim_cur >= kUsualStack) continue;  // each thread gets as much
    limit.rlim_cur = which == RLIMIT_STACK ? std::min(kUsualStack, limit.rlim_max) : limit.rlim_max;
    setrlimit(which, &limit);
  }
}

}  // namespace tandem
