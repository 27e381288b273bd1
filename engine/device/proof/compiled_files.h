// What is known to go well with a driver's compiled files as they are now: programs that a child process has built and
// launched, and devices that one has opened.
//
// A driver trusts the files that it has kept, and PoCL ends the process when one is damaged. So a record is worth
// something only while every file stays as it was. It names the files, with their sizes, times and numbers, and what
// went well with them. After a change of one file nothing is known, and a child tries everything anew.
//
// Contract: keys are hashes of whatever was tried. The record lies in the cache folder, one for each set of drivers and
// each helper program; it is replaced whole, under a lock, and processes add to what others have written meanwhile. A
// record that is damaged, or cannot be read or written, knows nothing. A key that is not known is looked up
// in the newest record, which another process may have written. Looking at the files takes 1 us each and is done at
// most every two seconds. Threads: any. Nothing here throws.
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
  // record: the file, or empty for none; folder: where the driver keeps what it has compiled.
  CompiledFiles(std::string record, std::string folder);

  bool unchanged();  // every file that the record names; true where there is no record and no file either
  bool knows(uint64_t key);
  void look_again();  // at the record, and at the files
  // Why a child died of it; for a day, and while the drivers stay the same.
  std::optional<std::string> fatal(uint64_t key);

  // Adds to the record: these went well, with the files as they are now.
  void add(std::span<const uint64_t> keys);
  void add_fatal(uint64_t key, const std::string& how);

  // The driver's files get another name, so that it begins anew; the new name, or empty when there were none. Nothing
  // is known then.
  // What was set aside before is removed.
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
  bool holds(const Known& known) const;  // none of its files has changed
  bool hold_still();                     // those of known_, as looked at lately
  void write(const Known& known) const;
  void take_record();        // as it is on disk
  void take_newer_record();  // where another process has replaced it
  template <typename Change>
  void change(const Change& change);  // of the record on disk, under its lock

  const std::string record_, folder_;
  std::mutex mutex_;
  Known known_;
  std::string taken_;  // stamp of the record when known_ was read from it
  bool unchanged_ = false;
  std::optional<Clock::time_point> looked_;
};

// The record about an interface's drivers as proof::verdict() was last shown them; nullptr: it was not asked, or
// nothing is tried here.
std::shared_ptr<CompiledFiles> compiled_files(Api api);

// A hash in which every bit of the text counts; eight bytes at a time.
uint64_t mixed(std::string_view text, uint64_t seed = 0);

}  // namespace tandem::proof
