#include "engine/model/tokenizer/sentence_piece.h"

#include <algorithm>

namespace tandem::sentence_piece {

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const bool found = text.substr(at).starts_with(from);
    result += found ? to : text.substr(at, 1);
    at += found ? from.size() : 1;
  }
  return result;
}

bool append_bytes(const Vocabulary& vocabulary, std::string_view bytes, std::vector<int32_t>& ids) {
  const auto token_of = [&](char byte) { return vocabulary.byte_ids[static_cast<uint8_t>(byte)]; };
  if (!std::ranges::all_of(bytes, [&](char byte) { return token_of(byte) >= 0; })) return false;
  for (const char byte : bytes) ids.push_back(token_of(byte));
  return true;
}

std::string bytes_of(const Vocabulary& vocabulary, int32_t id) {
  const std::string& text = vocabulary.texts[static_cast<size_t>(id)];
  if (vocabulary.kinds[static_cast<size_t>(id)] == TokenKind::byte) {
    // The form <0x0A> was checked when the vocabulary was loaded.
    return std::string(1, static_cast<char>(std::stoi(text.substr(3, 2), nullptr, 16)));
  }
  return replaced(text, kBlank, " ");
}

}  // namespace tandem::sentence_piece
