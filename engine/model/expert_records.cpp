#include "engine/model/expert_records.h"

#include <cstring>

#include "engine/model/hash.h"

namespace tandem {
namespace {

uint64_t checksum(std::span<const std::byte> record, int64_t layer, int64_t expert) {
  const int64_t place[] = {layer, expert};
  return hash_much(record.first(record.size() - sizeof(uint64_t)), hash_bytes(std::as_bytes(std::span(place))));
}

}  // namespace

void seal_record(std::span<std::byte> record, int64_t layer, int64_t expert) {
  const uint64_t sum = checksum(record, layer, expert);
  std::memcpy(record.data() + record.size() - sizeof sum, &sum, sizeof sum);
}

bool is_intact(std::span<const std::byte> record, int64_t layer, int64_t expert) {
  uint64_t kept = 0;
  std::memcpy(&kept, record.data() + record.size() - sizeof kept, sizeof kept);
  return kept == checksum(record, layer, expert);
}

}  // namespace tandem
