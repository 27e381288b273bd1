// GGUF v2/v3 files, memory-mapped and fully validated.
//
// Contract: open() checks everything a reader relies on (magic, version, counts, lengths, types, alignment, offsets,
// overlap with the file's end, duplicate names) before it returns; a bad file is an Error naming file, field and what
// was expected. Split files (NAME-00001-of-0000N.gguf) are opened through their first part and look like one. Owns the
// mappings; views handed out live as long as the GgufFile. Thread-safe for reading. A file that changes or shrinks
// while it is open gives other bytes, and require_unchanged() throws from then on; open() calls it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor/types.h"

namespace tandem {

struct GgufTensor {
  std::string name;
  std::vector<int64_t> shape;  // as in the file: shape[0] is the row length (K), shape[1] the rows (N)
  StorageType type = StorageType::f32;
  const std::byte* data = nullptr;
  size_t bytes = 0;
};

// Tells a model's files from others without reading them whole, and what they hold from what they held before.
struct GgufIdentity {
  uint64_t file_bytes = 0;    // of all parts
  int64_t modified_ns = 0;    // of the part that was written last, since 1970
  uint64_t header_hash = 0;   // of everything before the tensors' data: metadata, names, shapes, types, places
  uint64_t sampled_hash = 0;  // of blocks that are spread over the tensors' data
  uint64_t place_hash = 0;    // of each part's inode, and of when its content, mode or names last changed
  bool operator==(const GgufIdentity&) const = default;
};

// A metadata value as the file has it: the format's number of its type, and what follows that number.
struct GgufStored {
  uint32_t type = 0;
  std::span<const std::byte> bytes;
};

class GgufFile {
 public:
  static GgufFile open(const std::string& path);
  // The same from memory (fuzzing, tests); `name` stands for the path in errors. The bytes must outlive the object.
  static GgufFile parse(std::span<const std::byte> bytes, const std::string& name);
  GgufFile(GgufFile&&) noexcept;
  GgufFile& operator=(GgufFile&&) noexcept;
  ~GgufFile();

  const std::string& path() const;
  uint64_t file_bytes() const;  // of all parts
  uint32_t version() const;
  std::optional<GgufIdentity> identity() const;  // nothing for parse()

  bool has(std::string_view key) const;
  // Typed metadata. get_*: std::nullopt when the key is absent; Error when it has another type or does not fit.
  // require_*: Error when absent.
  std::optional<uint64_t> get_uint(std::string_view key) const;  // any non-negative integer type
  std::optional<double> get_float(std::string_view key) const;   // f32, f64 or integer
  std::optional<bool> get_bool(std::string_view key) const;
  std::optional<std::string> get_string(std::string_view key) const;
  std::optional<std::vector<std::string_view>> get_strings(std::string_view key) const;
  std::optional<std::vector<float>> get_floats(std::string_view key) const;
  std::optional<std::vector<int32_t>> get_ints(std::string_view key) const;  // any integer array that fits
  // "u32", "array of string"; empty when the key is absent.
  std::string type_of(std::string_view key) const;
  // Values in the array; nullopt when the key is absent or no array.
  std::optional<uint64_t> array_length(std::string_view key) const;
  uint64_t require_uint(std::string_view key) const;
  double require_float(std::string_view key) const;
  std::string require_string(std::string_view key) const;
  std::vector<std::string> keys() const;
  GgufStored require_stored(std::string_view key) const;  // for writing it into another file

  std::span<const GgufTensor> tensors() const;
  const GgufTensor* find(std::string_view name) const;     // nullptr when absent
  const GgufTensor& require(std::string_view name) const;  // Error when absent

  // Error, naming the part, where a file was written to or cut since it was opened, or cannot be read any more. A
  // caller asks before it hands on what was computed from the file's bytes.
  void require_unchanged() const;

  // Hints for the operating system about the bytes of a mapped file; nothing happens for bytes that parse()
  // borrowed.
  void expect_sequential_reads() const;
  void drop_pages(std::span<const std::byte> read_bytes) const;  // they may be read again, from the disk
  void drop_all_pages() const;

 private:
  struct State;
  explicit GgufFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tandem
