#include "engine/tensor/types.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "engine/tensor/decode.h"
#include "engine/tensor/published_types.h"
#include "sync/error.h"

namespace tandem {
namespace {

// Number in GGUF, name, values of a block, bytes of a block. The table decides what a file may hold.
constexpr StorageTypeInfo kTypes[] = {
    {StorageType::f32, "F32", 1, 4},
    {StorageType::f16, "F16", 1, 2},
    {StorageType::bf16, "BF16", 1, 2},
    {StorageType::q8_0, "Q8_0", 32, 34},
    {StorageType::q4_0, "Q4_0", 32, 18},
    {StorageType::q4_1, "Q4_1", 32, 20},
    {StorageType::q5_0, "Q5_0", 32, 22},
    {StorageType::q5_1, "Q5_1", 32, 24},
    {StorageType::q2_k, "Q2_K", 256, 84},
    {StorageType::q3_k, "Q3_K", 256, 110},
    {StorageType::q4_k, "Q4_K", 256, 144},
    {StorageType::q5_k, "Q5_K", 256, 176},
    {StorageType::q6_k, "Q6_K", 256, 210},
    {StorageType::iq4_nl, "IQ4_NL", 32, 18},
    {StorageType::iq4_xs, "IQ4_XS", 256, 136},
    {StorageType::mxfp4, "MXFP4", 32, 17},
    {StorageType::nvfp4, "NVFP4", 64, 36},
    {StorageType::iq3_s, "IQ3_S", 256, 110},
    {StorageType::iq3_xxs, "IQ3_XXS", 256, 98},
    {StorageType::iq2_s, "IQ2_S", 256, 82},
    {StorageType::iq2_xs, "IQ2_XS", 256, 74},
    {StorageType::iq2_xxs, "IQ2_XXS", 256, 66},
    {StorageType::iq1_m, "IQ1_M", 256, 56},
    {StorageType::iq1_s, "IQ1_S", 256, 50},
    {StorageType::tq2_0, "TQ2_0", 256, 66},
    {StorageType::tq1_0, "TQ1_0", 256, 54},
    {StorageType::q2_0, "Q2_0", 64, 18},
    {StorageType::q1_0, "Q1_0", 128, 18},
};

using BlockDecoder = void (*)(const uint8_t* block, float* out);

// nullptr for types without blocks.
BlockDecoder block_decoder(StorageType type) {
  switch (type) {
    case StorageType::q4_0:
      return blocks::decode_q4_0;
    case StorageType::q4_1:
      return blocks::decode_q4_1;
    case StorageType::q5_0:
      return blocks::decode_q5_0;
    case StorageType::q5_1:
      return blocks::decode_q5_1;
    case StorageType::q8_0:
      return blocks::decode_q8_0;
    case StorageType::q2_k:
      return blocks::decode_q2_k;
    case StorageType::q3_k:
      return blocks::decode_q3_k;
    case StorageType::q4_k:
      return blocks::decode_q4_k;
    case StorageType::q5_k:
      return blocks::decode_q5_k;
    case StorageType::q6_k:
      return blocks::decode_q6_k;
    case StorageType::iq4_nl:
      return blocks::decode_iq4_nl;
    case StorageType::iq4_xs:
      return blocks::decode_iq4_xs;
    case StorageType::mxfp4:
      return blocks::decode_mxfp4;
    case StorageType::nvfp4:
      return blocks::decode_nvfp4;
    case StorageType::iq3_s:
      return blocks::decode_iq3_s;
    case StorageType::iq3_xxs:
      return blocks::decode_iq3_xxs;
    case StorageType::iq2_s:
      return blocks::decode_iq2_s;
    case StorageType::iq2_xs:
      return blocks::decode_iq2_xs;
    case StorageType::iq2_xxs:
      return blocks::decode_iq2_xxs;
    case StorageType::iq1_m:
      return blocks::decode_iq1_m;
    case StorageType::iq1_s:
      return blocks::decode_iq1_s;
    case StorageType::tq2_0:
      return blocks::decode_tq2_0;
    case StorageType::tq1_0:
      return blocks::decode_tq1_0;
    case StorageType::q2_0:
      return blocks::decode_q2_0;
    case StorageType::q1_0:
      return blocks::decode_q1_0;
    case StorageType::f32:
    case StorageType::f16:
    case StorageType::bf16:
      break;
  }
  return nullptr;
}

}  // namespace

// The order of the table is that of messages and of help texts.
std::span<const StorageTypeInfo> storage_types() { return kTypes; }

// The enumerators of StorageType have the numbers of the GGUF format.
std::optional<StorageType> storage_type_from_number(uint32_t gguf_number) {
  for (const StorageTypeInfo& entry : kTypes)
    if (static_cast<uint32_t>(entry.type) == gguf_number) return entry.type;
  return std::nullopt;
}

// A published name that Tandem does not support gets another Error than an unknown name.
StorageType storage_type_named(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string names;
  for (const StorageTypeInfo& entry : kTypes) {
    if (upper == entry.name) return entry.type;
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  // The two errors differ: the type exists elsewhere, or the name is wrong.
  const auto published = std::ranges::find(published_types(), upper, &PublishedType::name);
  throw Error(published == published_types().end() ? "unknown storage type" : "this storage type is not supported",
              std::string(name), "Use one of: " + names);
}

// Every enumerator is in the table, so the error is a number that was cast from a file.
const StorageTypeInfo& info(StorageType type) {
  for (const StorageTypeInfo& entry : kTypes)
    if (entry.type == type) return entry;
  throw Error("unknown storage type", "type number " + std::to_string(static_cast<uint32_t>(type)));
}

// A row that ended inside a block would share the block with the next row. No format allows that.
size_t row_bytes(StorageType type, int64_t values) {
  const StorageTypeInfo& entry = info(type);
  if (values < 0 || values % entry.block_values != 0)
    throw Error("a row does not consist of whole blocks", std::to_string(values) + " values of type " + entry.name,
                "the row length must be a multiple of " + std::to_string(entry.block_values));
  return static_cast<size_t>(values) / entry.block_values * entry.block_bytes;
}

// Types without blocks are widened value by value; the others are decoded block by block.
void decode_row(StorageType type, const void* source, float* out, int64_t values) {
  const size_t bytes = row_bytes(type, values);
  const auto* block = static_cast<const uint8_t*>(source);
  if (type == StorageType::f32) {
    std::memcpy(out, block, bytes);
  } else if (type == StorageType::f16) {
    for (int64_t i = 0; i < values; ++i) out[i] = half_to_float(blocks::read_u16(block + 2 * i));
  } else if (type == StorageType::bf16) {
    for (int64_t i = 0; i < values; ++i) out[i] = bf16_to_float(blocks::read_u16(block + 2 * i));
  } else {
    const StorageTypeInfo& entry = info(type);
    const BlockDecoder decode = block_decoder(type);
    for (int64_t v = 0; v < values; v += entry.block_values, block += entry.block_bytes) decode(block, out + v);
  }
}

}  // namespace tandem
