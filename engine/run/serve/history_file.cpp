#include "engine/run/serve/history_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/draft/suffix_automaton.h"
#include "engine/model/hash.h"
#include "sync/error.h"
#include "sync/file_lock.h"
#include "sync/output_file.h"

namespace tandem {
namespace {

struct FileHeader {
  uint64_t magic = 0x3154534948434454;  // "TDCHIST1": the last character is the version
  uint64_t vocabulary = 0;
  uint64_t check = 0;  // a hash of the fields above
};
struct RecordHeader {
  uint32_t magic = 0x44524352;  // "RCRD"
  uint32_t tokens = 0;
  uint64_t content = 0;  // a hash of the tokens
  uint64_t check = 0;    // a hash of the fields above
};
// Records begin at multiples of this, so that a reader finds the next one behind damaged bytes.
constexpr size_t kAlignment = sizeof(int32_t);

template <typename Header>
uint64_t check_of(const Header& header) {
  return hash_bytes(std::as_bytes(std::span(&header, 1)).first(sizeof header - sizeof header.check));
}

FileHeader header_of(uint64_t vocabulary) {
  FileHeader header;
  header.vocabulary = vocabulary;
  header.check = check_of(header);
  return header;
}

template <typename T>
void append_bytes(std::vector<std::byte>& to, std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// The bytes up to the next place where a record may begin. No id ends with them, so they complete no cut record.
std::span<const std::byte> gap_behind(size_t size) {
  static constexpr std::byte kGap[kAlignment] = {std::byte{0xFF}, std::byte{0xFF}, std::byte{0xFF}, std::byte{0xFF}};
  return std::span(kGap).first((kAlignment - size % kAlignment) % kAlignment);
}

void append_record(std::vector<std::byte>& to, std::span<const int32_t> record) {
  RecordHeader header;
  header.tokens = static_cast<uint32_t>(record.size());
  header.content = hash_much(std::as_bytes(record));
  header.check = check_of(header);
  append_bytes(to, std::span<const RecordHeader>(&header, 1));
  append_bytes(to, record);
}

// The ids of a record that begins at these bytes. Empty: none does.
std::vector<int32_t> record_at(std::span<const std::byte> bytes) {
  RecordHeader header;
  if (bytes.size() < sizeof header) return {};
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::span<const std::byte> rest = bytes.subspan(sizeof header);
  if (header.magic != RecordHeader().magic || header.tokens == 0 || header.tokens > kMostRecordTokens ||
      header.check != check_of(header) || rest.size() / sizeof(int32_t) < header.tokens)
    return {};
  std::vector<int32_t> ids(header.tokens);
  std::memcpy(ids.data(), rest.data(), ids.size() * sizeof(int32_t));
  const bool intact = hash_much(std::as_bytes(std::span(ids))) == header.content &&
                      std::ranges::all_of(ids, [](int32_t id) { return id >= 0; });
  return intact ? ids : std::vector<int32_t>();
}

// An open file, with a lock that ends with this object.
class LockedFile {
 public:
  LockedFile(const std::string& path, int flags, int lock) : path_(path) {
    file_.descriptor = open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, S_IRUSR | S_IWUSR);  // a FIFO would block
    if (!is_open()) return;
    struct stat status {};
    if (fstat(file_.descriptor, &status) == 0 && !S_ISREG(status.st_mode))
      throw Error("the history is no plain file", path, "Name a file");
    if (!lock_file(file_.descriptor, lock, "another process that uses " + path)) fail("lock");
  }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  bool is_open() const { return file_.descriptor >= 0; }
  [[noreturn]] void fail(const char* what) const {
    throw Error(std::string("cannot ") + what + " the history", path_, std::strerror(errno));
  }
  // Whether the path still names this file. Another process may have put a new one into its place.
  bool is_current() const {
    struct stat own {
    }, named{};
    return fstat(file_.descriptor, &own) == 0 && stat(path_.c_str(), &named) == 0 && own.st_ino == named.st_ino &&
           own.st_dev == named.st_dev;
  }
  size_t size() const {
    struct stat status {};
    if (fstat(file_.descriptor, &status) != 0) fail("read");
    return static_cast<size_t>(status.st_size);
  }
  std::vector<std::byte> first(size_t count) const {
    std::vector<std::byte> bytes(count);
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t some = pread(file_.descriptor, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
      if (some < 0 && errno == EINTR) continue;
      if (some < 0) fail("read");
      if (some == 0) break;  // cut meanwhile
      done += static_cast<size_t>(some);
    }
    bytes.resize(done);
    return bytes;
  }
  // Writes at `begin`. If not all bytes can be written, the file is cut there again.
  void write_at(size_t begin, std::span<const std::byte> bytes) const {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t some =
          pwrite(file_.descriptor, bytes.data() + done, bytes.size() - done, static_cast<off_t>(begin + done));
      if (some < 0 && errno == EINTR) continue;
      if (some <= 0) {
        const int reason = some < 0 ? errno : ENOSPC;
        if (ftruncate(file_.descriptor, static_cast<off_t>(begin)) != 0) fail("write");
        errno = reason;
        fail("write");
      }
      done += static_cast<size_t>(some);
    }
  }

