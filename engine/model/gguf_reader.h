// Reads and checks the header of one GGUF file: metadata, tensor table, and where each tensor's bytes lie.
//
// Contract: a pure function of the bytes. Every count and length is compared with the remaining bytes before memory is
// allocated or bytes are skipped. So the work is linear in the size of the file. Keys, values and tensor data are views
// into `bytes`. Error: names the file, the field, what was found and what was expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/gguf.h"

namespace tandem {

// Values are the type numbers of the GGUF format.
enum class GgufType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

struct GgufValue {
  GgufType type = GgufType::u8;
  GgufType element = GgufType::u8;     // of an array's elements
  uint64_t count = 1;                  // elements of an array
  const std::byte* payload = nullptr;  // the value, the string's length, or the array's first element
  std::span<const std::byte> stored;   // all bytes after the type; for an array also its element type and count
};

struct GgufContents {
  uint32_t version = 0;
  std::map<std::string_view, GgufValue> values;
  std::vector<GgufTensor> tensors;  // in the order of the file
};

GgufContents read_gguf(std::span<const std::byte> bytes, const std::string& name);

const char* to_string(GgufType type);
size_t fixed_bytes(GgufType type);  // 0 for strings and arrays
// Reads a little-endian T; `place` may be unaligned.
template <typename T>
T load_value(const std::byte* place);
// The string whose 8-byte length starts at `place`.
std::string_view load_string(const std::byte* place);

}  // namespace tandem
