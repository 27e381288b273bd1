// A model's packed weights in a file of their own, which a later start maps in place of packing.
//
// Layout: a header of words of 64 bits, then the slots. Zeros fill each of them up to a multiple of 4096. The header
// has:
//   magic, version, the model's identity;
//   the length of the whole file, the number of slots, the length of each;
//   a hash of 64 pages that are spread over the slots, and a hash of all these words.
//
// Contract: a file is used when its header is to the bit the one that would be written now, its 64 pages have their
// hash, and its length is right. The places of the slots are computed, never read. Other files are no packed files of
// this model, and open() says why. The other pages are not checked: that would take as long as packing. Owns the open
// file; movable.
//   A file that changes or shrinks while it is mapped gives other bytes, zeros where pages are gone, and
// require_unchanged() throws from then on. It costs one system call.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/file_mapping.h"
#include "engine/model/gguf.h"
#include "sync/file_guard.h"
#include "sync/pool.h"

namespace tandem {

class PackedFile {
 public:
  // Nothing: the file cannot be used; `why` says why, and is empty where there is no file.
  static std::optional<PackedFile> open(const std::string& path, const GgufIdentity& model,
                                        std::span<const size_t> slot_bytes, std::string& why);
  PackedFile(PackedFile&& other) noexcept;
  PackedFile& operator=(PackedFile&& other) noexcept;
  ~PackedFile();

  // The slots, with these labels. Mapped: their pages are those that the system keeps of the file, and are not in
  // memory twice. Read: memory of the pool's own. Error when the system refuses.
  std::vector<sync::Slot*> map(sync::Pool& pool, std::span<const std::string> labels);
  std::vector<sync::Slot*> read(sync::Pool& pool, std::span<const std::string> labels) const;
  void require_unchanged() const;
  const FileStamp& stamp() const { return stamp_; }  // of the file when it was opened

  // Files of different models have different names; the same model has the same name wherever it lies.
  static std::string name(const GgufIdentity& model);
  // What the file begins with; these slots follow.
  static std::vector<std::byte> header(const GgufIdentity& model, std::span<const size_t> slot_bytes,
                                       std::span<const sync::Slot* const> slots);

 private:
  PackedFile(std::string path, int file, std::span<const size_t> slot_bytes);
  std::string damage(const GgufIdentity& model) const;
  std::vector<sync::FilePart> parts(std::span<const std::string> labels) const;

  std::string path_;
  int file_ = -1;
  FileStamp stamp_;
  FileGuard guard_;  // of the mapped slots
  std::vector<size_t> slot_bytes_;
};

}  // namespace tandem
