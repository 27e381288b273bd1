#include "engine/device/proof/compiled_files.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <sstream>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/proof/room.h"
#include "engine/device/proof/verdict.h"
#include "sync/whole_file.h"

namespace tandem::proof {
namespace {

namespace fs = std::filesystem;
constexpr const char* kFormat = "tandem compiled files 1";
constexpr const char* kAside = ".damaged-";
constexpr std::chrono::seconds kLookedLately{2};

// The record's first line holds the format and a hash of the rest, which shows damage.
std::string first_line(std::string_view rest) { return fmt::format("{} {:016x}", kFormat, mixed(rest)); }

std::string on_one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char each) { return each < ' '; }, ' ');
  return text;
}

// PoCL touches this file whenever it loads a program.
bool only_touched(const fs::path& path) { return path.filename() == "last_accessed"; }
// Files that are being written. They will get another name, or be removed.
bool is_temporary(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("tempfile") || name.starts_with(".");
}

// A text that changes with everything that may be done to a file. It holds the inode's last change (ctime), which no
// program can set back.
std::string stamp_of(const std::string& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) return "";
  const std::string mode = std::to_string(found.st_mode);
  if (only_touched(path)) return mode;
  return mode + " " + std::to_string(found.st_size) + " " + std::to_string(found.st_ctim.tv_sec) + "." +
         std::to_string(found.st_ctim.tv_nsec) + " " + std::to_string(found.st_ino);
}

// All files below the folder, by their paths within it, with their stamps.
std::map<std::string, std::string> files_in(const std::string& folder) {
  std::map<std::string, std::string> all;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code ignored;
    if (at->is_directory(ignored) || is_temporary(at->path())) continue;
    const std::string path = at->path().string();
    if (std::string stamp = stamp_of(path); !stamp.empty()) all.emplace(path.substr(folder.size()), std::move(stamp));
  }
  return all;
}

// Held while a process reads and rewrites the record. If the file cannot be opened, there is no lock.
class RecordLock {
 public:
  explicit RecordLock(const std::string& path) : file_(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)) {
    if (file_ >= 0) flock(file_, LOCK_EX);  // held while a small file is read and written
  }
  ~RecordLock() {
    if (file_ >= 0) close(file_);
  }
  RecordLock(const RecordLock&) = delete;
  RecordLock& operator=(const RecordLock&) = delete;

 private:
  int file_;
};

}  // namespace

// Multiplies and shifts each word of eight bytes into the hash. The length of the text is a part of it.
uint64_t mixed(std::string_view text, uint64_t seed) {
  uint64_t hash = seed ^ (text.size() * 0x9e3779b97f4a7c15u);
  const auto take = [&](uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  };
  for (; text.size() >= 8; text.remove_prefix(8)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data(), sizeof word);
    take(word);
  }
  uint64_t rest = 0;
  if (!text.empty()) std::memcpy(&rest, text.data(), text.size());
  take(rest);
  take(hash >> 29);
  return hash;
}

CompiledFiles::CompiledFiles(std::string record, std::string folder)
    : record_(std::move(record)), folder_(std::move(folder)) {
  take_record();
}

void CompiledFiles::take_record() {
  taken_ = stamp_of(record_);  // if it is written between here and read(), the next look finds another stamp
  known_ = read();
  looked_.reset();
}

// The stamp of the record itself shows whether another process has replaced it.
void CompiledFiles::take_newer_record() {
  if (!record_.empty() && stamp_of(record_) != taken_) take_record();
}

// Reads the lines behind the first one: "k KEY", "d KEY TIME HOW" and "f STAMP<tab>PATH". Keys are hexadecimal. A
// record with another hash, or with a line of another form, counts as empty.
CompiledFiles::Known CompiledFiles::read() const {
  Known known;
  try {
    const auto text = record_.empty() ? std::nullopt : read_file_if_there(record_);
    if (!text) return {};
    const size_t first = text->find('\n');
    const std::string_view rest = std::string_view(*text).substr(std::min(first, text->size() - 1) + 1);
    if (text->substr(0, first) != first_line(rest)) return {};
    std::istringstream lines{std::string(rest)};
    for (std::string line; std::getline(lines, line);) {
      const std::string_view value = std::string_view(line).substr(2);
      if (line[0] == 'k') known.keys.insert(std::stoull(line.substr(2), nullptr, 16));
      if (line[0] == 'f') known.files.emplace(value.substr(value.find('\t') + 1), value.substr(0, value.find('\t')));
      if (line[0] != 'd') continue;
      std::istringstream words(line.substr(2));
      uint64_t key = 0;
      Known::Death death;
      words >> std::hex >> key >> std::dec >> death.at;
      std::getline(words >> std::ws, death.how);
      known.fatal[key] = death;
    }
    return known;
  } catch (const std::exception& error) {
    spdlog::info("what is known of compiled programs is found out anew: {}: {}", record_, error.what());
    return {};
  }
}

