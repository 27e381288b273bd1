#include "engine/device/proof/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include "sync/affinity.h"

namespace tandem::proof {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

}  // namespace

// Everything is said in file actions and attributes of posix_spawn, so no code of this process runs in the child. Files
// that libraries have opened without CLOEXEC are closed by their numbers.
int spawn(const Spawned& wanted, pid_t& child) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (int place = STDIN_FILENO; place <= STDERR_FILENO; ++place) {
    const int file = wanted.standard[static_cast<size_t>(place)];
    if (file < 0) posix_spawn_file_actions_addopen(&files, place, "/dev/null", O_RDWR, 0);
    if (file >= 0) posix_spawn_file_actions_adddup2(&files, file, place);
  }
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  if (!wanted.folder.empty()) posix_spawn_file_actions_addchdir_np(&files, wanted.folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // The child blocks no signals and has the default handlers, whatever this process has set.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  // The child gets a group of its own, so that it can be killed with all processes that it starts.
  posix_spawnattr_setpgroup(&attributes, 0);
  const int apart = wanted.own_session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
  posix_spawnattr_setflags(&attributes, static_cast<short>(apart | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  std::vector<std::string> arguments = wanted.arguments;
  arguments.insert(arguments.begin(), wanted.program);
  const OnCores whole(usable_cores());  // a child inherits the cores of the thread that starts it
  const int error = posix_spawn(&child, wanted.program.c_str(), &files, &attributes, pointers(arguments).data(),
                                pointers(wanted.environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

}  // namespace tandem::proof
