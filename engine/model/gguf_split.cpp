#include "engine/model/gguf_split.h"

#include <cstdio>
#include <regex>
#include <set>
#include <string_view>

#include "sync/error.h"

namespace tandem {
namespace {

constexpr uint64_t kMaxParts = 99999;  // five digits in the name

// A metadata value of one of these integer types. Absent without the key; Error for a negative number or another type.
std::optional<uint64_t> whole_number(const GgufContents& contents, std::string_view key, const std::string& path) {
  const auto entry = contents.values.find(key);
  if (entry == contents.values.end()) return std::nullopt;
  const std::byte* payload = entry->second.payload;
  // A u64 beyond the range of int64 becomes negative here, and is refused with the negative numbers.
  int64_t value = -1;
  switch (entry->second.type) {
    case GgufType::u8:
      value = load_value<uint8_t>(payload);
      break;
    case GgufType::u16:
      value = load_value<uint16_t>(payload);
      break;
    case GgufType::i32:
      value = load_value<int32_t>(payload);
      break;
    case GgufType::u32:
      value = load_value<uint32_t>(payload);
      break;
    case GgufType::i64:
    case GgufType::u64:
      value = load_value<int64_t>(payload);
      break;
    default:
      break;
  }
  if (value < 0) {
    throw Error("a split model's metadata is not valid: expected a non-negative integer",
                path + ": metadata key '" + std::string(key) + "'");
  }
  return static_cast<uint64_t>(value);
}

// The names that llama.cpp's splitter gives, with five digits each.
std::string part_suffix(uint64_t index, uint64_t count) {
  char suffix[64];
  std::snprintf(suffix, sizeof suffix, "-%05llu-of-%05llu.gguf", static_cast<unsigned long long>(index + 1),
                static_cast<unsigned long long>(count));
  return suffix;
}

// The path before the suffix. The parts must keep their published names, or the other parts cannot be found.
std::string part_stem(const std::string& path, uint64_t index, uint64_t count) {
  const std::string suffix = part_suffix(index, count);
  if (!path.ends_with(suffix)) {
    throw Error("the name of a part of a split model is wrong: expected it to end with " + suffix, path,
                "rename the parts as they were published");
  }
  return path.substr(0, path.size() - suffix.size());
}

// Error if the part's metadata has another number or another count of parts than its name.
void check_part(const GgufContents& part, const std::string& path, uint64_t index, uint64_t count) {
  const auto number = whole_number(part, "split.no", path);
  if (number != index) {
    throw Error("a part of a split model is not the one its name says: found " +
                    (number ? "part " + std::to_string(*number + 1) : std::string("no part number")) +
                    ", expected part " + std::to_string(index + 1),
                path + ": metadata key 'split.no'", "download the parts again");
  }
  if (split_count(part, path) != count) {
    throw Error("a part belongs to another split model: found " + std::to_string(split_count(part, path)) +
                    " parts, expected " + std::to_string(count),
                path + ": metadata key 'split.count'", "download the parts again");
  }
}

}  // namespace

uint64_t split_count(const GgufContents& contents, const std::string& path) {
  const uint64_t count = whole_number(contents, "split.count", path).value_or(1);
  if (count > kMaxParts) {
    throw Error("a split model has too many parts: found " + std::to_string(count) + ", expected at most " +
                    std::to_string(kMaxParts),
                path + ": metadata key 'split.count'");
  }
  return count;
}

// Looks at the name alone and opens nothing, so a part need not exist.
std::vector<std::string> split_part_names(const std::string& path) {
  static const std::regex part("(.*)-[0-9]{5}-of-([0-9]{5})\\.gguf");
  std::smatch found;
  std::vector<std::string> names;
  if (!std::regex_match(path, found, part)) return names;
  const uint64_t count = std::stoul(found[2].str());
  for (uint64_t index = 0; index < count; ++index) names.push_back(found[1].str() + part_suffix(index, count));
  return names;
}

// Accepts only the first part. Names of the other parts follow from its path, and the sum of tensors is compared with
// the metadata.
void append_split_parts(const std::string& path, GgufContents& contents, const OpenPart& open) {
  const uint64_t count = split_count(contents, path);
  if (count <= 1) return;
  const uint64_t opened = whole_number(contents, "split.no", path).value_or(0);
  if (opened != 0) {
    // The error names the file to open. It knows the whole path only if this part has its published name.
    const std::string first = opened < count && path.ends_with(part_suffix(opened, count))
                                  ? part_stem(path, opened, count) + part_suffix(0, count)
                                  : "the file that ends with " + part_suffix(0, count);
    throw Error("this is part " + std::to_string(opened + 1) + " of a model split into " + std::to_string(count) +
                    " files, expected the first part",
                path, "open " + first);
  }
  const std::string stem = part_stem(path, 0, count);
  // A name is unique over all parts, as it is in one file.
  std::set<std::string, std::less<>> names;
  for (const GgufTensor& tensor : contents.tensors) names.insert(tensor.name);
  for (uint64_t index = 1; index < count; ++index) {
    const std::string part_path = stem + part_suffix(index, count);
    const auto bytes = open(part_path);
    if (!bytes) {
      throw Error("a part of a split model is missing: expected all " + std::to_string(count) + " parts in one folder",
                  part_path, "download it");
    }
    GgufContents part = read_gguf(*bytes, part_path);
    check_part(part, part_path, index, count);
    for (GgufTensor& tensor : part.tensors) {
      if (!names.insert(tensor.name).second) {
        throw Error("a tensor is in two parts of a split model, expected it in one",
                    part_path + ": tensor '" + tensor.name + "'");
      }
      contents.tensors.push_back(std::move(tensor));
    }
  }
  const auto expected = whole_number(contents, "split.tensors.count", path);
  if (expected && *expected != contents.tensors.size()) {
    throw Error("the parts of a split model hold " + std::to_string(contents.tensors.size()) + " tensors, expected " +
                    std::to_string(*expected),
                path + ": metadata key 'split.tensors.count'", "download the parts again");
  }
}

}  // namespace tandem
