#include "engine/model/gguf_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <set>

#include "engine/tensor/published_types.h"
#include "sync/error.h"

namespace tandem {

// GGUF is little-endian, and so is every machine that this engine is built for.
static_assert(std::endian::native == std::endian::little);

template <typename T>
T load_value(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}
template uint8_t load_value(const std::byte*);
template int8_t load_value(const std::byte*);
template uint16_t load_value(const std::byte*);
template int16_t load_value(const std::byte*);
template uint32_t load_value(const std::byte*);
template int32_t load_value(const std::byte*);
template uint64_t load_value(const std::byte*);
template int64_t load_value(const std::byte*);
template float load_value(const std::byte*);
template double load_value(const std::byte*);

std::string_view load_string(const std::byte* place) {
  return {reinterpret_cast<const char*>(place) + sizeof(uint64_t), static_cast<size_t>(load_value<uint64_t>(place))};
}

const char* to_string(GgufType type) {
  static constexpr const char* kNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                           "bool", "string", "array", "u64", "i64", "f64"};
  return kNames[static_cast<uint32_t>(type)];
}

size_t fixed_bytes(GgufType type) {
  static constexpr size_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return kBytes[static_cast<uint32_t>(type)];
}

namespace {

constexpr uint32_t kMagic = 0x46554747;   // "GGUF"
constexpr uint64_t kMaxKeyBytes = 65535;  // the format's own limits
constexpr uint64_t kMaxTensorNameBytes = 64;
constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMaxAlignment = uint64_t{1} << 20;
constexpr int kMaxArrayDepth = 4;
// Sizes of the smallest table entries. Metadata: key length, one key byte, type, one value byte. Tensor: name length,
// one name byte, dimension count, one dimension, type, offset.
constexpr uint64_t kMinEntryBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kMinTensorInfoBytes = 8 + 1 + 4 + 8 + 4 + 8;
constexpr int64_t kMaxElements =
    std::numeric_limits<int64_t>::max() / 16;  // of a tensor: its bytes then fit 63 bits too

// At most 80 characters, with '?' for unprintable ones: names from a damaged file must not break an error text.
std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (char c : text.substr(0, 80)) result += c >= 0x20 && c < 0x7f ? c : '?';
  return result + "'";
}

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

// A position in the bytes. Reading moves it; reading past the end is an Error that names the field.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  size_t position() const { return position_; }
  uint64_t left() const { return bytes_.size() - position_; }
  const std::byte* place() const { return bytes_.data() + position_; }

  [[noreturn]] void fail(const std::string& field, const std::string& problem, const std::string& hint = "") const {
    throw Error("the GGUF file is not valid: " + problem, name_ + ": " + field, hint);
  }

  // Compares with the rest of the file, because the sum of position and count could overflow.
  void skip(uint64_t count, const std::string& field) {
    if (count > left()) {
      fail(field,
           "the file is truncated: it ends after " + std::to_string(bytes_.size()) + " bytes, expected " +
               std::to_string(count) + " more at byte " + std::to_string(position_),
           "download it again");
    }
    position_ += static_cast<size_t>(count);
  }

  template <typename T>
  T read(const std::string& field) {
    const std::byte* here = place();
    skip(sizeof(T), field);
    return load_value<T>(here);
  }

  std::string_view read_string(const std::string& field) {
    const std::byte* here = place();
    const uint64_t length = read<uint64_t>(field);
    if (length > left()) {
      fail(field, "a string of " + std::to_string(length) + " bytes, expected at most the " + std::to_string(left()) +
                      " that the file has left");
    }
    position_ += static_cast<size_t>(length);
    return load_string(here);
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& name_;
  size_t position_ = 0;
};

GgufType read_type(Cursor& cursor, const std::string& field) {
  const uint32_t number = cursor.read<uint32_t>(field);
  if (number > static_cast<uint32_t>(GgufType::f64)) {
    cursor.fail(field, "value type " + std::to_string(number) + ", expected 0 to 12");
  }
  return static_cast<GgufType>(number);
}

void skip_value(Cursor& cursor, GgufType type, const std::string& field, int depth);

