// A model's packed weights in a file of their own. A later start maps this file instead of packing again.
//
// Layout: a header of 64-bit words, then the slots. Zeros fill the header and each slot up to a multiple of 4096.
// The header has:
//   magic, version, the model's identity;
//   the length of the whole file, the number of slots, the length of each;
//   a hash of 64 pages spread over the slots, and a hash of all these words.
//
// Contract: a file is used only if its header equals, bit by bit, the header that would be written now. Its 64 sampled
// pages must have their hash, and its length must be right. Offsets of slots are computed, never read from the file.
// Other files are no packed files of this model, and open() says why. The other pages are not checked, because that
// would take as long as packing. Owns the open file; movable.
// A file that changes or shrinks while it is mapped reads as other bytes, and as zeros where pages are gone.
// require_unchanged() throws from then on. It costs one system call.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/expert_records.h"
#include "engine/model/file_mapping.h"
#include "engine/model/gguf.h"
#include "sync/file_guard.h"
#include "sync/pool.h"
#include "sync/whole_file.h"

namespace tandem {

class PackedFile {
 public:
  // Absent: the file cannot be used. `why` then has the reason; it is empty if there is no file.
  static std::optional<PackedFile> open(const std::string& path, const GgufIdentity& model,
                                        std::span<const size_t> slot_bytes, std::string& why);
  PackedFile(PackedFile&& other) noexcept;
  PackedFile& operator=(PackedFile&& other) noexcept;
  ~PackedFile();

  // Return the slots. map(): the slots' pages are those of the system's page cache, so they are not
  // in memory twice. read(): the pool allocates the memory. Error when the system refuses.
  // parts: for each slot, how many of its first bytes, and the label. Offsets are ignored.
  std::vector<sync::Slot*> map(sync::Pool& pool, std::span<const sync::FilePart> parts);
  std::vector<sync::Slot*> read(sync::Pool& pool, std::span<const sync::FilePart> parts) const;
  // Slots `first` to `first + count - 1` lie side by side in the file: their bytes, and a copy of them. copy_slots()
  // may be called by any thread. Error when the file has changed or cannot be read.
  size_t bytes_of_slots(size_t first, size_t count) const;
  void copy_slots(size_t first, size_t count, std::byte* to) const;
  // Lets the system forget its copy of these slots, so that the next read comes from storage. For measurements.
  void forget_slots(size_t first, size_t count) const;
  void require_unchanged() const;
  const FileStamp& stamp() const { return stamp_; }  // of the file when it was opened

  // The file's name for a model. It differs between models, and does not depend on where the model lies.
  static std::string name(const GgufIdentity& model);
  const std::string& path() const { return path_; }
  int descriptor() const { return file_; }  // borrowed
  // The offset of the expert's record in the file.
  uint64_t offset_of(const ExpertRecords& records, int64_t expert) const;

 private:
  PackedFile(std::string path, int file, std::span<const size_t> slot_bytes);
  uint64_t offset_of_slot(size_t slot) const;
  std::string damage(const GgufIdentity& model) const;
  std::vector<sync::FilePart> placed(std::span<const sync::FilePart> parts) const;

  std::string path_;
  int file_ = -1;
  FileStamp stamp_;
  FileGuard guard_;  // of the mapped slots' memory
  std::vector<size_t> slot_bytes_;
};

// Writes a packed file piece by piece: the slots in their order, each filled with zeros up to a multiple of 4096 bytes.
//
// Contract: without commit(), no file remains. The header is written last. Error names the path and the system's
// reason. Threads: one.
class PackedFileWriter {
 public:
  PackedFileWriter(const std::string& path, const GgufIdentity& model, std::span<const size_t> slot_bytes);
  void write(std::span<const std::byte> piece);  // whole pages
  void commit();
  static uint64_t file_bytes(std::span<const size_t> slot_bytes);

 private:
  const GgufIdentity model_;
  const std::vector<size_t> slot_bytes_;
  WholeFile out_;
  std::vector<uint64_t> sampled_;  // offsets of the sampled pages, ascending
  size_t next_ = 0;                // of sampled_
  uint64_t written_ = 0, hash_ = 0;
};

}  // namespace tandem
