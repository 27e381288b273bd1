// Models that are split into files NAME-00001-of-0000N.gguf. The first part holds the metadata, every part holds some
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

// Number of parts that the file's metadata states; 1 when it states none.
uint64_t split_count(const GgufContents& contents, const std::string& path);

// Names of all parts of the split model to which a file of this name belongs. Empty if it has the name of a
// whole model.
std::vector<std::string> split_part_names(const std::string& path);

// Returns the bytes of the part at a path; nullopt: no such file. The bytes must stay valid as long as the
// contents are used.
using OpenPart = std::function<std::optional<std::span<const std::byte>>(const std::string& path)>;

// Opens the other parts of the split model whose first part is `path`, and adds their tensors. Does nothing for a whole
// file. Error: `path` is not the first part, or a part is missing or differs from its name. Error too: a tensor is in
// two parts, or tensors are missing.
void append_split_parts(const std::string& path, GgufContents& contents, const OpenPart& open);

}  // namespace tandem
