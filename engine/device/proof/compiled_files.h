// The record of what runs well with a driver's compiled files. It names programs that a child process has built and
// launched, and notes that a child has opened the devices.
//
// A driver trusts the files that it has kept, and PoCL ends the process when one of them is damaged. So the record
// counts only while every file stays as it was. It names the files, with their sizes, times and inode numbers, and the
// keys of what has run well with them. When one file has changed, nothing is known any more, and a child tries
// everything anew.
//
// Contract: keys are hashes of the things that were tried. The record lies in the cache folder, one for each set of
// drivers and each helper program. It is replaced whole, under a lock, and each process adds to what others have
// written meanwhile.
//   A record that is damaged, or that cannot be read or written, is empty. An unknown key is looked up in the newest
//   record, which another process may have written.
//   Looking at the files takes 1 us for each, and happens at most every two seconds. Threads: any. Nothing here throws.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "engine/device/proof/verdict.h"
#include "sync/clock.h"

namespace tandem::proof {

class CompiledFiles {
 public:
  // record: path of the record; "": there is none. folder: where the driver keeps what it has compiled.
  CompiledFiles(std::string record, std::string folder);

  bool unchanged();  // whether the record's files are all as they were; true without a record and without files
  bool knows(uint64_t key);
  void look_again();  // reads the record and looks at the files again
  // How a child died of this key. Known for a day, and while the drivers stay the same.
  std::optional<std::string> fatal(uint64_t key);

  // Adds to the record: these keys run well with the files as they are now.
  void add(std::span<const uint64_t> keys);
  void add_fatal(uint64_t key, const std::string& how);

  // Renames the driver's folder, so that the driver begins with an empty one, and forgets all keys that ran
  // well. Returns the new name. "": there were no files, or the folder could not be renamed. Removes what was
  // set aside before.
  std::string set_aside();

  const std::string& record() const { return record_; }
  const std::string& folder() const { return folder_; }

 private:
  struct Known {
    std::map<std::string, std::string> files;  // path within the folder, and its stamp
    std::set<uint64_t> keys;
    struct Death {
      int64_t at = 0;  // seconds since 1970
      std::string how;
    };
    std::map<uint64_t, Death> fatal;
  };
  Known read() const;
  bool holds(const Known& known) const;  // whether none of its files has changed
  bool hold_still();                     // the same for known_, looked at every two seconds at most
  void write(const Known& known) const;
  void take_record();        // reads it from the disk
  void take_newer_record();  // if another process has replaced it
  template <typename Change>
  void change(const Change& change);  // changes the record on disk, under its lock

  const std::string record_, folder_;
  std::mutex mutex_;
  Known known_;
  std::string taken_;  // stamp of the record from which known_ was read
  bool unchanged_ = false;
  std::optional<Clock::time_point> looked_;
};

// The record about the drivers for which proof::verdict() was last called. nullptr: it was not called, or nothing is
// tried here.
std::shared_ptr<CompiledFiles> compiled_files(Api api);

// A fast hash of the whole text, eight bytes at a time. seed: chains the hashes of several texts.
uint64_t mixed(std::string_view text, uint64_t seed = 0);

}  // namespace tandem::proof
