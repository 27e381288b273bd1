// Writes a file whole or not at all: to a temporary beside it, then renamed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tandem {

// Error naming the path and the system's reason; nothing is left behind then.
void write_whole_file(const std::string& path, std::string_view content);
// The content, or nothing when there is no such file. Error when it is there and cannot be read.
std::optional<std::string> read_file_if_there(const std::string& path);

}  // namespace tandem
