// Texts made of texts: stripped, replaced, joined, in another case.
#include <algorithm>
#include <cstring>

#include "engine/model/chat_template/characters.h"
#include "engine/model/chat_template/methods.h"
#include "engine/model/tokenizer/utf8.h"

namespace tandem::chat {
namespace {

constexpr size_t kBytesOfTextUnit = 8;  // bytes whose case changes for one unit of work

size_t begin_of_last(std::string_view text) {
  size_t at = text.size() - 1;
  while ((text[at] & 0xC0) == 0x80) --at;
  return at;
}

// Work for a byte of a text that is searched, in bytes. Searches for long parts take longer at worst.
size_t cost_of_search(size_t searched, size_t part) {
  constexpr size_t kLongest = 256, kBytesOfStep = 8;
  return searched * (4 + std::min(part, kLongest) / kBytesOfStep);
}

char32_t character_in(std::string_view text, size_t at) { return next_character(text, at); }

}  // namespace

// memmem() takes linear time for any part; std::string::find() does not.
size_t find_text(Maker& maker, std::string_view text, std::string_view part, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  const std::string_view rest = text.substr(from);
  const void* const found = memmem(rest.data(), rest.size(), part.data(), part.size());
  const size_t at =
      found == nullptr ? std::string_view::npos : static_cast<size_t>(static_cast<const char*>(found) - text.data());
  maker.work(1);
  maker.work_on(cost_of_search(found == nullptr ? rest.size() : at - from + part.size(), part.size()));
  return at;
}

// The same for a text that runs backwards.
size_t find_last_text(Maker& maker, std::string_view text, std::string_view part) {
  if (part.empty() || part.size() > text.size()) return part.empty() ? text.size() : std::string_view::npos;
  if (part.size() == 1) {
    maker.work_on(text.size());
    const void* const found = memrchr(text.data(), part[0], text.size());
    return found == nullptr ? std::string_view::npos
                            : static_cast<size_t>(static_cast<const char*>(found) - text.data());
  }
  maker.work_on(text.size() * 8);
  const size_t at = find_text(maker, std::string(text.rbegin(), text.rend()), std::string(part.rbegin(), part.rend()));
  return at == std::string_view::npos ? at : text.size() - at - part.size();
}

// Python's strip(), lstrip() and rstrip() on whole characters, not on bytes. The result is a slice, so each character
// keeps its author.
Text stripped(const Text& text, const std::string* characters, bool left, bool right) {
  const std::string_view all = text.bytes();
  // Python strips any of the given characters, in any order, and white space if none are named.
  const auto goes = [characters](std::string_view character) {
    if (characters != nullptr) return characters->find(character) != std::string::npos;
    return is_space(character_in(character, 0));
  };
  size_t begin = 0, end = all.size();
  // Each end is walked by itself, and the text between them keeps its authors.
  while (left && begin < end) {
    size_t next = begin;
    next_character(all, next);
    if (!goes(all.substr(begin, next - begin))) break;
    begin = next;
  }
  while (right && begin < end) {
    const size_t last = begin_of_last(all.substr(0, end));
    if (!goes(all.substr(last, end - last))) break;
    end = last;
  }
  return text.slice(begin, end);
}

// An empty text is found before each character and at the end.
Text replaced(Maker& maker, const Text& text, const Text& old, const Text& fresh, int64_t most) {
  const std::string& bytes = text.bytes();
  Text result;
  size_t done = 0;
  // An empty text is found at every character. `from` steps over one then, so that the search ends.
  for (size_t from = 0; most != 0; --most) {
    const size_t at = find_text(maker, bytes, old.bytes(), from);
    if (at == std::string::npos) break;
    maker.work(1);
    maker.require_room(result.size() + fresh.size() + (at - done));
    result.append(text.slice(done, at));
    result.append(fresh);
    done = at + old.size();
    from = done;
    if (!old.empty()) continue;
    if (at == bytes.size()) break;
    next_character(bytes, from);
  }
  maker.require_room(result.size() + bytes.size() - done);
  result.append(text.slice(done, bytes.size()));
  return result;
}

// The room is asked for before any byte is copied.
Text joined(Maker& maker, const Values& texts, const Text& separator) {
  size_t bytes = 0;
  for (const Value& each : texts) bytes += each.bytes().size() + separator.size();
  maker.require_room(bytes);
  maker.work(texts.size());
  Text result;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) result.append(separator);
    result.append(texts[i].string()->text);
  }
  return result;
}

// Each character keeps its author. Σ may stand at the border of two authors.
Text each_changed(Maker& maker, const Text& text, const CharacterChange& change) {
  maker.work(text.size() / kBytesOfTextUnit);
  maker.require_room(text.size());
  const std::string& bytes = text.bytes();
  Text result;
  size_t at = 0;
  text.each_stretch([&](std::string_view stretch, Author author) {
    for (const size_t stop = at + stretch.size(); at < stop;) {
      const size_t begin = at;
      next_character(bytes, at);
      result.append(change(begin, at), author);
    }
  });
  return result;
}

Text cased(Maker& maker, const Text& text, Case wanted) {
  return each_changed(maker, text, [&](size_t begin, size_t end) { return in_case(text.bytes(), begin, end, wanted); });
}

Text capitalized(Maker& maker, const Text& text) {
  return each_changed(maker, text, [&](size_t begin, size_t end) {
    return begin == 0 ? titled(character_in(text.bytes(), 0)) : in_case(text.bytes(), begin, end, Case::lower);
  });
}

// The limit is checked by a division, because the product of size and times may overflow.
Text repeated(Maker& maker, const Text& text, int64_t times) {
  if (times <= 0 || text.empty()) return {};
  if (static_cast<uint64_t>(times) > Account::kMostText / text.size() + 1)
    fail_too_large("a text that is repeated " + std::to_string(times) + " times");
  maker.require_room(text.size() * static_cast<size_t>(times));
  maker.work(static_cast<size_t>(times) / 16);
  Text result;
  result.reserve(text.size() * static_cast<size_t>(times));
  for (int64_t i = 0; i < times; ++i) result.append(text);
  return result;
}

// A line ends at any of Python's line ends. \r\n is one of them, and an end at the text's end begins no further line.
std::vector<Text> lines_of(const Text& text, bool with_ends) {
  const std::string& bytes = text.bytes();
  std::vector<Text> lines;
  for (size_t begin = 0, at = 0; at < bytes.size();) {
    const size_t end = at;
    const char32_t c = next_character(bytes, at);
    if (!ends_line(c) && at < bytes.size()) continue;
    if (c == '\r' && at < bytes.size() && bytes[at] == '\n') ++at;
    lines.push_back(text.slice(begin, with_ends || !ends_line(c) ? at : end));
    begin = at;
  }
  return lines;
}

// The odd place goes to the left if the width is odd, as in CPython.
Text centered(Maker& maker, const String& string, int64_t width, char32_t fill) {
  const auto count = static_cast<int64_t>(string.characters);
  if (width <= count) return string.text;
  const int64_t room = width - count, left = room / 2 + (room & width & 1);
  Text one;
  std::string bytes;
  utf8::append(bytes, fill);
  one.append(bytes, Author::chat_template);
  Text result = repeated(maker, one, left);
  result.append(string.text);
  result.append(repeated(maker, one, room - left));
  return result;
}

}  // namespace tandem::chat
