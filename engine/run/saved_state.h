// A text's tokens with their keys and values in a file, so that another process goes on where this one was.
//
// Layout: a header of words of 64 bits (magic, version, length of the description, tokens), a description of what made
// the
//   state as JSON, the ids as int32; then from a multiple of 64 bytes on, for each layer, the pages of each KV
//   head's keys and those of values (engine/device/operators/kv_cache.h), as the cache holds them; last a checksum of
//   all of that, 64 bits.
// Contract: a state is of one model and of one kind of keys and values; one of another kind, a file that is cut, one
// with a damaged byte and a
//   file that is none are Errors that say so, and change nothing. The file appears only when it is complete. It is read
//   through a mapping. Not for devices with memory of their own: the host copies the pages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/device/operators/kv_cache.h"
#include "engine/model/config.h"
#include "engine/model/file_mapping.h"
#include "engine/model/gguf.h"
#include "sync/output_file.h"

namespace tandem {

// What must be the same for a state to be of use, as JSON: the model (by its header and the beginning of every tensor),
// the type of keys and values, and what activations are rounded to.
std::string describe_state(const GgufFile& file, const ModelConfig& config, KvType kv_type, const char* act);

// pages: of the text, as many as its tokens need.
void save_state(const std::string& path, const std::string& description, std::span<const int32_t> ids,
                std::span<const KvCache> caches, std::span<const int32_t> pages, WhileUnread while_unread = {});

class SavedState {
 public:
  // Error where it was made with another description.
  SavedState(const std::string& path, const std::string& description);

  const std::vector<int32_t>& ids() const { return ids_; }
  // Fills pages with them: as many as the ids need.
  void copy_to(std::span<const KvCache> caches, std::span<const int32_t> pages) const;

 private:
  void require_sum(std::span<const KvCache> caches, std::span<const int32_t> pages) const;

  std::string path_;
  FileMapping file_;
  std::vector<int32_t> ids_;
  size_t begin_ = 0;  // of the pages
};

}  // namespace tandem
