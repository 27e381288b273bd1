// What both models of SentencePiece share: blanks that are visible inside, and tokens of single bytes.
//
// Contract: pure functions, but for what append_bytes() appends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/model/tokenizer/vocabulary.h"

namespace tandem::sentence_piece {

inline constexpr std::string_view kBlank = "\xE2\x96\x81";  // U+2581 stands for a blank in the texts of tokens

std::string replaced(std::string_view text, std::string_view from, std::string_view to);
// Appends the tokens of the bytes if all of them have one. False: nothing was appended.
bool append_bytes(const Vocabulary& vocabulary, std::string_view bytes, std::vector<int32_t>& ids);
// The byte of a byte token; the text of another token, with plain blanks.
std::string bytes_of(const Vocabulary& vocabulary, int32_t id);

}  // namespace tandem::sentence_piece
