// How parts of an answer are joined. A stream cuts texts anywhere, so these functions keep neighbours of one
// kind together.
#include "engine/serve/openai/reply_part.h"

#include <algorithm>

namespace tandem::serve {

ReplyParts joined(const ReplyParts& parts) {
  ReplyParts all;
  for (const ReplyPart& part : parts) {
    if (part.kind == ReplyPart::Kind::call)
      all.push_back(part);
    else if (part.kind == ReplyPart::Kind::arguments && !all.empty())
      all.back().text += part.text;
    else
      add_text(all, part.kind, part.text);
  }
  return all;
}

void add_text(ReplyParts& parts, ReplyPart::Kind kind, std::string_view text) {
  if (text.empty()) return;
  if (!parts.empty() && parts.back().kind == kind)
    parts.back().text += text;
  else
    parts.push_back({kind, std::string(text)});
}

size_t behind_blanks(std::string_view text, size_t at) {
  return std::min(text.find_first_not_of(kBlanks, at), text.size());
}

// Tries the longest beginning first. A reader holds these characters back until the next piece decides.
size_t begun_mark(std::string_view text, std::string_view mark) {
  size_t length = std::min(text.size(), mark.size() - 1);
  while (length > 0 && !text.ends_with(mark.substr(0, length))) --length;
  return length;
}

}  // namespace tandem::serve
