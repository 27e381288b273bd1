#include "engine/model/gguf.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <utility>

#include "engine/model/file_mapping.h"
#include "engine/model/gguf_reader.h"
#include "engine/model/gguf_split.h"
#include "engine/model/hash.h"
#include "sync/error.h"

namespace tandem {

struct GgufFile::State {
  std::string path;
  uint64_t file_bytes = 0;
  std::vector<FileMapping> parts;  // owned; none for parse()
  GgufContents contents;
  // Refers to names and entries of contents.tensors, so it is filled after the last part was added.
  std::map<std::string_view, const GgufTensor*> by_name;

  const GgufValue* value(std::string_view key) const {
    const auto entry = contents.values.find(key);
    return entry == contents.values.end() ? nullptr : &entry->second;
  }
  std::string at_key(std::string_view key) const { return path + ": metadata key '" + std::string(key) + "'"; }
  [[noreturn]] void wrong_type(std::string_view key, const char* expected) const;
  [[noreturn]] void missing(std::string_view key) const {
    throw Error("a required metadata key is missing", at_key(key),
                "the file is incomplete or made for another program");
  }
  const GgufValue* array(std::string_view key, const char* expected) const;
  void index_tensors();
  void require_unchanged() const {
    for (const FileMapping& part : parts) part.require_unchanged();
  }
};

namespace {

std::string describe(const GgufValue& value) {
  if (value.type != GgufType::array) return to_string(value.type);
  return std::string("array of ") + to_string(value.element);
}

// Every integer type of the format fits into an int64, or, u64 only, into a uint64.
struct Integer {
  bool negative = false;
  uint64_t bits = 0;  // two's complement when negative
};

// The integer at `place`; absent for types that are no integers.
std::optional<Integer> load_integer(GgufType type, const std::byte* place) {
  const auto from_signed = [](int64_t v) { return Integer{v < 0, static_cast<uint64_t>(v)}; };
  switch (type) {
    case GgufType::u8:
      return Integer{false, load_value<uint8_t>(place)};
    case GgufType::u16:
      return Integer{false, load_value<uint16_t>(place)};
    case GgufType::u32:
      return Integer{false, load_value<uint32_t>(place)};
    case GgufType::u64:
      return Integer{false, load_value<uint64_t>(place)};
    case GgufType::i8:
      return from_signed(load_value<int8_t>(place));
    case GgufType::i16:
      return from_signed(load_value<int16_t>(place));
    case GgufType::i32:
      return from_signed(load_value<int32_t>(place));
    case GgufType::i64:
      return from_signed(load_value<int64_t>(place));
    default:
      return std::nullopt;
  }
}

constexpr uint64_t kMaxInt64 = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());

}  // namespace

void GgufFile::State::wrong_type(std::string_view key, const char* expected) const {
  throw Error("a metadata value has the wrong type: found " + describe(*value(key)) + ", expected " + expected,
              at_key(key));
}

const GgufValue* GgufFile::State::array(std::string_view key, const char* expected) const {
  const GgufValue* found = value(key);
  if (found != nullptr && found->type != GgufType::array) wrong_type(key, expected);
  return found;
}

void GgufFile::State::index_tensors() {
  for (const GgufTensor& tensor : contents.tensors) by_name.emplace(tensor.name, &tensor);
}

// Maps the file and its parts, then reads them. If the file changed meanwhile, "changed" is a better reason than the
// damage that the reader found.
GgufFile GgufFile::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->path = path;
  try {
    state->parts.push_back(FileMapping::open(path));
    state->contents = read_gguf(state->parts[0].bytes(), path);
    append_split_parts(path, state->contents,
                       [&](const std::string& part) -> std::optional<std::span<const std::byte>> {
                         if (!std::filesystem::exists(part)) return std::nullopt;
                         return state->parts.emplace_back(FileMapping::open(part)).bytes();
                       });
  } catch (const Error&) {
    state->require_unchanged();  // a change is the better reason
    throw;
  }
  state->require_unchanged();
  for (const FileMapping& part : state->parts) state->file_bytes += part.bytes().size();
  state->index_tensors();
  return GgufFile(std::move(state));
}

// Memory has no other parts beside it, so a part of a split model is refused.
GgufFile GgufFile::parse(std::span<const std::byte> bytes, const std::string& name) {
  auto state = std::make_unique<State>();
  state->path = name;
  state->file_bytes = bytes.size();
  state->contents = read_gguf(bytes, name);
  if (split_count(state->contents, name) > 1) {
    throw Error("one part of a split model cannot be read from memory", name, "open the first part by its path");
  }
  state->index_tensors();
  return GgufFile(std::move(state));
}

