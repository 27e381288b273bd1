// Packed files whose experts are damaged for a while.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/model/loading.h"
#include "engine/model/packed_file.h"
#include "sync/error.h"

namespace tandem::testing {

inline std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The packed file in a folder; empty: there is none.
inline std::string packed_file_in(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".packed") return entry.path();
  return "";
}

// Flips a byte of the file, without the file's date.
inline void flip(const std::string& path, uint64_t at) {
  const auto date = std::filesystem::last_write_time(path);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(at));
  const char was = static_cast<char>(file.get());
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(was ^ 16));
  file.close();
  std::filesystem::last_write_time(path, date);
}

// The offset of a layer's records in the packed file of a model, which is not damaged.
inline uint64_t first_record(const std::string& model, const std::string& packed, const ExpertRecords& layer) {
  std::string why;
  sync::Pool pool;
  const GgufFile file = GgufFile::open(model);
  const std::vector<size_t> slots = ModelLoading(file, pool).slot_bytes();
  const auto opened = PackedFile::open(packed, file.identity().value(), slots, why);
  if (!opened) throw Error("a packed file cannot be used", why);
  return opened->offset_of(layer, 0);
}

// Flips a byte of each expert of a layer, whose records begin at `first`.
inline void flip_experts(const std::string& packed, uint64_t first, const ExpertRecords& layer) {
  for (int64_t expert = 0; expert < layer.count; ++expert)
    flip(packed, first + static_cast<uint64_t>(expert) * layer.bytes + 100);
}

}  // namespace tandem::testing
