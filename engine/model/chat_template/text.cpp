// A text whose parts have authors: the template or the conversation. Borders between authors are kept beside the bytes,
// and so most texts have none.
#include "engine/model/chat_template/text.h"

#include <algorithm>

namespace tandem::chat {

// The author of an empty text does not matter, so that all empty texts are equal.
Text::Text(std::string bytes, Author author)
    : bytes_(std::move(bytes)), first_(bytes_.empty() ? Author::chat_template : author) {}

// A border is kept only where the author changes. Authors alternate from border to border.
void Text::append(std::string_view more, Author author) {
  if (more.empty()) return;
  if (bytes_.empty())
    first_ = author;
  else if (last() != author)
    borders_.push_back(bytes_.size());
  bytes_ += more;
}

void Text::append(const Text& more) {
  more.each_stretch([this](std::string_view stretch, Author author) { append(stretch, author); });
}

// The number of borders up to a place says which of the two authors wrote it.
Author Text::author_at(size_t place) const {
  const auto before = std::ranges::upper_bound(borders_, place) - borders_.begin();
  return before % 2 == 0 ? first_ : other(first_);
}

// Only borders inside of the slice matter, moved to its beginning.
Text Text::slice(size_t begin, size_t end) const {
  Text part(bytes_.substr(begin, end - begin), author_at(begin));
  if (part.empty()) return part;
  for (auto border = std::ranges::upper_bound(borders_, begin); border != borders_.end() && *border < end; ++border)
    part.borders_.push_back(*border - begin);
  return part;
}

}  // namespace tandem::chat
