#include "engine/run/serve/history_index.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/draft/suffix_automaton.h"
#include "engine/model/hash.h"
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

uint64_t check_of(const IndexHeader& header) {
  return hash_bytes(std::as_bytes(std::span(&header, 1)).first(sizeof header - sizeof header.check));
}

// An open file, which closes itself.
class IndexDescriptor {
 public:
  explicit IndexDescriptor(int descriptor) : descriptor_(descriptor) {}
  ~IndexDescriptor() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  IndexDescriptor(const IndexDescriptor&) = delete;
  IndexDescriptor& operator=(const IndexDescriptor&) = delete;

  // 0 for anything but a plain file.
  size_t size() const {
    struct stat status {};
    return descriptor_ >= 0 && fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)
               ? static_cast<size_t>(status.st_size)
               : 0;
  }
  std::vector<std::byte> first(size_t count) const {
    std::vector<std::byte> bytes(count);
    size_t done = 0;
    while (done < count) {
      const ssize_t some = pread(descriptor_, bytes.data() + done, count - done, static_cast<off_t>(done));
      if (some < 0 && errno == EINTR) continue;
      if (some <= 0) break;
      done += static_cast<size_t>(some);
    }
    bytes.resize(done);
    return bytes;
  }
  bool write(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t some = ::write(descriptor_, bytes.data(), bytes.size());
      if (some < 0 && errno == EINTR) continue;
      if (some <= 0) return false;
      bytes = bytes.subspan(static_cast<size_t>(some));
    }
    return true;
  }

 private:
  const int descriptor_;
};

IndexDescriptor open_index(const std::string& path) {
  return IndexDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a FIFO would block
}

// Whether the path may be given to an index: nothing is there, or an index of any version, whole or cut.
bool is_free(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return errno == ENOENT;
  const IndexDescriptor file = open_index(path);
  if (!S_ISREG(status.st_mode)) return false;
  const std::vector<std::byte> beginning = file.first(std::min(file.size(), kMagicBytes));
  const IndexHeader header;
  return beginning.size() == std::min(static_cast<size_t>(status.st_size), kMagicBytes) &&
         (beginning.empty() || std::memcmp(beginning.data(), &header.magic, beginning.size()) == 0);
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
SuffixIndex HistoryIndexFile::read(std::span<const int32_t> tokens) const {
  const IndexDescriptor file = open_index(path_);
  const size_t size = file.size();
  if (size < sizeof(IndexHeader) || size > sizeof(IndexHeader) + tokens.size_bytes()) return {};
  return parse_history_index(file.first(size), tokens);
}

SuffixIndex HistoryIndexFile::update(std::span<const int32_t> tokens, size_t most) const {
  SuffixIndex index = read(tokens);
  const std::span<const int32_t> rest = tokens.subspan(index.tokens().size());
  if (rest.size() <= most) return index;
  index.append(rest);
  write(index);
  return index;
}

void HistoryIndexFile::remove_first(std::span<const int32_t> tokens, size_t count) const {
  SuffixIndex index = read(tokens);
  if (index.tokens().size() <= count) return;
  index.remove_first(count);
  write(index);
}

// The system makes a temporary file that only its owner may read, under a name of its own.
bool HistoryIndexFile::write(const SuffixIndex& index) const {
  if (!is_free(path_)) return false;
  std::string temporary = path_ + ".XXXXXX";
  const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool done =
      IndexDescriptor(descriptor).write(history_index_bytes(index)) && rename(temporary.c_str(), path_.c_str()) == 0;
  if (!done) unlink(temporary.c_str());
  return done;
}

bool HistoryIndexFile::remove() const { return is_free(path_) && unlink(path_.c_str()) == 0; }

int64_t HistoryIndexFile::bytes() const { return is_free(path_) ? static_cast<int64_t>(open_index(path_).size()) : 0; }

}  // namespace tandem
