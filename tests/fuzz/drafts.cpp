// The files of a history of texts, any bytes. Every byte behind the header belongs to a record or is counted as
// dropped. An index is used only if it has each place of the history once, and then finds places of the history alone.
#include <algorithm>
#include <utility>
#include <vector>

#include "engine/draft/draft_history.h"
#include "engine/run/serve/history_file.h"
#include "engine/run/serve/history_index.h"
#include "sync/error.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace tandem::fuzz {
namespace {

// Texts of the last bytes: few tokens, so that they repeat.
std::vector<int32_t> texts_of(Bytes bytes) {
  std::vector<int32_t> texts;
  for (const std::byte byte : bytes) texts.push_back(std::to_integer<int32_t>(byte) % 5 - 1);
  texts.push_back(kSeparator);
  return texts;
}

}  // namespace

void history_index(Bytes input) {
  constexpr size_t kMostTexts = 200;  // bytes
  const size_t some = std::min(input.size() / 4, kMostTexts);
  const std::vector<int32_t> texts = texts_of(input.last(some));
  // Any bytes as a file. Most have wrong checksums, so the order is tried by itself, too.
  parse_history_index(input, texts);
  const Bytes rest = input.first(input.size() - some);
  SuffixIndex sorted;
  sorted.append(texts);
  std::vector<int32_t> order(sorted.order().begin(), sorted.order().end());
  for (size_t i = 0; i + 1 < rest.size() && !order.empty(); i += 2) {
    int32_t& entry = order[std::to_integer<size_t>(rest[i]) % order.size()];
    const auto change = std::to_integer<int32_t>(rest[i + 1]);
    if (change < 128)
      std::swap(entry, order[static_cast<size_t>(change) % order.size()]);
    else
      entry += change - 192;
  }
  const auto index = SuffixIndex::of(texts, order);
  if (!index) return;
  const std::vector<std::byte> file = history_index_bytes(*index);
  const SuffixIndex read = parse_history_index(file, texts);
  must_hold(std::ranges::equal(read.order(), order), "an index is read as it was written");
  DraftHistory records(read);
  HistoryMatcher matcher(records);
  std::vector<int32_t> context;
  for (const std::byte byte : rest) {
    context.push_back(std::to_integer<int32_t>(byte) % 4);
    const Match match = matcher.longest(context, Occurrence::last);
    if (match.length == 0) continue;
    must_hold(match.record >= 0 && match.record < records.records(), "a match is in a record");
    must_hold(match.end >= 0 && match.end + 1 < std::ssize(records.record(match.record)), "a token follows a match");
  }
}

void history(Bytes input) {
  constexpr int64_t kHeaderBytes = 24;  // of each record, and of each of the file's two
  HistoryRecords read;
  try {
    read = parse_history(input, HistoryFile::kAnyVocabulary, "fuzzed");
  } catch (const Error&) {
    return;
  }
  const int64_t tokens = std::ssize(read.tokens) - read.records, size = std::ssize(input);
  const int64_t damaged = read.dropped_bytes - (size - kHeaderBytes * (2 + read.records) - 4 * tokens);
  must_hold(size < 2 * kHeaderBytes || damaged == 0 || damaged == kHeaderBytes,
            "every byte is part of a record or dropped, and one header may be damaged");
  DraftHistory records;
  for_each_text(read.tokens, [&records](std::span<const int32_t> text) { records.add(text); });
  must_hold(records.records() == read.records && records.tokens() == tokens, "records end with a separator");
}

}  // namespace tandem::fuzz
