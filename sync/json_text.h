// JSON from outside: a profile, a shape, parameters or measurements that a person or another program wrote.
//
// Contract: parse_json() takes any bytes, in time and memory that grow no faster than n log n. What is no JSON, or
// nests deeper than kMostJsonDepth, comes back as a discarded value (is_discarded()): copying or printing a value
// recurses once a level, so that a deep one would overrun the stack. read_json_file() gives a file's bytes; an Error
// where it is no regular file, cannot be read, or is larger than kMostJsonBytes (a device file never ends).
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tandem {

inline constexpr int kMostJsonDepth = 32;  // no file of ours has more than six levels
inline constexpr size_t kMostJsonBytes = size_t{16} << 20;

nlohmann::json parse_json(std::string_view text);

// `what` stands in errors: "the processor profile".
std::string read_json_file(const std::string& path, const std::string& what);

}  // namespace tandem
