// The storage types of GGUF files that Tandem computes with, and their block geometry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "packed/half.h"

namespace tandem {

// Values are the type numbers of the GGUF format.
enum class StorageType : uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  iq2_xxs = 16,
  iq2_xs = 17,
  iq3_xxs = 18,
  iq1_s = 19,
  iq4_nl = 20,
  iq3_s = 21,
  iq2_s = 22,
  iq4_xs = 23,
  iq1_m = 29,
  bf16 = 30,
  tq1_0 = 34,
  tq2_0 = 35,
  mxfp4 = 39,
  nvfp4 = 40,
  q1_0 = 41,
  q2_0 = 42,
};

struct StorageTypeInfo {
  StorageType type;
  const char* name;       // the usual spelling: "Q4_K"
  uint32_t block_values;  // values in one block
  uint32_t block_bytes;
};

std::span<const StorageTypeInfo> storage_types();  // all supported ones
std::optional<StorageType> storage_type_from_number(uint32_t gguf_number);
StorageType storage_type_named(std::string_view name);  // "Q4_0", in any case of letters; Error when unknown
const StorageTypeInfo& info(StorageType type);
size_t row_bytes(StorageType type, int64_t values);  // values: a multiple of block_values, else Error

// Decodes one row of `values` values to f32 by the type's published formula. It is the reference for everything else.
void decode_row(StorageType type, const void* blocks, float* out, int64_t values);

}  // namespace tandem