// Refuses a count before anything is allocated for it: so many entries must fit into the rest of the file.
void check_count(const Cursor& cursor, uint64_t count, uint64_t min_bytes_each, const std::string& field) {
  if (count > cursor.left() / min_bytes_each) {
    cursor.fail(field, std::to_string(count) + " entries, expected at most the " +
                           std::to_string(cursor.left() / min_bytes_each) + " that fit into the rest of the file");
  }
}

// Checks the elements and moves past them. Strings and nested arrays are walked one by one, other types are
// skipped at once.
void skip_elements(Cursor& cursor, GgufType element, uint64_t count, const std::string& field, int depth) {
  if (element == GgufType::string) {
    check_count(cursor, count, sizeof(uint64_t), field);
    for (uint64_t i = 0; i < count; ++i) cursor.read_string(field);
  } else if (element == GgufType::array) {
    check_count(cursor, count, sizeof(uint32_t) + sizeof(uint64_t), field);
    for (uint64_t i = 0; i < count; ++i) skip_value(cursor, element, field, depth + 1);
  } else {
    check_count(cursor, count, fixed_bytes(element), field);
    // check_count() has bounded the count, so the product cannot overflow.
    const std::byte* first = cursor.place();
    cursor.skip(count * fixed_bytes(element), field);
    if (element == GgufType::boolean &&
        std::any_of(first, cursor.place(), [](std::byte b) { return std::to_integer<int>(b) > 1; })) {
      cursor.fail(field, "a bool that is neither 0 nor 1");
    }
  }
}

// An array may hold arrays, and every level is one more call. A damaged file could nest so deep that the stack ends, so
// the depth is limited.
void skip_value(Cursor& cursor, GgufType type, const std::string& field, int depth) {
  if (type != GgufType::array) return skip_elements(cursor, type, 1, field, depth);
  if (depth > kMaxArrayDepth) {
    cursor.fail(field, "arrays nested deeper than expected (at most " + std::to_string(kMaxArrayDepth) + " levels)");
  }
  const GgufType element = read_type(cursor, field);
  const uint64_t count = cursor.read<uint64_t>(field);
  skip_elements(cursor, element, count, field, depth);
}

// For an array a second cursor reads ahead to its first element, while `cursor` checks and skips the whole value.
GgufValue read_value(Cursor& cursor, const std::string& field) {
  GgufValue value;
  value.type = read_type(cursor, field + ": type");
  const std::byte* begin = value.payload = cursor.place();
  if (value.type == GgufType::array) {
    Cursor ahead = cursor;
    value.element = read_type(ahead, field + ": element type");
    value.count = ahead.read<uint64_t>(field + ": element count");
    value.payload = ahead.place();
  }
  skip_value(cursor, value.type, field, 1);
  value.stored = {begin, cursor.place()};
  return value;
}

// Keys become views into the file. A key may occur only once.
void read_metadata(Cursor& cursor, uint64_t count, GgufContents& contents) {
  check_count(cursor, count, kMinEntryBytes, "header field 'metadata_kv_count'");
  for (uint64_t i = 0; i < count; ++i) {
    const std::string at = "metadata entry " + std::to_string(i);
    const std::string_view key = cursor.read_string(at + ": key");
    if (key.empty() || key.size() > kMaxKeyBytes || !printable(key)) {
      cursor.fail(at + ": key", "the key " + in_quotes(key) + " of " + std::to_string(key.size()) +
                                    " bytes, expected 1 to 65535 printable ASCII characters");
    }
    const GgufValue value = read_value(cursor, "metadata key " + in_quotes(key));
    if (!contents.values.emplace(key, value).second) {
      cursor.fail("metadata key " + in_quotes(key), "a duplicate key, expected every key once");
    }
  }
}

// The alignment of the tensor data: a power of two, at least 8.
uint64_t read_alignment(const Cursor& cursor, const GgufContents& contents) {
  const auto entry = contents.values.find("general.alignment");
  if (entry == contents.values.end()) return kDefaultAlignment;
  const std::string field = "metadata key 'general.alignment'";
  if (entry->second.type != GgufType::u32) {
    cursor.fail(field, std::string("a value of type ") + to_string(entry->second.type) + ", expected u32");
  }
  const uint64_t alignment = load_value<uint32_t>(entry->second.payload);
  if (!std::has_single_bit(alignment) || alignment < 8 || alignment > kMaxAlignment) {
    cursor.fail(field, "alignment " + std::to_string(alignment) + ", expected a power of two from 8 to " +
                           std::to_string(kMaxAlignment));
  }
  return alignment;
}

