// A model's packed weights in a file of their own, which a later start maps in place of packing.
//
// Layout: a header of words of 64 bits (magic, version, the model's identity, the number of slots, the length of the
// whole file, the slots' lengths, and a hash of all of these), zeros up to a multiple of 4096, then the slots one
// behind the other, each filled up with zeros to a multiple of 4096.
//
// Contract: a file is used when its header is to the bit the one that would be written now, and the file is as long as
// that says; where the slots lie is computed, never read. Whatever else is there is no packed file of this model, and
// open() says why. The slots' bytes themselves are not looked at: that would take as long as packing. Owns the open
// file; movable.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/gguf.h"
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
  std::vector<sync::Slot*> map(sync::Pool& pool, std::span<const std::string> labels) const;
  std::vector<sync::Slot*> read(sync::Pool& pool, std::span<const std::string> labels) const;

  // Files of different models have different names; the same model has the same name wherever it lies.
  static std::string name(const GgufIdentity& model);
  // What the file begins with; the slots follow.
  static std::vector<std::byte> header(const GgufIdentity& model, std::span<const size_t> slot_bytes);

 private:
  PackedFile(int file, std::span<const size_t> slot_bytes);
  std::vector<sync::FilePart> parts(std::span<const std::string> labels) const;

  int file_ = -1;
  std::vector<size_t> slot_bytes_;
};

}  // namespace tandem
