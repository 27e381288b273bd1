#include "engine/run/warming.h"

#include <fcntl.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/proof/driver_files.h"

extern char** environ;

namespace tandem {
namespace {

namespace fs = std::filesystem;

// The text has nearly all of a core that both want; the compiler, what is left while its devices wait for each other.
constexpr int kNiceness = 15;

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

bool Warming::done() const {
  if (child_ > 0 && waitpid(child_, nullptr, WNOHANG) != 0) child_ = 0;
  return !path_.empty() && access(path_.c_str(), F_OK) == 0;
}

bool Warming::start(const std::vector<std::string>& arguments) {
  if (path_.empty() || program_.empty()) return false;
  std::vector<char*> argv = {const_cast<char*>(program_.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&files, file, "/dev/null", O_RDWR, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // Not of the terminal's foreground: an interrupt that ends the text does not end this.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int error = posix_spawn(&child_, program_.c_str(), &files, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) child_ = 0;
  spdlog::info("compiling the GPU's kernels in the background{}", error == 0 ? "" : " failed: no process was started");
  return error == 0;
}

bool Warming::lock() {
  if (path_.empty()) return false;
  std::error_code ignored;
  fs::create_directories(fs::path(path_).parent_path(), ignored);
  lock_ = open((path_ + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  return lock_ >= 0 && flock(lock_, LOCK_EX | LOCK_NB) == 0;
}

void Warming::mark() const noexcept {
  if (const std::string why = gpu::replace_file(path_, {}); !why.empty())
    spdlog::info("that the GPU's kernels are compiled is not kept: {}", why);
}

void Warming::unmark_all() const noexcept {
  if (path_.empty()) return;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::path(path_).parent_path(), ignored)) {
    if (entry.path().extension() != ".lock") fs::remove(entry.path(), ignored);
  }
}

void give_way_to_others() { setpriority(PRIO_PROCESS, 0, kNiceness); }

}  // namespace tandem