 private:
  struct OpenFile {
    int descriptor = -1;
    ~OpenFile() {
      if (descriptor >= 0) close(descriptor);
    }
  };
  const std::string path_;
  OpenFile file_;  // closed also if the constructor throws
};

// A process may have been killed before it had written the header.
bool is_cut_header(std::span<const std::byte> bytes) {
  const FileHeader header;
  return bytes.size() < sizeof header &&
         std::memcmp(bytes.data(), &header.magic, std::min(bytes.size(), sizeof header.magic)) == 0;
}

// The header of a file's bytes. Error: they are something else, or of another vocabulary.
FileHeader checked_header(std::span<const std::byte> bytes, uint64_t vocabulary, const std::string& path) {
  FileHeader header;
  if (bytes.size() >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
  if (bytes.size() < sizeof header || header.magic != FileHeader().magic || header.check != check_of(header))
    throw Error("the file is no history of texts", path, "Name another file; `tandem run --history` makes it");
  if (vocabulary != HistoryFile::kAnyVocabulary && header.vocabulary != vocabulary)
    throw Error("the history has ids of another vocabulary", path, "Use one file for each kind of tokenizer");
  return header;
}

// A new file with this header and these bytes takes the place of the old one. Links stay, and lead to the new file.
void replace(const std::string& path, const FileHeader& header, std::span<const std::byte> records) {
  OutputFile file(path);
  file.write(std::as_bytes(std::span(&header, 1)));
  file.write(records);
  file.commit();
}

// The newest records that fit into the room begin at this token.
size_t newest_begin(std::span<const int32_t> tokens, size_t room) {
  size_t begin = tokens.size(), bytes = 0;
  while (begin > 0) {
    const std::span<const int32_t> older = tokens.first(begin - 1);  // without the separator
    const auto record = static_cast<size_t>(std::find(older.rbegin(), older.rend(), kSeparator).base() - older.begin());
    bytes += sizeof(RecordHeader) + (begin - 1 - record) * sizeof(int32_t);
    if (bytes > room) break;
    begin = record;
  }
  return begin;
}

}  // namespace

// Behind damaged bytes the next record is looked for at every place where one may begin.
HistoryRecords parse_history(std::span<const std::byte> bytes, uint64_t vocabulary, const std::string& path) {
  HistoryRecords all;
  if (bytes.empty() || is_cut_header(bytes)) return all;
  checked_header(bytes, vocabulary, path);
  size_t at = sizeof(FileHeader);
  while (at < bytes.size()) {
    const std::vector<int32_t> record = record_at(bytes.subspan(at));
    if (record.empty()) {
      const size_t step = std::min(kAlignment, bytes.size() - at);
      all.dropped_bytes += static_cast<int64_t>(step);
      at += step;
      continue;
    }
    all.tokens.insert(all.tokens.end(), record.begin(), record.end());
    all.tokens.push_back(kSeparator);
    ++all.records;
    at += sizeof(RecordHeader) + record.size() * sizeof(int32_t);
  }
  return all;
}

uint64_t vocabulary_hash(const Tokenizer& tokenizer) {
  uint64_t hash = static_cast<uint64_t>(tokenizer.size());
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    const std::string piece = tokenizer.piece(id, true);
    hash = hash_bytes(std::as_bytes(std::span(piece)), hash);
  }
  return hash == HistoryFile::kAnyVocabulary ? 1 : hash;
}

