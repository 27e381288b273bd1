#include "engine/device/proof/driver_room.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <string>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/proof/circumstances.h"
#include "engine/device/proof/room.h"

namespace tandem::proof {
namespace {

// Why PoCL cannot work in the folder; "": it can.
std::string why_not(const std::string& folder) {
  if (const Want want = want_of_room(folder)) return want.what;
  struct statvfs found {};
  if (statvfs(folder.c_str(), &found) == 0 && (found.f_flag & ST_NOEXEC) != 0)
    return folder + ": files there are not run (noexec)";
  return "";
}

// Whether the folder belongs to this user and no other user may enter it. All users share the folder for temporary
// files, so another user may have made one of this name.
bool is_ours_alone(const std::string& folder) {
  struct stat found {};
  return lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
         (found.st_mode & 077) == 0;
}

// Replaces PoCL's folder only if it is unusable and the folder for temporary files is better.
void look_for_room() {
  const std::string why = why_not(pocl_folder());
  if (why.empty()) return;
  const std::string own = temporary_folder() + "/tandem-" + std::to_string(geteuid());
  // An error shows in is_ours_alone(): the folder may exist already, or belong to another user.
  mkdir(own.c_str(), 0700);
  const std::string instead = own + "/pocl";
  if (!is_ours_alone(own) || !why_not(instead).empty()) return;  // trying PoCL's devices then finds the reason
  setenv("POCL_CACHE_DIR", instead.c_str(), 1);
  say_not_kept("what PoCL compiles (it goes to " + instead + " meanwhile)", why);
}

}  // namespace

void make_room_for_pocl() {
  static std::once_flag once;
  std::call_once(once, look_for_room);
}

}  // namespace tandem::proof
