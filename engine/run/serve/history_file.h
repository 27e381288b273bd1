// S6: token ids of earlier texts in a file that outlives the process.
//
// The file is a header (what it is, the vocabulary) and records, each with its length and checksums. It only grows: a
// process that is killed, a full disk or a cut at any byte loses at most the record that was being written. The next
// writer goes on behind it. A reader skips bytes that are no record, and counts them. If the file would become larger
// than its limit, the newest records go to a new file that takes its place.
//
// Contract
//   parse_history() takes any bytes. Its time grows with their number.
//   Processes: any number of readers. Writers take turns by a lock, for one record each. Errors name the path and the
//   system's reason. After an Error the file has the records that it had.
//   Threads: one at a time for each object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/run/serve/history_index.h"
#include "tandem/tokenizer.h"

namespace tandem {

class PlainFile;

inline constexpr int64_t kMostRecordTokens = int64_t{1} << 20;
inline constexpr int64_t kHistoryBytes = int64_t{64} << 20;  // the limit of a file, unless a user asks for another
// The largest limit that a user may ask for. A larger file is none of ours, and is not read.
inline constexpr int64_t kMostHistoryBytes = int64_t{1} << 30;

struct HistoryRecords {
  std::vector<int32_t> tokens;  // of all records, the oldest first, each followed by kSeparator
  int64_t records = 0;
  int64_t dropped_bytes = 0;  // that belong to no record
};
// The records of a file's bytes. Error: it is a file of something else, or of another vocabulary.
HistoryRecords parse_history(std::span<const std::byte> bytes, uint64_t vocabulary, const std::string& path);

// A number that says which ids a tokenizer gives. Two tokenizers with equal tokens share it.
uint64_t vocabulary_hash(const Tokenizer& tokenizer);

class HistoryFile {
 public:
  // Any vocabulary: only for records that are counted or removed.
  static constexpr uint64_t kAnyVocabulary = 0;
  // Nothing is opened before the first call.
  HistoryFile(std::string path, uint64_t vocabulary, int64_t most_bytes = kHistoryBytes)
      : path_(std::move(path)), vocabulary_(vocabulary), most_bytes_(most_bytes) {}

  HistoryRecords read() const;  // no such file: no records; Error if it is too large
  // Appends a record; an empty one is left out. Makes the file if there is none, for its owner alone. False: the record
  // is larger than the file may be.
  bool append(std::span<const int32_t> record) const;
  void clear() const;  // the file has no records then; Error if there is no such file
  bool exists() const;
  int64_t bytes() const;  // 0: there is no file
  const std::string& path() const { return path_; }
  // The index beside the file. It is removed with the records, and loses the oldest ones with them.
  HistoryIndexFile index() const { return HistoryIndexFile(path_); }
  void update_index() const { index().update(read().tokens, kMostUnindexedAtEnd); }  // after append()
  // The file's mode, if others than its owner may read or write it. 0: they may not, or there is no file.
  unsigned open_mode() const;

 private:
  std::vector<std::byte> bytes_of(const PlainFile& file) const;
  void keep_newest(const HistoryRecords& all, std::span<const int32_t> newest) const;

  const std::string path_;
  const uint64_t vocabulary_;
  const int64_t most_bytes_;
};

}  // namespace tandem