HistoryRecords HistoryFile::read() const {
  const LockedFile file(path_, O_RDONLY, LOCK_SH);
  if (!file.is_open() && errno == ENOENT) return {};
  if (!file.is_open()) file.fail("open");
  return parse_history(file.first(file.size()), vocabulary_, path_);
}

// The header of a process that was killed while it wrote the header is written again.
bool HistoryFile::append(std::span<const int32_t> record) const {
  if (record.empty()) return true;
  if (std::ssize(record) > kMostRecordTokens) record = record.last(static_cast<size_t>(kMostRecordTokens));
  const size_t most = static_cast<size_t>(most_bytes_);
  if (sizeof(FileHeader) + sizeof(RecordHeader) + record.size_bytes() > most) return false;
  for (;;) {
    const LockedFile file(path_, O_RDWR | O_CREAT, LOCK_EX);
    if (!file.is_open()) file.fail("open");
    if (!file.is_current()) continue;
    const size_t size = file.size();
    const FileHeader header = header_of(vocabulary_);
    const std::vector<std::byte> beginning = file.first(std::min(size, sizeof header));
    const bool is_new = beginning.empty() || is_cut_header(beginning);
    if (!is_new) checked_header(beginning, vocabulary_, path_);
    std::vector<std::byte> added;
    if (is_new)
      append_bytes(added, std::span<const FileHeader>(&header, 1));
    else
      append_bytes(added, gap_behind(size));
    append_record(added, record);
    const size_t begin = is_new ? 0 : size;
    if (begin + added.size() <= most) {
      file.write_at(begin, added);
    } else {
      keep_newest(parse_history(file.first(size), vocabulary_, path_), record);
    }
    return true;
  }
}

// A quarter of the room is left, so that the next records need no new file.
void HistoryFile::keep_newest(const HistoryRecords& all, std::span<const int32_t> newest) const {
  const size_t room = (static_cast<size_t>(most_bytes_) - sizeof(FileHeader)) / 4 * 3,
               newest_bytes = sizeof(RecordHeader) + newest.size_bytes();
  const size_t begin = newest_begin(all.tokens, room - std::min(room, newest_bytes));
  std::vector<std::byte> records;
  for_each_text(std::span(all.tokens).subspan(begin),
                [&](std::span<const int32_t> text) { append_record(records, text); });
  append_record(records, newest);
  replace(path_, header_of(vocabulary_), records);
  index().remove_first(all.tokens, begin);
}

void HistoryFile::clear() const {
  const LockedFile file(path_, O_RDWR, LOCK_EX);
  if (!file.is_open()) file.fail("open");
  const std::vector<std::byte> beginning = file.first(std::min(file.size(), sizeof(FileHeader)));
  if (!beginning.empty() && !is_cut_header(beginning))
    replace(path_, checked_header(beginning, kAnyVocabulary, path_), {});
  index().remove();
}

bool HistoryFile::exists() const {
  struct stat status {};
  return stat(path_.c_str(), &status) == 0 || errno != ENOENT;  // read() says what else is wrong
}

unsigned HistoryFile::open_mode() const {
  struct stat status {};
  const bool is_open = stat(path_.c_str(), &status) == 0 && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0;
  return is_open ? status.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO) : 0;
}

int64_t HistoryFile::bytes() const {
  struct stat status {};
  return stat(path_.c_str(), &status) == 0 ? static_cast<int64_t>(status.st_size) : 0;
}

}  // namespace tandem
