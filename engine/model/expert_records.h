// Records of a packed file: all weights of one expert behind each other, so that one read brings them into memory.
//
// A layer's slot in the packed file ends with its records, one for each expert. A record begins at a multiple of 4096
// bytes. It has the expert's matrices (gate and up, then down), each at a multiple of 64 bytes. Its last eight bytes
// are a checksum of the bytes before them, of the layer and of the expert, so records that were exchanged are noticed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tandem {

// The place of a layer's records.
struct ExpertRecords {
  int64_t layer = 0;
  int64_t count = 0;  // experts
  size_t slot = 0;    // index among the model's slots
  size_t offset = 0;  // of the first record in that slot
  size_t bytes = 0;   // of each record
  bool operator==(const ExpertRecords&) const = default;
};

// Writes the checksum into the record's last bytes.
void seal_record(std::span<std::byte> record, int64_t layer, int64_t expert);
// Whether the checksum is that of these bytes, this layer and this expert.
bool is_intact(std::span<const std::byte> record, int64_t layer, int64_t expert);

}  // namespace tandem
