// GGUF v2/v3 files, memory-mapped and fully validated.
//
// Contract: open() checks everything that a reader relies on before it returns: magic, version, counts, lengths,
// types, alignment, offsets, data inside the file, duplicate names. A bad file is an Error that names the file, the
// field and the expected value. Split files (NAME-00001-of-0000N.gguf) are opened through their first part and read
// like one file.
// Owns the mappings; views into them live as long as the GgufFile. Thread-safe for reading. A file that changes or
// shrinks while it is open reads as other bytes. require_unchanged() throws from then on; open() calls it too.
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

// Identifies a model's files and their content without reading them whole.
struct GgufIdentity {
  uint64_t file_bytes = 0;    // of all parts
  int64_t modified_ns = 0;    // of the part written last, since 1970
  uint64_t header_hash = 0;   // of everything before the tensors' data: metadata, names, shapes, types, offsets
  uint64_t sampled_hash = 0;  // of blocks spread over the tensors' data
  uint64_t place_hash = 0;    // of each part's inode and the time when its content, mode or names last changed
  bool operator==(const GgufIdentity&) const = default;
};

// A metadata value as the file stores it: the format's number of its type, and the bytes after that number.
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
  std::optional<GgufIdentity> identity() const;  // absent for parse()

  bool has(std::string_view key) const;
  // Typed metadata. get_*: std::nullopt when the key is absent; Error when the value has another type or is out of
  // range. require_*: Error when the key is absent.
  std::optional<uint64_t> get_uint(std::string_view key) const;  // any non-negative integer type
  std::optional<double> get_float(std::string_view key) const;   // f32, f64 or integer
  std::optional<bool> get_bool(std::string_view key) const;
  std::optional<std::string> get_string(std::string_view key) const;
  std::optional<std::vector<std::string_view>> get_strings(std::string_view key) const;
  std::optional<std::vector<float>> get_floats(std::string_view key) const;
  std::optional<std::vector<int32_t>> get_ints(std::string_view key) const;  // any integer array that fits
  // "u32", "array of string"; empty when the key is absent.
  std::string type_of(std::string_view key) const;
  // Number of values in the array; nullopt when the key is absent or is not an array.
  std::optional<uint64_t> array_length(std::string_view key) const;
  uint64_t require_uint(std::string_view key) const;
  double require_float(std::string_view key) const;
  std::string require_string(std::string_view key) const;
  std::vector<std::string> keys() const;
  GgufStored require_stored(std::string_view key) const;  // to write it into another file

  std::span<const GgufTensor> tensors() const;
  const GgufTensor* find(std::string_view name) const;     // nullptr when absent
  const GgufTensor& require(std::string_view name) const;  // Error when absent

  // Error, naming the part, if a file was written to, was cut or became unreadable since it was opened. Callers check
  // this before they pass on results that come from the file's bytes.
  void require_unchanged() const;

  // Hints for the operating system about the bytes of a mapped file. They do nothing for the bytes of parse().
  void expect_sequential_reads() const;
  void drop_pages(std::span<const std::byte> read_bytes) const;  // they can be read again, from the disk
  void drop_all_pages() const;

 private:
  struct State;
  explicit GgufFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tandem