// Error for a type that this engine does not read. The text names the type by its published name, and what replaced a
// withdrawn one.
StorageType read_storage_type(Cursor& cursor, const std::string& field) {
  const uint32_t number = cursor.read<uint32_t>(field);
  if (const auto type = storage_type_from_number(number)) return *type;
  const PublishedType* published = published_type(number);
  const std::string told = published == nullptr ? "storage type number " + std::to_string(number)
                                                : "the storage type " + std::string(published->name) + " (type " +
                                                      std::to_string(number) + ")";
  if (published != nullptr && published->instead != nullptr) {
    cursor.fail(field, told + " was withdrawn from the format: use " + published->instead,
                std::string("convert the model to ") + published->instead);
  }
  std::string names;
  for (const StorageTypeInfo& known : storage_types()) names += (names.empty() ? "" : " ") + std::string(known.name);
  cursor.fail(field, told + " is not supported, expected one of " + names,
              "use a file with one of the supported types");
}

// Each dimension is compared with the values that are still allowed, so the product cannot overflow.
std::vector<int64_t> read_shape(Cursor& cursor, const std::string& field) {
  const uint32_t dimensions = cursor.read<uint32_t>(field);
  if (dimensions < 1 || dimensions > 4) {
    cursor.fail(field, std::to_string(dimensions) + " dimensions, expected 1 to 4");
  }
  std::vector<int64_t> shape(dimensions);
  int64_t elements = 1;
  for (int64_t& dimension : shape) {
    const uint64_t length = cursor.read<uint64_t>(field);
    if (length == 0 || length > static_cast<uint64_t>(kMaxElements / elements)) {
      cursor.fail(field, "a dimension of " + std::to_string(length) +
                             ", expected a positive one and at most 2^59 values in all");
    }
    dimension = static_cast<int64_t>(length);
    elements *= dimension;
  }
  return shape;
}

struct TensorInfo {
  GgufTensor tensor;
  uint64_t offset = 0;  // in the data section
};

// One entry of the table: name, shape, type, offset. Rows must consist of whole blocks, and the offset must be aligned.
// The data's place is checked later, when the section's begin is known.
TensorInfo read_tensor_info(Cursor& cursor, uint64_t index, uint64_t alignment) {
  const std::string at = "tensor " + std::to_string(index);
  const std::string_view name = cursor.read_string(at + ": name");
  if (name.empty() || name.size() > kMaxTensorNameBytes || !printable(name)) {
    cursor.fail(at + ": name", "the name " + in_quotes(name) + " of " + std::to_string(name.size()) +
                                   " bytes, expected 1 to 64 printable ASCII characters");
  }
  TensorInfo info;
  GgufTensor& tensor = info.tensor;
  tensor.name = name;
  const std::string field = "tensor " + in_quotes(name);
  tensor.shape = read_shape(cursor, field + ": shape");
  tensor.type = read_storage_type(cursor, field + ": type");
  info.offset = cursor.read<uint64_t>(field + ": offset");
  const int64_t block = tandem::info(tensor.type).block_values;
  if (tensor.shape[0] % block != 0) {
    cursor.fail(field + ": shape", "rows of " + std::to_string(tensor.shape[0]) + " values, expected a multiple of " +
                                       std::to_string(block) + " for type " + tandem::info(tensor.type).name);
  }
  // read_shape() has limited the number of values, so the bytes fit 63 bits.
  int64_t rows = 1;
  for (size_t i = 1; i < tensor.shape.size(); ++i) rows *= tensor.shape[i];
  tensor.bytes = row_bytes(tensor.type, tensor.shape[0]) * static_cast<size_t>(rows);
  if (info.offset % alignment != 0) {
    cursor.fail(field + ": offset", "offset " + std::to_string(info.offset) +
                                        ", expected a multiple of the alignment " + std::to_string(alignment));
  }
  return info;
}

// A way out if a tensor has fewer bytes than its type says.
std::string way_out_of_size(StorageType type, const std::string& usual) {
  return type != StorageType::q2_0 ? usual
                                   : "the blocks of Q2_0 have 64 values in llama.cpp and here; some programs write "
                                     "blocks of 128 under the same number. Convert the model with llama.cpp";
}

