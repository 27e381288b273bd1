// The file of a history of texts: any bytes. Every byte behind the header belongs to a record or is counted as dropped.
#include "engine/draft/draft_history.h"
#include "engine/run/serve/history_file.h"
#include "sync/error.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace tandem::fuzz {

void history(Bytes input) {
  constexpr int64_t kHeaderBytes = 24;  // of the file and of each record
  HistoryRecords read;
  try {
    read = parse_history(input, HistoryFile::kAnyVocabulary, "fuzzed");
  } catch (const Error&) {
    return;
  }
  const int64_t tokens = std::ssize(read.tokens) - read.records, size = std::ssize(input);
  must_hold(size < kHeaderBytes || kHeaderBytes * (1 + read.records) + 4 * tokens + read.dropped_bytes == size,
            "every byte is part of a record or dropped");
  DraftHistory records;
  for_each_text(read.tokens, [&records](std::span<const int32_t> text) { records.add(text); });
  must_hold(records.records() == read.records && records.tokens() == tokens, "records end with a separator");
}

}  // namespace tandem::fuzz
