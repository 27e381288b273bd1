// Models that are split into files NAME-00001-of-0000N.gguf: the first part holds the metadata, every part holds some
// of the tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/gguf_reader.h"

namespace tandem {

// How many parts the file says its model has; 1 when it says nothing.
uint64_t split_count(const GgufContents& contents, const std::string& path);

// The names of all parts of the split model that a file of this name is a part of; empty: it is named as a whole one.
std::vector<std::string> split_part_names(const std::string& path);

// The bytes of the part at a path, which stay where they are as long as the contents are used; nullopt: no such file.
using OpenPart = std::function<std::optional<std::span<const std::byte>>(const std::string& path)>;

// Opens the other parts of the split model whose first part is `path`, and adds their tensors. Does nothing for a whole
// file. Error: `path` is not the first part, a part is missing or is not the one its name says, a tensor is in two
// parts, tensors are missing.
void append_split_parts(const std::string& path, GgufContents& contents, const OpenPart& open);

}  // namespace tandem
