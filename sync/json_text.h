// Reads JSON from outside, which a person or another program wrote: a profile, a shape, parameters, measurements or a
// request of a client.
//
// Contract: the functions take any bytes. parse_json() returns a discarded value (is_discarded()) for bytes that are
// not JSON, a byte 0 among them, or that nest deeper than kMostJsonDepth. The depth has a limit because copying or
// printing a value recurses once a level and could overrun the stack. Time and memory grow no faster than n log n.
// read_json_file() returns a file's bytes. It throws Error when the path is not a regular file, cannot be read, or is
// larger than kMostJsonBytes (a device file never ends).
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tandem {

inline constexpr int kMostJsonDepth = 32;  // no file of this project nests deeper than six levels
inline constexpr size_t kMostJsonBytes = size_t{16} << 20;

nlohmann::json parse_json(std::string_view text);

// A reason against parsing a text as an ordered_json, whose objects are searched from member to member. Parsing a text
// without a flaw takes a time in proportion to its length.
struct JsonFlaw {
  // digits: a whole number of more than 64 bits, which a parser rounds. Any other flaw counts more.
  enum class Kind { none, syntax, depth, twice, members, digits };
  Kind kind = Kind::none;
  std::string detail{};  // the parser's words, or the name of the member: that is there twice, or that has the number
};
inline constexpr size_t kMostJsonMembers = 2000;  // of one object
JsonFlaw json_flaw(std::string_view text, int most_depth);

// Whether brackets outside of strings nest deeper. For a text that is not JSON, either answer is fine.
bool json_nests_deeper(std::string_view text, int depth);
// As one line. Invalid UTF-8 becomes U+FFFD.
std::string json_line(const nlohmann::ordered_json& value);

// what: the file's name in errors, such as "the processor profile".
std::string read_json_file(const std::string& path, const std::string& what);

}  // namespace tandem
