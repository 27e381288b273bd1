// The printable character that stands for each byte in a byte-level BPE vocabulary (GPT-2's table).
//
// Contract: printable Latin-1 bytes stand for themselves; the 68 others, in ascending order, are U+0100, U+0101 ... (a
// blank is U+0120).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::byte_map {

// As UTF-8.
const std::string& character_of(uint8_t byte);

// A vocabulary entry as the bytes it stands for; characters outside the table stay as they are.
std::string bytes_of(std::string_view entry);

}  // namespace tandem::byte_map