GgufFile::GgufFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
GgufFile::GgufFile(GgufFile&&) noexcept = default;
GgufFile& GgufFile::operator=(GgufFile&&) noexcept = default;
GgufFile::~GgufFile() = default;

const std::string& GgufFile::path() const { return state_->path; }
uint64_t GgufFile::file_bytes() const { return state_->file_bytes; }
uint32_t GgufFile::version() const { return state_->contents.version; }

// The hashes run through all parts in order. In each part the header ends where the first tensor's data begins.
std::optional<GgufIdentity> GgufFile::identity() const {
  if (state_->parts.empty()) return std::nullopt;
  GgufIdentity identity{.file_bytes = state_->file_bytes};
  for (const FileMapping& part : state_->parts) {
    // The table may list tensors in any order. The header ends at the lowest address of the part's tensors.
    const std::byte* end = part.bytes().data() + part.bytes().size();
    for (const GgufTensor& tensor : state_->contents.tensors) {
      if (part.contains(tensor.data)) end = std::min(end, tensor.data);
    }
    const FileStamp& stamp = part.stamp();
    const uint64_t place[] = {stamp.inode, static_cast<uint64_t>(stamp.changed_ns)};
    identity.modified_ns = std::max(identity.modified_ns, stamp.modified_ns);
    identity.header_hash = hash_bytes({part.bytes().data(), end}, identity.header_hash);
    identity.sampled_hash = hash_sampled(part.bytes().subspan(end - part.bytes().data()), identity.sampled_hash);
    identity.place_hash = hash_bytes(std::as_bytes(std::span(place)), identity.place_hash);
  }
  return identity;
}

bool GgufFile::has(std::string_view key) const { return state_->value(key) != nullptr; }

// Writers differ in the integer type of a count, so every integer type is accepted if the number is not negative.
std::optional<uint64_t> GgufFile::get_uint(std::string_view key) const {
  const GgufValue* value = state_->value(key);
  if (value == nullptr) return std::nullopt;
  const auto integer = load_integer(value->type, value->payload);
  if (!integer) state_->wrong_type(key, "an integer");
  if (integer->negative) {
    throw Error("a metadata value is out of range: found " + std::to_string(static_cast<int64_t>(integer->bits)) +
                    ", expected a non-negative integer",
                state_->at_key(key));
  }
  return integer->bits;
}

// Integers count as numbers, too.
std::optional<double> GgufFile::get_float(std::string_view key) const {
  const GgufValue* value = state_->value(key);
  if (value == nullptr) return std::nullopt;
  if (value->type == GgufType::f32) return load_value<float>(value->payload);
  if (value->type == GgufType::f64) return load_value<double>(value->payload);
  const auto integer = load_integer(value->type, value->payload);
  if (!integer) state_->wrong_type(key, "a number");
  return integer->negative ? static_cast<double>(static_cast<int64_t>(integer->bits))
                           : static_cast<double>(integer->bits);
}

std::optional<bool> GgufFile::get_bool(std::string_view key) const {
  const GgufValue* value = state_->value(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != GgufType::boolean) state_->wrong_type(key, "bool");
  return load_value<uint8_t>(value->payload) != 0;
}

std::optional<std::string> GgufFile::get_string(std::string_view key) const {
  const GgufValue* value = state_->value(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != GgufType::string) state_->wrong_type(key, "string");
  return std::string(load_string(value->payload));
}

// Views into the mapped file, because a vocabulary has hundreds of thousands of strings.
std::optional<std::vector<std::string_view>> GgufFile::get_strings(std::string_view key) const {
  constexpr const char* kExpected = "array of string";
  const GgufValue* value = state_->array(key, kExpected);
  if (value == nullptr) return std::nullopt;
  if (value->element != GgufType::string) state_->wrong_type(key, kExpected);
  std::vector<std::string_view> strings;
  strings.reserve(static_cast<size_t>(value->count));
  const std::byte* place = value->payload;
  const std::byte* const end = value->stored.data() + value->stored.size();
  for (uint64_t i = 0; i < value->count; ++i) {
    // The strings were checked when the file was opened. A file that was overwritten since then may have any
    // length here.
    const auto room = static_cast<uint64_t>(end - place);
    if (room < sizeof(uint64_t) || load_value<uint64_t>(place) > room - sizeof(uint64_t)) {
      state_->require_unchanged();
      throw Error("a metadata string is longer than its array", state_->at_key(key));
    }
    strings.push_back(load_string(place));
    place += sizeof(uint64_t) + strings.back().size();
  }
  return strings;
}

