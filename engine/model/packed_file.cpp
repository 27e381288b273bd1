#include "engine/model/packed_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "engine/model/hash.h"
#include "engine/tensor/packed.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr uint64_t kPackedMagic = 0x4b4341504d444e54;  // "TNDMPACK"
constexpr uint64_t kVersion = 1;                       // of this file's layout
constexpr size_t kPageBytes = 4096;

size_t whole_pages(size_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

size_t header_bytes(size_t slots) { return whole_pages((8 + slots) * sizeof(uint64_t)); }

// Reads so many bytes, or says why not.
std::string read_at(int file, std::byte* to, size_t bytes, uint64_t offset) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t got = ::pread(file, to + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::strerror(errno);
    if (got == 0) return "it is too short";
    done += static_cast<size_t>(got);
  }
  return "";
}

}  // namespace

std::string PackedFile::name(const GgufIdentity& model) {
  const uint64_t words[] = {model.file_bytes, static_cast<uint64_t>(model.modified_ns), model.header_hash};
  char text[32];
  std::snprintf(text, sizeof text, "%016llx.packed",
                static_cast<unsigned long long>(hash_bytes(std::as_bytes(std::span(words)))));
  return text;
}

std::vector<std::byte> PackedFile::header(const GgufIdentity& model, std::span<const size_t> slot_bytes) {
  uint64_t file_bytes = header_bytes(slot_bytes.size());
  for (const size_t bytes : slot_bytes) file_bytes += whole_pages(bytes);
  std::vector<uint64_t> words = {kPackedMagic,      kVersion << 32 | kPackingVersion,
                                 model.file_bytes,  static_cast<uint64_t>(model.modified_ns),
                                 model.header_hash, file_bytes,
                                 slot_bytes.size()};
  words.insert(words.end(), slot_bytes.begin(), slot_bytes.end());
  words.push_back(hash_bytes(std::as_bytes(std::span(words))));
  std::vector<std::byte> bytes(header_bytes(slot_bytes.size()));
  std::memcpy(bytes.data(), words.data(), words.size() * sizeof(uint64_t));
  return bytes;
}

std::optional<PackedFile> PackedFile::open(const std::string& path, const GgufIdentity& model,
                                           std::span<const size_t> slot_bytes, std::string& why) {
  why.clear();
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    if (errno != ENOENT) why = std::strerror(errno);
    return std::nullopt;
  }
  PackedFile file(descriptor, slot_bytes);
  const std::vector<std::byte> wanted = header(model, slot_bytes);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    why = "it is no regular file";
    return std::nullopt;
  }
  std::vector<std::byte> found(wanted.size());
  why = read_at(descriptor, found.data(), found.size(), 0);
  if (why.empty() && found != wanted) why = "it is damaged, or of another version or model";
  uint64_t bytes = wanted.size();
  for (const size_t slot : slot_bytes) bytes += whole_pages(slot);
  if (why.empty() && static_cast<uint64_t>(status.st_size) != bytes) why = "it has another length than it says";
  if (!why.empty()) return std::nullopt;
  return file;
}

PackedFile::PackedFile(int file, std::span<const size_t> slot_bytes)
    : file_(file), slot_bytes_(slot_bytes.begin(), slot_bytes.end()) {}

PackedFile::PackedFile(PackedFile&& other) noexcept
    : file_(std::exchange(other.file_, -1)), slot_bytes_(std::move(other.slot_bytes_)) {}

PackedFile& PackedFile::operator=(PackedFile&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(slot_bytes_, other.slot_bytes_);
  return *this;
}

PackedFile::~PackedFile() {
  if (file_ >= 0) ::close(file_);
}

std::vector<sync::FilePart> PackedFile::parts(std::span<const std::string> labels) const {
  TANDEM_CHECK(labels.size() == slot_bytes_.size(), "a label for every slot of a packed file");
  std::vector<sync::FilePart> parts;
  uint64_t offset = header_bytes(slot_bytes_.size());
  for (size_t i = 0; i < slot_bytes_.size(); ++i) {
    parts.push_back({offset, whole_pages(slot_bytes_[i]), labels[i]});
    offset += parts.back().bytes;
  }
  return parts;
}

std::vector<sync::Slot*> PackedFile::map(sync::Pool& pool, std::span<const std::string> labels) const {
  return pool.map_file(file_, parts(labels), sync::SlotUse::weights);
}

std::vector<sync::Slot*> PackedFile::read(sync::Pool& pool, std::span<const std::string> labels) const {
  std::vector<sync::Slot*> slots;
  for (const sync::FilePart& part : parts(labels)) {
    slots.push_back(&pool.acquire(part.bytes, sync::SlotUse::weights, part.label));
    if (const std::string why = read_at(file_, slots.back()->data(), part.bytes, part.offset); !why.empty())
      throw Error("cannot read packed weights (" + why + ")", part.label, "Try again without --pack-cache");
  }
  return slots;
}

}  // namespace tandem
