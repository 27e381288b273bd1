// Feeds a text to a reader in pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "engine/serve/openai/reply_part.h"

namespace tandem::serve {

template <typename Reader>
ReplyParts read_in_pieces(Reader&& reader, std::string_view text, const std::function<size_t()>& next_length) {
  ReplyParts all;
  const auto add = [&all](const ReplyParts& parts) { all.insert(all.end(), parts.begin(), parts.end()); };
  while (!text.empty()) {
    const size_t length = std::min(next_length(), text.size());
    add(reader.push(text.substr(0, length)));
    text.remove_prefix(length);
  }
  add(reader.finish());
  return joined(all);
}

inline ReplyPart content(std::string text) { return {ReplyPart::Kind::content, std::move(text)}; }
inline ReplyPart thought(std::string text) { return {ReplyPart::Kind::reasoning, std::move(text)}; }
inline ReplyPart call_of(std::string function, std::string arguments) {
  return {ReplyPart::Kind::call, std::move(arguments), std::move(function)};
}

}  // namespace tandem::serve
