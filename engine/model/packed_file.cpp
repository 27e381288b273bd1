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
constexpr uint64_t kVersion = 3;                       // of this file's layout
constexpr size_t kPageBytes = 4096;

// The size with the zeros that fill the last page.
size_t whole_pages(size_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

constexpr size_t kSampledPages = 64;

// 11 fixed words: the 9 before the lengths of the slots, and the two hashes after them.
size_t header_bytes(size_t slots) { return whole_pages((11 + slots) * sizeof(uint64_t)); }

uint64_t padded_sum(std::span<const size_t> slot_bytes) {
  uint64_t sum = 0;
  for (const size_t bytes : slot_bytes) sum += whole_pages(bytes);
  return sum;
}

// Calls take(offset) for at most kSampledPages pages of `bytes`, evenly spread. The first and the last page
// are among them.
template <typename Take>
void for_each_sampled_page(uint64_t bytes, const Take& take) {
  const uint64_t pages = bytes / kPageBytes, taken = std::min<uint64_t>(pages, kSampledPages);
  for (uint64_t i = 0; i < taken; ++i) take((taken > 1 ? (pages - 1) * i / (taken - 1) : 0) * kPageBytes);
}

// The header's words in the order of the layout. The last word is a hash of all words before it.
std::vector<std::byte> header_of(const GgufIdentity& model, std::span<const size_t> slot_bytes, uint64_t slots_hash) {
  const uint64_t file_bytes = header_bytes(slot_bytes.size()) + padded_sum(slot_bytes);
  std::vector<uint64_t> words = {kPackedMagic,      kVersion << 32 | kPackingVersion,
                                 model.file_bytes,  static_cast<uint64_t>(model.modified_ns),
                                 model.header_hash, model.sampled_hash,
                                 model.place_hash,  file_bytes,
                                 slot_bytes.size()};
  words.insert(words.end(), slot_bytes.begin(), slot_bytes.end());
  words.push_back(slots_hash);
  words.push_back(hash_bytes(std::as_bytes(std::span(words))));
  std::vector<std::byte> bytes(header_bytes(slot_bytes.size()));
  std::memcpy(bytes.data(), words.data(), words.size() * sizeof(uint64_t));
  return bytes;
}

// Byte offset of the slots' hash in the header.
size_t place_of_hash(size_t slots) { return (9 + slots) * sizeof(uint64_t); }

// Reads exactly `bytes` bytes. Returns the reason if it cannot, and "" on success.
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

// Leaves out the inode and the path, so a model that was moved keeps the name of its packed file.
std::string PackedFile::name(const GgufIdentity& model) {
  const uint64_t words[] = {model.file_bytes, static_cast<uint64_t>(model.modified_ns), model.header_hash};
  char text[32];
  std::snprintf(text, sizeof text, "%016llx.packed",
                static_cast<unsigned long long>(hash_bytes(std::as_bytes(std::span(words)))));
  return text;
}

PackedFileWriter::PackedFileWriter(const std::string& path, const GgufIdentity& model,
                                   std::span<const size_t> slot_bytes)
    : model_(model), slot_bytes_(slot_bytes.begin(), slot_bytes.end()), out_(path) {
  out_.write(std::vector<std::byte>(header_bytes(slot_bytes_.size())));
  for_each_sampled_page(padded_sum(slot_bytes_), [this](uint64_t offset) { sampled_.push_back(offset); });
}

// Pieces are whole pages, so each sampled page lies in one piece. Sampled pages ascend.
void PackedFileWriter::write(std::span<const std::byte> piece) {
  TANDEM_CHECK(piece.size() % kPageBytes == 0, "pieces of a packed file are whole pages");
  for (; next_ < sampled_.size() && sampled_[next_] < written_ + piece.size(); ++next_)
    hash_ = hash_bytes(piece.subspan(sampled_[next_] - written_, kPageBytes), hash_);
  out_.write(piece);
  written_ += piece.size();
}

// The header is written last: a file without it is no packed file.
void PackedFileWriter::commit() {
  TANDEM_CHECK(written_ == padded_sum(slot_bytes_), "a packed file has all of its slots");
  out_.rewrite_begin(header_of(model_, slot_bytes_, hash_));
  out_.commit();
}

uint64_t PackedFileWriter::file_bytes(std::span<const size_t> slot_bytes) {
  return header_bytes(slot_bytes.size()) + padded_sum(slot_bytes);
}

// Only a regular file is read. O_NONBLOCK: opening a pipe without a writer would wait.
std::optional<PackedFile> PackedFile::open(const std::string& path, const GgufIdentity& model,
                                           std::span<const size_t> slot_bytes, std::string& why) {
  why.clear();
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    if (errno != ENOENT) why = std::strerror(errno);
    return std::nullopt;
  }
  PackedFile file(path, descriptor, slot_bytes);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    why = "it is no regular file";
    return std::nullopt;
  }
  file.stamp_ = stamp_of(status);
  why = file.damage(model);
  if (!why.empty()) return std::nullopt;
  return file;
}

