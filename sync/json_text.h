// Reads JSON from outside: a profile, a shape, parameters or measurements that a person or another program wrote.
//
// Contract: parse_json() takes any bytes. Its time and memory grow no faster than n log n. Bytes that are not JSON,
// a byte 0 among them, or that nest deeper than kMostJsonDepth, return a discarded value (is_discarded()). The depth
// has a limit because copying or printing a value recurses once a level and could overrun the stack. read_json_file()
// returns a file's bytes. It throws Error when the path is not a regular file, cannot be read, or is larger than
// kMostJsonBytes (a device file never ends).
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tandem {

inline constexpr int kMostJsonDepth = 32;  // no file of this project nests deeper than six levels
inline constexpr size_t kMostJsonBytes = size_t{16} << 20;

nlohmann::json parse_json(std::string_view text);

// what: the file's name in errors, such as "the processor profile".
std::string read_json_file(const std::string& path, const std::string& what);

}  // namespace tandem
