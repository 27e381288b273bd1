// An index of the history, so that a start does not have to sort all its tokens. It is only a cache: an index that is
// damaged, stale or cannot be written is made again.
#include "engine/run/serve/history_index.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/draft/suffix_automaton.h"
#include "engine/model/hash.h"
#include "engine/run/serve/plain_file.h"
#include "sync/error.h"
#include "sync/output_file.h"

namespace tandem {
namespace {

struct IndexHeader {
  uint64_t magic = 0x3158444E49484454;  // "TDHINDX1": the last character is the version
  uint64_t tokens = 0;                  // of the history, with their separators
  uint64_t entries = 0;
  uint64_t texts = 0;  // a hash of these tokens
  uint64_t order = 0;  // a hash of the entries
  uint64_t check = 0;  // a hash of the fields above
};
constexpr size_t kMagicBytes = sizeof IndexHeader::magic - 1;  // without the version

// As for the history: the hash of the fields in front of it.
uint64_t check_of(const IndexHeader& header) {
  return hash_bytes(std::as_bytes(std::span(&header, 1)).first(sizeof header - sizeof header.check));
}

constexpr const char* kThing = "index of the history";

// Whether a plain file's bytes are those of an index of any version, whole or cut.
bool begins_as_index(const PlainFile& file) {
  const IndexHeader header;
  const std::vector<std::byte> beginning = file.first(std::min(file.size(), kMagicBytes));
  return beginning.empty() || std::memcmp(beginning.data(), &header.magic, beginning.size()) == 0;
}

PlainFile open_index(const std::string& path) { return {path, O_RDONLY, kThing}; }

// Whether the path may be given to an index: nothing is there, or an index. No link is followed.
bool is_free(const std::string& path) {
  const PlainFile file(path, O_RDONLY | O_NOFOLLOW, kThing);
  if (!file.is_open()) return errno == ENOENT;
  return file.is_plain() && begins_as_index(file);
}

// Links of the history lead to one index.
std::string index_path(const std::string& history) {
  try {
    return followed_path(history) + ".index";
  } catch (const Error&) {
    return history + ".index";
  }
}

}  // namespace

// Every number is checked against the history's tokens before it is used. Any doubt gives an empty index, and then all
// texts count as new.
SuffixIndex parse_history_index(std::span<const std::byte> bytes, std::span<const int32_t> tokens) {
  IndexHeader header;
  if (bytes.size() < sizeof header) return {};
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::span<const std::byte> entries = bytes.subspan(sizeof header);
  if (header.magic != IndexHeader().magic || header.check != check_of(header) || header.tokens == 0 ||
      header.tokens > tokens.size() || entries.size() % sizeof(int32_t) != 0 ||
      header.entries != entries.size() / sizeof(int32_t))
    return {};
  const std::span<const int32_t> texts = tokens.first(header.tokens);
  if (texts.back() != kSeparator || hash_much(std::as_bytes(texts)) != header.texts ||
      hash_much(entries) != header.order)
    return {};
  std::vector<int32_t> order(header.entries);
  if (!order.empty()) std::memcpy(order.data(), entries.data(), entries.size());
  return SuffixIndex::of(texts, std::move(order)).value_or(SuffixIndex());
}

// The header has hashes of the history's tokens, which are not written again, and of the order.
std::vector<std::byte> history_index_bytes(const SuffixIndex& index) {
  IndexHeader header;
  header.tokens = index.tokens().size();
  header.entries = index.order().size();
  header.texts = hash_much(std::as_bytes(index.tokens()));
  header.order = hash_much(std::as_bytes(index.order()));
  header.check = check_of(header);
  std::vector<std::byte> bytes;
  bytes.reserve(sizeof header + index.order().size_bytes());
  for (const auto part : {std::as_bytes(std::span(&header, 1)), std::as_bytes(index.order())})
    bytes.insert(bytes.end(), part.begin(), part.end());
  return bytes;
}

HistoryIndexFile::HistoryIndexFile(const std::string& history) : path_(index_path(history)) {}

// A file that is larger than an index of these tokens is not read.
SuffixIndex HistoryIndexFile::read(std::span<const int32_t> tokens) const try {
  const PlainFile file = open_index(path_);
  const size_t size = file.is_plain() ? file.size() : 0;
  if (size < sizeof(IndexHeader) || size > sizeof(IndexHeader) + tokens.size_bytes()) return {};
  return parse_history_index(file.first(size), tokens);
} catch (const Error&) {  // the system cannot read it
  return {};
}

// Tokens behind the index are appended to it only if there are many, since each update writes the whole file.
SuffixIndex HistoryIndexFile::update(std::span<const int32_t> tokens, size_t most) const {
  SuffixIndex index = read(tokens);
  const std::span<const int32_t> rest = tokens.subspan(index.tokens().size());
  if (rest.size() <= most) return index;
  index.append(rest);
  write(index);
  return index;
}

// The history has dropped its oldest records, so the index drops their suffixes and needs no new sort.
void HistoryIndexFile::remove_first(std::span<const int32_t> tokens, size_t count) const {
  SuffixIndex index = read(tokens);
  if (index.tokens().size() <= count) return;
  index.remove_first(count);
  write(index);
}

// Writers of several processes take turns by a lock on the temporary file. One that a killed process left has no lock,
// and is written again.
bool HistoryIndexFile::write(const SuffixIndex& index) const try {
  if (!is_free(path_)) return false;
  const std::string temporary = path_ + ".part";
  for (;;) {
    const PlainFile file(temporary, O_RDWR | O_CREAT | O_NOFOLLOW, kThing);
    if (!file.is_plain()) return false;
    file.lock(LOCK_EX);
    if (!file.is_current()) continue;  // it has become the index
    if (!begins_as_index(file)) return false;
    try {
      file.set_mode(S_IRUSR | S_IWUSR);
      file.cut_at(0);
      file.write_at(0, history_index_bytes(index));
      if (rename(temporary.c_str(), path_.c_str()) == 0) return true;
    } catch (const Error&) {  // a full disk, for example
    }
    unlink(temporary.c_str());
    return false;
  }
} catch (const Error&) {  // the system refuses to read or to lock
  return false;
}

bool HistoryIndexFile::remove() const { return is_free(path_) && unlink(path_.c_str()) == 0; }

int64_t HistoryIndexFile::bytes() const {
  if (!is_free(path_)) return 0;
  const PlainFile file = open_index(path_);
  return file.is_plain() ? static_cast<int64_t>(file.size()) : 0;
}

}  // namespace tandem