// Paths with a line break have no place in the record, so such files are not watched.
void CompiledFiles::write(const Known& known) const {
  std::string rest;
  for (const uint64_t key : known.keys) rest += fmt::format("k {:x}\n", key);
  for (const auto& [key, death] : known.fatal)
    rest += fmt::format("d {:x} {} {}\n", key, death.at, on_one_line(death.how));
  for (const auto& [path, stamp] : known.files)
    if (path.find('\n') == std::string::npos) rest += "f " + stamp + "\t" + path + "\n";
  const std::string first = first_line(rest) + "\n";
  if (const std::string why = gpu::replace_file(record_, {first, rest}); !why.empty())
    say_not_kept("what is known of compiled programs", why);
}

// A record without files and keys holds only while the driver's folder is empty or missing.
bool CompiledFiles::holds(const Known& known) const {
  for (const auto& [path, stamp] : known.files)
    if (stamp_of(folder_ + path) != stamp) return false;
  if (!known.files.empty() || !known.keys.empty()) return true;
  std::error_code ignored;
  return !fs::exists(folder_, ignored) || fs::is_empty(folder_, ignored);
}

bool CompiledFiles::unchanged() {
  const std::lock_guard lock(mutex_);
  return hold_still();
}

// A look that is less than two seconds old still counts.
bool CompiledFiles::hold_still() {
  if (!looked_ || Clock::now() - *looked_ > kLookedLately) {
    unchanged_ = holds(known_);
    looked_ = Clock::now();
  }
  return unchanged_;
}

void CompiledFiles::look_again() {
  const std::lock_guard lock(mutex_);
  take_record();
}

// A key that is not known may stand in a newer record. A known key counts only while all files are as they were.
bool CompiledFiles::knows(uint64_t key) {
  const std::lock_guard lock(mutex_);
  if (!known_.keys.contains(key)) take_newer_record();
  return known_.keys.contains(key) && hold_still();
}

// A death that lies in the future does not count: the clock was set back.
std::optional<std::string> CompiledFiles::fatal(uint64_t key) {
  const std::lock_guard lock(mutex_);
  take_newer_record();
  const auto found = known_.fatal.find(key);
  const int64_t now = std::time(nullptr);
  if (found == known_.fatal.end() || found->second.at > now || now - found->second.at >= kTriedAgainAfter_s)
    return std::nullopt;
  return found->second.how;
}

// Reads the record again under its lock, so that nothing is lost that other processes have added. Keys are dropped if
// files have changed. Then applies the change, and writes the record.
template <typename Change>
void CompiledFiles::change(const Change& change) {
  try {
    const std::lock_guard lock(mutex_);
    std::error_code ignored;
    if (!record_.empty()) fs::create_directories(fs::path(record_).parent_path(), ignored);
    std::optional<RecordLock> record_lock;
    if (!record_.empty()) record_lock.emplace(record_ + ".lock");
    Known known = record_.empty() ? known_ : read();
    // Deaths stay known, since they are about the driver and not about its files.
    if (!holds(known)) known.keys.clear(), known.files.clear();
    change(known);
    if (!record_.empty()) write(known);
    known_ = std::move(known);
    taken_ = stamp_of(record_);
    unchanged_ = true;
    looked_ = Clock::now();
  } catch (const std::exception& error) {
    spdlog::info("what is known of compiled programs is not kept: {}", error.what());
  }
}

// The folder is listed now, so the record holds what the driver has written for these keys.
void CompiledFiles::add(std::span<const uint64_t> keys) {
  change([&](Known& known) {
    known.keys.insert(keys.begin(), keys.end());
    known.files = files_in(folder_);
  });
}

void CompiledFiles::add_fatal(uint64_t key, const std::string& how) {
  change([&](Known& known) { known.fatal[key] = {static_cast<int64_t>(std::time(nullptr)), how}; });
}

// Renaming is atomic, so other processes see the old folder or none. At most one folder that was set aside is kept.
std::string CompiledFiles::set_aside() {
  std::error_code failed;
  if (folder_.empty() || !fs::exists(folder_, failed) || fs::is_empty(folder_, failed)) return "";
  char when[32] = "";
  const std::time_t now = std::time(nullptr);
  tm parts{};
  std::strftime(when, sizeof when, "%Y%m%d-%H%M%S", localtime_r(&now, &parts));
  for (const auto& entry : fs::directory_iterator(fs::path(folder_).parent_path(), failed))
    if (entry.path().string().starts_with(folder_ + kAside)) fs::remove_all(entry.path(), failed);  // one is enough
  // Example: kcache.damaged-20261126-101500-4711.
  const std::string name = folder_ + kAside + when + "-" + std::to_string(getpid());
  fs::rename(folder_, name, failed);
  if (failed) return "";
  change([](Known& known) { known.keys.clear(), known.files.clear(); });
  return name;
}

}  // namespace tandem::proof
