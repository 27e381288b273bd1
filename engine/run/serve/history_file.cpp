// The file of earlier texts that drafts continue. Processes are killed and disks lose bytes, so every record can be
// read without the others, and readers skip what is damaged.
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
#include "engine/run/serve/plain_file.h"
#include "sync/error.h"
#include "sync/output_file.h"

namespace tandem {
namespace {

struct FileHeader {
  uint64_t magic = 0x3254534948434454;  // "TDCHIST2": the last character is the version
  uint64_t vocabulary = 0;
  uint64_t check = 0;  // a hash of the fields above
};
// A file begins with two equal headers, so that no flipped bit makes all its records unreadable.
struct FileBeginning {
  FileHeader headers[2];
};
// Each record has its own magic number and hashes. A reader that meets damaged bytes can find the next record by them.
struct RecordHeader {
  uint32_t magic = 0x44524352;  // "RCRD"
  uint32_t tokens = 0;
  uint64_t content = 0;  // a hash of the tokens
  uint64_t check = 0;    // a hash of the fields above
};
// Records begin at multiples of this, so that a reader finds the next one behind damaged bytes.
constexpr size_t kAlignment = sizeof(int32_t);

// The hash of all fields in front of the hash itself.
template <typename Header>
uint64_t check_of(const Header& header) {
  return hash_bytes(std::as_bytes(std::span(&header, 1)).first(sizeof header - sizeof header.check));
}

FileBeginning beginning_of(uint64_t vocabulary) {
  FileHeader header;
  header.vocabulary = vocabulary;
  header.check = check_of(header);
  return {{header, header}};
}

bool is_intact(const FileHeader& header) {
  return header.magic == FileHeader().magic && header.check == check_of(header);
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

// A record and its header are written in one call, so a killed process leaves at most one cut record at the end.
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

// The history's file with a lock, which ends with this object.
class LockedFile : public PlainFile {
 public:
  LockedFile(const std::string& path, int flags, int operation) : PlainFile(path, flags, "history") {
    if (!is_open()) return;
    if (!is_plain()) throw Error("the history is no plain file", path, "Name a file");
    lock(operation);
  }
};

// A shorter file may be the beginning of one, so only the bytes that are there are compared.
bool begins_as_history(std::span<const std::byte> bytes) {
  const FileHeader header;
  return bytes.empty() || std::memcmp(bytes.data(), &header.magic, std::min(bytes.size(), sizeof header.magic)) == 0;
}

// A process may have been killed before it had written the headers.
bool is_cut_beginning(std::span<const std::byte> bytes) {
  return bytes.size() < sizeof(FileBeginning) && begins_as_history(bytes);
}

// The vocabulary of a file's bytes, and how many of its headers are damaged. Error: the bytes are something else, or of
// another vocabulary.
struct CheckedBeginning {
  uint64_t vocabulary = 0;
  int64_t damaged_headers = 0;
};
CheckedBeginning checked_beginning(std::span<const std::byte> bytes, uint64_t vocabulary, const std::string& path) {
  FileBeginning beginning{};
  if (bytes.size() >= sizeof beginning) std::memcpy(&beginning, bytes.data(), sizeof beginning);
  const auto intact = std::ranges::count_if(beginning.headers, is_intact);
  if (intact == 0)
    throw Error("the file is no history of texts", path, "Name another file; `tandem run --history` makes it");
  const FileHeader& header = *std::ranges::find_if(beginning.headers, is_intact);
  if (vocabulary != HistoryFile::kAnyVocabulary && header.vocabulary != vocabulary)
    throw Error("the history has ids of another vocabulary", path, "Use one file for each kind of tokenizer");
  return {header.vocabulary, 2 - intact};
}

// Temporaries that killed processes left. The writer has the lock of the file, so nobody else uses them now.
void remove_left_over(const std::string& path) {
  for (const std::string& temporary : temporaries_of(path)) {
    const PlainFile file(temporary, O_RDONLY | O_NOFOLLOW, "temporary");
    if (file.is_plain() && begins_as_history(file.first(sizeof FileHeader::magic))) unlink(temporary.c_str());
  }
}

// A new file with these bytes behind the headers takes the place of the old one. Links stay, and lead to the new file.
void replace(const std::string& path, uint64_t vocabulary, std::span<const std::byte> records) {
  remove_left_over(path);
  const FileBeginning beginning = beginning_of(vocabulary);
  OutputFile file(path);
  file.write(std::as_bytes(std::span(&beginning, 1)));
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
  if (is_cut_beginning(bytes)) return all;
  constexpr int64_t kHeader = sizeof(FileHeader);
  all.dropped_bytes = kHeader * checked_beginning(bytes, vocabulary, path).damaged_headers;
  size_t at = sizeof(FileBeginning);
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

// Ids mean the same only in one vocabulary, so a file belongs to the texts of all its tokens.
uint64_t vocabulary_hash(const Tokenizer& tokenizer) {
  uint64_t hash = static_cast<uint64_t>(tokenizer.size());
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    const std::string piece = tokenizer.piece(id, true);
    hash = hash_bytes(std::as_bytes(std::span(piece)), hash);
  }
  return hash == HistoryFile::kAnyVocabulary ? 1 : hash;
}

// All bytes of a history. A sparse file may have more than the memory, so the size is checked before they are read.
std::vector<std::byte> HistoryFile::bytes_of(const PlainFile& file) const {
  const size_t size = file.size();
  if (size > static_cast<size_t>(std::max(kMostHistoryBytes, most_bytes_)))
    throw Error("the history is too large", path_,
                std::to_string(size) + " bytes; at most " + std::to_string(kMostHistoryBytes) + " are read");
  return file.first(size);
}

// Several readers may share the file, and a writer waits for them. A file that is not there is an empty history.
HistoryRecords HistoryFile::read() const {
  const LockedFile file(path_, O_RDONLY, LOCK_SH);
  if (!file.is_open() && errno == ENOENT) return {};
  if (!file.is_open()) file.fail("open");
  return parse_history(bytes_of(file), vocabulary_, path_);
}

// Adds a record under the file's lock, or writes a smaller file if it would grow too long. Another process may have
// replaced the file while this one waited for the lock, and then it is opened again. Headers of a process that was
// killed while it wrote them are written again.
bool HistoryFile::append(std::span<const int32_t> record) const {
  if (record.empty()) return true;
  if (std::ssize(record) > kMostRecordTokens) record = record.last(static_cast<size_t>(kMostRecordTokens));
  const size_t most = static_cast<size_t>(most_bytes_);
  if (sizeof(FileBeginning) + sizeof(RecordHeader) + record.size_bytes() > most) return false;
  for (;;) {
    const LockedFile file(path_, O_RDWR | O_CREAT, LOCK_EX);
    if (!file.is_open()) file.fail("open");
    if (!file.is_current()) continue;
    const size_t size = file.size();
    const FileBeginning headers = beginning_of(vocabulary_);
    const std::vector<std::byte> beginning = file.first(std::min(size, sizeof headers));
    const bool is_new = is_cut_beginning(beginning);
    if (!is_new) checked_beginning(beginning, vocabulary_, path_);
    std::vector<std::byte> added;
    if (is_new)
      append_bytes(added, std::span<const FileBeginning>(&headers, 1));
    else
      append_bytes(added, gap_behind(size));
    append_record(added, record);
    const size_t begin = is_new ? 0 : size;
    if (begin + added.size() <= most) {
      file.write_at(begin, added);
    } else {
      keep_newest(parse_history(bytes_of(file), vocabulary_, path_), record);
    }
    return true;
  }
}

// A quarter of the room is left, so that the next records need no new file.
void HistoryFile::keep_newest(const HistoryRecords& all, std::span<const int32_t> newest) const {
  const size_t room = (static_cast<size_t>(most_bytes_) - sizeof(FileBeginning)) / 4 * 3,
               newest_bytes = sizeof(RecordHeader) + newest.size_bytes();
  const size_t begin = newest_begin(all.tokens, room - std::min(room, newest_bytes));
  std::vector<std::byte> records;
  for_each_text(std::span(all.tokens).subspan(begin),
                [&](std::span<const int32_t> text) { append_record(records, text); });
  append_record(records, newest);
  replace(path_, vocabulary_, records);
  index().remove_first(all.tokens, begin);
}

// The file keeps its beginning. So this works on a full disk, too.
void HistoryFile::clear() const {
  const LockedFile file(path_, O_RDWR, LOCK_EX);
  if (!file.is_open()) file.fail("open");
  const std::vector<std::byte> beginning = file.first(std::min(file.size(), sizeof(FileBeginning)));
  if (!is_cut_beginning(beginning)) {
    const FileBeginning headers = beginning_of(checked_beginning(beginning, kAnyVocabulary, path_).vocabulary);
    file.cut_at(sizeof headers);
    file.write_at(0, std::as_bytes(std::span(&headers, 1)));
  }
  index().remove();
}

bool HistoryFile::exists() const {
  struct stat status {};
  return stat(path_.c_str(), &status) == 0 || errno != ENOENT;  // read() says what else is wrong
}

// Texts are private. So callers can warn if others may read the file.
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
