// Packed weights kept in a folder for later starts (--pack-cache). A later start maps them instead of packing again.
//
// Beside each packed file lies a stamp, a file of the same name with ".stamp" added. It holds the packed file's inode,
// length and dates as they were after writing. If any program has written to the packed file since, it is made again.
// The stamp's own date says when the packed file was last used.
//
// Contract: call find() before loading. Call keep() when the text is written, because it writes as many bytes
// as the weights have.
// Each model has a file name of its own, and a file is written whole or not at all. So several programs may share the
// folder. A file that is damaged or of another version is written again.
// keep() limits the folder to `most_bytes`. It removes the files that were used longest ago, and does not keep a model
// that is larger than the limit. Mapped files stay readable when they are removed.
// With an empty folder name nothing is found and nothing is kept. find() and keep() do not throw: a cache that cannot
// be read or written only costs time, and the log says so.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/gguf.h"
#include "engine/model/packed_file.h"
#include "sync/pool.h"

namespace tandem {

class PackCache {
 public:
  PackCache(std::string folder, uint64_t most_bytes) : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  bool on() const { return !folder_.empty(); }
  // The packed weights of this model, whose slots have these lengths. Nothing: the caller packs, and
  // calls keep() later.
  std::optional<PackedFile> find(const std::optional<GgufIdentity>& model, std::span<const size_t> slot_bytes) noexcept;
  // Whether find() found nothing usable, so that keep() would write a file.
  bool wants() const { return wanted_.has_value(); }
  // slots: the model's packed weights; writes the checksums of these records into them. Returns the file as write()
  // does; nothing: it was not written.
  std::optional<PackedFile> keep(std::span<const sync::Slot* const> slots,
                                 std::span<const ExpertRecords> records) noexcept;
  // Writes the file whose slots `fill` writes, in their order. Returns it open, so that other processes cannot take it
  // away. `fill` may be called again. Error when it cannot be written.
  PackedFile write(const std::function<void(PackedFileWriter&)>& fill);

 private:
  std::string folder_;
  uint64_t most_bytes_;
  struct Wanted {
    GgufIdentity model;
    std::vector<size_t> slot_bytes;
  };
  std::optional<Wanted> wanted_;
};

}  // namespace tandem
