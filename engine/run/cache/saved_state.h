// A text's tokens with their keys and values in a file, so that another process can continue the text.
//
// Layout of the file:
//   a header of 64-bit words: magic, version, length of the description, number of tokens;
//   the description, as JSON: what the state depends on;
//   the ids, as int32, and zeros up to a multiple of 64 bytes;
//   for each layer the pages of each KV head's keys, then of each KV head's values, as the cache holds
//   them (engine/device/operators/kv_cache.h);
//   a 64-bit checksum of everything before it.
//
// Contract: a state fits one model and one kind of keys and values. A state of another kind, a file that is cut, a
// damaged byte and any other file are Errors that say so, and change nothing.
// A file appears only when it is complete. It is read through a mapping. The pages are those in the pool's memory.
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

// Everything that a state depends on, as JSON: the model, the type of keys and values, and the type that activations
// are rounded to. A hash of the file's header and of the beginning of every tensor identifies the model.
std::string describe_state(const GgufFile& file, const ModelConfig& config, KvType kv_type, const char* act);

// pages: the text's pages, as many as its tokens need.
void save_state(const std::string& path, const std::string& description, std::span<const int32_t> ids,
                std::span<const KvCache> caches, std::span<const int32_t> pages, WhileUnread while_unread = {});

class SavedState {
 public:
  // Error if the file was written with another description.
  SavedState(const std::string& path, const std::string& description);

  const std::vector<int32_t>& ids() const { return ids_; }
  // Copies keys and values from the file into these pages, as many as the ids need.
  void copy_to(std::span<const KvCache> caches, std::span<const int32_t> pages) const;

 private:
  void require_sum(std::span<const KvCache> caches, std::span<const int32_t> pages) const;

  std::string path_;
  FileMapping file_;
  std::vector<int32_t> ids_;
  size_t begin_ = 0;  // where the pages begin in the file
};

}  // namespace tandem