std::optional<std::vector<float>> GgufFile::get_floats(std::string_view key) const {
  constexpr const char* kExpected = "array of f32 or f64";
  const GgufValue* value = state_->array(key, kExpected);
  if (value == nullptr) return std::nullopt;
  if (value->element != GgufType::f32 && value->element != GgufType::f64) state_->wrong_type(key, kExpected);
  std::vector<float> floats(static_cast<size_t>(value->count));
  for (size_t i = 0; i < floats.size(); ++i) {
    floats[i] = value->element == GgufType::f32
                    ? load_value<float>(value->payload + i * sizeof(float))
                    : static_cast<float>(load_value<double>(value->payload + i * sizeof(double)));
  }
  return floats;
}

// Every integer type is read through load_integer(), then checked against 32 bits.
std::optional<std::vector<int32_t>> GgufFile::get_ints(std::string_view key) const {
  constexpr const char* kExpected = "array of integers";
  const GgufValue* value = state_->array(key, kExpected);
  if (value == nullptr) return std::nullopt;
  const size_t step = fixed_bytes(value->element);
  std::vector<int32_t> ints(static_cast<size_t>(value->count));
  // An array without elements has no element of a wrong type.
  if (ints.empty()) return ints;
  for (size_t i = 0; i < ints.size(); ++i) {
    const auto integer = load_integer(value->element, value->payload + i * step);
    if (!integer) state_->wrong_type(key, kExpected);
    // A number that does not fit 32 bits changes when it is narrowed.
    const int64_t number = static_cast<int64_t>(integer->bits);
    if ((!integer->negative && integer->bits > kMaxInt64) || number != static_cast<int32_t>(number)) {
      throw Error("element " + std::to_string(i) + " of a metadata array is out of range, expected a 32-bit integer",
                  state_->at_key(key));
    }
    ints[i] = static_cast<int32_t>(number);
  }
  return ints;
}

std::string GgufFile::type_of(std::string_view key) const {
  const GgufValue* value = state_->value(key);
  return value == nullptr ? "" : describe(*value);
}

std::optional<uint64_t> GgufFile::array_length(std::string_view key) const {
  const GgufValue* value = state_->value(key);
  if (value == nullptr || value->type != GgufType::array) return std::nullopt;
  return value->count;
}

uint64_t GgufFile::require_uint(std::string_view key) const {
  const auto value = get_uint(key);
  if (!value) state_->missing(key);
  return *value;
}

double GgufFile::require_float(std::string_view key) const {
  const auto value = get_float(key);
  if (!value) state_->missing(key);
  return *value;
}

std::string GgufFile::require_string(std::string_view key) const {
  auto value = get_string(key);
  if (!value) state_->missing(key);
  return *std::move(value);
}

std::vector<std::string> GgufFile::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : state_->contents.values) keys.emplace_back(key);
  return keys;
}

GgufStored GgufFile::require_stored(std::string_view key) const {
  const GgufValue* value = state_->value(key);
  if (value == nullptr) state_->missing(key);
  return {static_cast<uint32_t>(value->type), value->stored};
}

std::span<const GgufTensor> GgufFile::tensors() const { return state_->contents.tensors; }

const GgufTensor* GgufFile::find(std::string_view name) const {
  const auto entry = state_->by_name.find(name);
  return entry == state_->by_name.end() ? nullptr : entry->second;
}

const GgufTensor& GgufFile::require(std::string_view name) const {
  const GgufTensor* tensor = find(name);
  if (tensor == nullptr) {
    throw Error("a required tensor is missing", state_->path + ": tensor '" + std::string(name) + "'",
                "the file is incomplete or of an unknown variant of the architecture");
  }
  return *tensor;
}

void GgufFile::require_unchanged() const { state_->require_unchanged(); }

void GgufFile::expect_sequential_reads() const {
  for (const FileMapping& part : state_->parts) part.expect_sequential_reads();
}

// No tensor lies in two parts, so the bytes belong to one mapping.
void GgufFile::drop_pages(std::span<const std::byte> read_bytes) const {
  for (const FileMapping& part : state_->parts) {
    if (part.contains(read_bytes.data())) part.drop_pages(read_bytes);
  }
}

void GgufFile::drop_all_pages() const {
  for (const FileMapping& part : state_->parts) part.drop_pages(part.bytes());
}

}  // namespace tandem
