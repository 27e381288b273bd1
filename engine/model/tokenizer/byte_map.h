// Maps each byte to the printable character that stands for it in a byte-level BPE vocabulary (GPT-2's table).
//
// Contract: printable Latin-1 bytes stand for themselves. The 68 others, in ascending order, are U+0100, U+0101 ... (a
// blank is U+0120).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::byte_map {

// The character as UTF-8.
const std::string& character_of(uint8_t byte);

// The bytes that a vocabulary entry stands for. Characters outside the table stay as they are.
std::string bytes_of(std::string_view entry);

}  // namespace tandem::byte_map