// Error if the data of two tensors overlap. Sorted by offset, it is enough to compare neighbours.
void check_overlap(const Cursor& cursor, const std::vector<TensorInfo>& infos) {
  std::vector<const TensorInfo*> ordered;
  for (const TensorInfo& info : infos) ordered.push_back(&info);
  std::sort(ordered.begin(), ordered.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < ordered.size(); ++i) {
    const TensorInfo& before = *ordered[i - 1];
    if (ordered[i]->offset - before.offset < before.tensor.bytes) {
      cursor.fail(
          "tensor " + in_quotes(ordered[i]->tensor.name) + ": offset",
          "the data overlaps that of " + in_quotes(before.tensor.name) + ", expected separate data for every tensor",
          way_out_of_size(before.tensor.type, ""));
    }
  }
}

// Reads the tensor table, then turns offsets into addresses. The data section begins at the next multiple of the
// alignment after the table. A tensor must lie inside it and overlap no other one.
void read_tensors(Cursor& cursor, uint64_t count, GgufContents& contents) {
  check_count(cursor, count, kMinTensorInfoBytes, "header field 'tensor_count'");
  const uint64_t alignment = read_alignment(cursor, contents);
  std::vector<TensorInfo> infos;
  std::set<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    infos.push_back(read_tensor_info(cursor, i, alignment));
    if (!names.insert(infos.back().tensor.name).second) {
      cursor.fail("tensor " + in_quotes(infos.back().tensor.name), "a duplicate tensor name, expected every name once");
    }
  }
  // A file without tensors has no data section, so it needs no padding either.
  if (infos.empty()) return;
  cursor.skip((alignment - cursor.position() % alignment) % alignment, "padding before the tensor data");
  for (TensorInfo& info : infos) {
    // Subtracts, because the sum of a wrong offset and a length could overflow.
    if (info.offset > cursor.left() || info.tensor.bytes > cursor.left() - info.offset) {
      cursor.fail("tensor " + in_quotes(info.tensor.name) + ": data",
                  "bytes " + std::to_string(info.offset) + " + " + std::to_string(info.tensor.bytes) +
                      " of the data section, expected them to end inside its " + std::to_string(cursor.left()) +
                      " bytes: the file is truncated or its table is wrong",
                  way_out_of_size(info.tensor.type, "download it again"));
    }
    info.tensor.data = cursor.place() + info.offset;
  }
  check_overlap(cursor, infos);
  contents.tensors.reserve(infos.size());
  for (TensorInfo& info : infos) contents.tensors.push_back(std::move(info.tensor));
}

// A version whose low half is zero is a small number in the other byte order.
void check_version(const Cursor& cursor, uint32_t version) {
  if (version == 2 || version == 3) return;
  const bool swapped = (version & 0xffff) == 0 && version != 0;
  cursor.fail(
      "header field 'version'",
      swapped ? "the file is big-endian, expected little-endian"
              : "GGUF version " + std::to_string(version) + ", expected 2 or 3",
      swapped ? "convert the model for little-endian machines" : "convert the model again with a current converter");
}

}  // namespace

// The header has magic, version, and both counts. The metadata comes before the tensor table, because it may set the
// alignment of the tensor data.
GgufContents read_gguf(std::span<const std::byte> bytes, const std::string& name) {
  Cursor cursor(bytes, name);
  if (bytes.empty()) cursor.fail("header", "the file is empty", "download it again");
  const uint32_t magic = cursor.read<uint32_t>("header field 'magic'");
  if (magic != kMagic) {
    cursor.fail("header field 'magic'", "the first four bytes are not 'GGUF', as expected",
                "this is no GGUF model file");
  }
  GgufContents contents;
  contents.version = cursor.read<uint32_t>("header field 'version'");
  check_version(cursor, contents.version);
  const uint64_t tensor_count = cursor.read<uint64_t>("header field 'tensor_count'");
  const uint64_t key_count = cursor.read<uint64_t>("header field 'metadata_kv_count'");
  read_metadata(cursor, key_count, contents);
  read_tensors(cursor, tensor_count, contents);
  return contents;
}

}  // namespace tandem
