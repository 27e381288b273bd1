// Packed weights kept in a folder for later starts (--pack-cache), which map them in place of packing.
//
// Beside each file stands one of the same name and ".stamp": the packed file's inode, length and dates as it was
// written. A packed file that anybody has written to since is made anew. The stamp's date is when it was last used.
//
// Contract: find() before loading, keep() when the text is out, because it writes as much as the model has weights. A
// file is written whole or not at all, under a name of its own for each model, so several programs may share the
// folder; one that is damaged or of another version is written anew. Afterwards the folder holds at most so many bytes:
// those that have not been used for longest are removed, and a model that is larger than all of it is not kept. Mapped
// files stay readable when they are removed. With an empty folder nothing is found and nothing is kept. Neither throws:
// a cache that cannot be read or written costs time only, and the log says so.
#pragma once

#include <cstdint>
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
  // The packed weights of this model, whose slots have these lengths; nothing: they are to be packed, and kept after.
  std::optional<PackedFile> find(const std::optional<GgufIdentity>& model, std::span<const size_t> slot_bytes) noexcept;
  // Whether find() found nothing that could be used.
  bool wants() const { return wanted_.has_value(); }
  void keep(std::span<const sync::Slot* const> slots) noexcept;

 private:
  const std::string folder_;
  const uint64_t most_bytes_;
  struct Wanted {
    GgufIdentity model;
    std::vector<size_t> slot_bytes;
  };
  std::optional<Wanted> wanted_;
};

}  // namespace tandem