// The reason why the file is no packed file of this model; "": it is one. Compares the header with the expected one,
// then the length, then the hash of the sampled pages.
std::string PackedFile::damage(const GgufIdentity& model) const {
  const size_t head = header_bytes(slot_bytes_.size());
  std::vector<std::byte> found(head);
  if (std::string why = read_at(file_, found.data(), head, 0); !why.empty()) return why;
  uint64_t slots_hash = 0;
  std::memcpy(&slots_hash, found.data() + place_of_hash(slot_bytes_.size()), sizeof slots_hash);
  // The expected header contains the hash found in the file, so only the other words are compared here.
  if (found != header_of(model, slot_bytes_, slots_hash)) return "it is damaged, or of another version or model";
  const uint64_t bytes = padded_sum(slot_bytes_);
  if (stamp_.bytes != head + bytes) return "it has another length than it says";
  uint64_t hash = 0;
  std::string why;
  for_each_sampled_page(bytes, [&](uint64_t offset) {
    if (why.empty()) why = read_at(file_, found.data(), kPageBytes, head + offset);
    hash = hash_bytes({found.data(), kPageBytes}, hash);
  });
  return why.empty() && hash != slots_hash ? "its weights are damaged" : why;
}

PackedFile::PackedFile(std::string path, int file, std::span<const size_t> slot_bytes)
    : path_(std::move(path)), file_(file), slot_bytes_(slot_bytes.begin(), slot_bytes.end()) {}

PackedFile::PackedFile(PackedFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      stamp_(other.stamp_),
      guard_(std::move(other.guard_)),
      slot_bytes_(std::move(other.slot_bytes_)) {}

PackedFile& PackedFile::operator=(PackedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(stamp_, other.stamp_);
  std::swap(guard_, other.guard_);
  std::swap(slot_bytes_, other.slot_bytes_);
  return *this;
}

PackedFile::~PackedFile() {
  if (file_ >= 0) ::close(file_);
}

// Examines the open descriptor instead of the path, so another file of this name is no change.
void PackedFile::require_unchanged() const {
  struct stat status {};
  if (guard_.lost() || ::fstat(file_, &status) != 0) throw_file_changed(path_);
  const FileStamp now = stamp_of(status);
  if (now.bytes != stamp_.bytes || now.modified_ns != stamp_.modified_ns) throw_file_changed(path_);
}

// Offset, size and label of each slot's part in the file.
std::vector<sync::FilePart> PackedFile::placed(std::span<const sync::FilePart> parts) const {
  TANDEM_CHECK(parts.size() == slot_bytes_.size(), "a part for every slot of a packed file");
  std::vector<sync::FilePart> placed(parts.begin(), parts.end());
  for (size_t i = 0; i < placed.size(); ++i) {
    TANDEM_CHECK(parts[i].bytes <= slot_bytes_[i], "a part of a slot");
    placed[i].offset = offset_of_slot(i);
    placed[i].bytes = whole_pages(parts[i].bytes);
  }
  return placed;
}

// Copies nothing: the slots are pages of the file. One guard covers all of them.
std::vector<sync::Slot*> PackedFile::map(sync::Pool& pool, std::span<const sync::FilePart> parts) {
  std::vector<sync::Slot*> slots = pool.map_file(file_, placed(parts), sync::SlotUse::weights);
  if (!slots.empty())  // one mapping has all slots
    guard_ = FileGuard({slots.front()->data(), slots.back()->data() + slots.back()->size_bytes()}, true);
  return slots;
}

std::vector<sync::Slot*> PackedFile::read(sync::Pool& pool, std::span<const sync::FilePart> parts) const {
  std::vector<sync::Slot*> slots;
  for (const sync::FilePart& part : placed(parts)) {
    slots.push_back(&pool.acquire(part.bytes, sync::SlotUse::weights, part.label));
    if (const std::string why = read_at(file_, slots.back()->data(), part.bytes, part.offset); !why.empty())
      throw Error("cannot read packed weights (" + why + ")", path_ + ": " + part.label,
                  "Try again without --pack-cache");
  }
  return slots;
}

size_t PackedFile::bytes_of_slots(size_t first, size_t count) const {
  return padded_sum(std::span(slot_bytes_).subspan(first, count));
}

uint64_t PackedFile::offset_of_slot(size_t slot) const {
  return header_bytes(slot_bytes_.size()) + padded_sum(std::span(slot_bytes_).first(slot));
}

uint64_t PackedFile::offset_of(const ExpertRecords& records, int64_t expert) const {
  return offset_of_slot(records.slot) + records.offset + static_cast<uint64_t>(expert) * records.bytes;
}

// Pages that are mapped, or that were not written to storage yet, stay.
void PackedFile::forget_slots(size_t first, size_t count) const {
  ::fdatasync(file_);
  ::posix_fadvise(file_, static_cast<off_t>(offset_of_slot(first)), static_cast<off_t>(bytes_of_slots(first, count)),
                  POSIX_FADV_DONTNEED);
}

// A change of the file is the better reason for a failure. It also makes bytes worthless that were read well.
void PackedFile::copy_slots(size_t first, size_t count, std::byte* to) const {
  const std::string why = read_at(file_, to, bytes_of_slots(first, count), offset_of_slot(first));
  require_unchanged();
  if (!why.empty()) throw Error("cannot read packed weights (" + why + ")", path_, "Remove the file; it is made again");
}

}  // namespace tandem
