// Methods of Python's str.
#include <algorithm>
#include <map>

#include "engine/model/chat_template/access.h"
#include "engine/model/chat_template/characters.h"
#include "engine/model/chat_template/comparing.h"
#include "engine/model/chat_template/format.h"
#include "engine/model/chat_template/methods.h"
#include "engine/model/tokenizer/utf8.h"

namespace tandem::chat {
namespace {

const Text& text_of(const Value& value) { return value.string()->text; }

// Methods that would escape their arguments.
void require_unsafe(const Value& self, const char* name) {
  if (self.string()->is_safe) fail_unknown(std::string("the method `") + name + "` of a text that is marked `safe`");
}

template <bool left, bool right>
Value strip(Maker& maker, const Value& self, const Arguments& arguments) {
  const Taken taken(arguments, "strip()", {""});
  const std::string* characters = taken.is_none(0) ? nullptr : &taken.string(0).text.bytes();
  maker.work_on(self.bytes().size() * 4);
  return maker.string(stripped(text_of(self), characters, left, right), self.string()->is_safe);
}

// At white space, of which several characters are one separator and none makes an empty part. First the words are
// found, then as many separators as were asked for are used, from either side. The rest keeps its blanks between words.
std::vector<Text> split_at_space(const Text& text, int64_t most, bool from_right) {
  std::vector<Text> parts;
  const std::string& bytes = text.bytes();
  struct Word {
    size_t begin, end;
  };
  std::vector<Word> words;
  bool in_word = false;
  for (size_t at = 0; at < bytes.size();) {
    const size_t begin = at;
    const bool space = is_space(next_character(bytes, at));
    if (!space && !in_word) words.push_back({begin, at});
    if (!space) words.back().end = at;
    in_word = !space;
  }
  const size_t count = words.size(), limit = most < 0 ? count : std::min(count, static_cast<size_t>(most));
  if (limit == count || count == 0) {
    for (const Word& word : words) parts.push_back(text.slice(word.begin, word.end));
  } else if (!from_right) {
    for (size_t i = 0; i < limit; ++i) parts.push_back(text.slice(words[i].begin, words[i].end));
    parts.push_back(text.slice(words[limit].begin, bytes.size()));
  } else {
    parts.push_back(text.slice(0, words[count - limit - 1].end));
    for (size_t i = count - limit; i < count; ++i) parts.push_back(text.slice(words[i].begin, words[i].end));
  }
  return parts;
}

// The places of separators are found from one side, as many as were asked for, and sorted. Parts lie between them, and
// may be empty.
std::vector<Text> split_at(Maker& maker, const Text& text, const std::string& separator, int64_t most,
                           bool from_right) {
  const std::string& bytes = text.bytes();
  std::vector<size_t> places;
  if (separator.empty()) fail("split() at an empty text");
  for (size_t at = 0; !from_right && most != 0; --most) {
    at = find_text(maker, bytes, separator, places.empty() ? 0 : places.back() + separator.size());
    if (at == std::string::npos) break;
    places.push_back(at);
  }
  for (size_t end = bytes.size(); from_right && most != 0 && end >= separator.size(); --most) {
    const size_t at = find_last_text(maker, std::string_view(bytes).substr(0, end), separator);
    if (at == std::string::npos) break;
    places.push_back(at);
    end = at;
  }
  std::ranges::sort(places);
  std::vector<Text> parts;
  size_t begin = 0;
  for (const size_t place : places) {
    parts.push_back(text.slice(begin, place));
    begin = place + separator.size();
  }
  parts.push_back(text.slice(begin, bytes.size()));
  return parts;
}

// A list of many short texts needs more memory than its characters, so room is asked for first. Parts of a text that is
// marked `safe` are marked, too.
Value list_of(Maker& maker, std::vector<Text> texts, bool is_safe) {
  Values values;
  maker.work(texts.size());
  maker.require_room(texts.size() * (sizeof(Value) + sizeof(String)));
  values.reserve(texts.size());
  for (Text& each : texts) values.push_back(maker.string(std::move(each), is_safe));
  return maker.list(std::move(values));
}

// Parts keep their authors, and the cost counts before the work is done.
template <bool from_right>
Value split(Maker& maker, const Value& self, const Arguments& arguments) {
  const Taken taken(arguments, "split()", {"sep", "maxsplit"});
  const int64_t most = taken.whole(1, -1);
  maker.work(self.bytes().size() / 16);
  auto parts = taken.is_none(0) ? split_at_space(text_of(self), most, from_right)
                                : split_at(maker, text_of(self), taken.string(0).text.bytes(), most, from_right);
  return list_of(maker, std::move(parts), self.string()->is_safe);
}

Value splitlines(Maker& maker, const Value& self, const Arguments& arguments) {
  const Taken taken(arguments, "splitlines()", {"keepends"});
  maker.work(self.bytes().size() / 16);
  return list_of(maker, lines_of(text_of(self), taken.truth(0, false)), self.string()->is_safe);
}

// Python joins texts alone. The filter of the same name prints other values first.
Value join(Maker& maker, const Value& self, const Arguments& arguments) {
  require_unsafe(self, "join");
  const Taken taken(arguments, "join()", {""}, 1);
  const Values parts = all_of(maker, taken.at(0));
  for (const Value& each : parts)
    if (!each.string()) fail(std::string("join() of a ") + each.type() + " where a text is needed");
  return maker.string(joined(maker, parts, text_of(self)));
}

Value replace(Maker& maker, const Value& self, const Arguments& arguments) {
  require_unsafe(self, "replace");
  const Taken taken(arguments, "replace()", {"", "", ""}, 2);
  return maker.string(replaced(maker, text_of(self), taken.string(0).text, taken.string(1).text, taken.whole(2, -1)));
}

// The part of the text in which a method looks, by its arguments `start` and `end`.
struct Region {
  size_t begin, end;
  bool is_valid;
};
// Arguments count characters and may be negative, and searches count bytes. A region that begins behind its end finds
// nothing, not even an empty text.
Region region_of(Maker& maker, const String& string, const Taken& taken, size_t first) {
  const auto count = static_cast<int64_t>(string.characters);
  const auto place = [&](size_t at, int64_t otherwise) {
    if (taken.is_none(at)) return otherwise;
    int64_t index = taken.whole(at);
    if (index < 0) index = std::max<int64_t>(index + count, 0);
    return index;
  };
  const int64_t begin = place(first, 0), end = std::min(place(first + 1, count), count);
  const bool plain = string.characters == string.text.size();
  if (!plain) maker.work_on(string.text.size() * 4);
  const auto byte = [&](int64_t index) {
    const auto at = static_cast<size_t>(std::clamp<int64_t>(index, 0, count));
    return plain ? at : place_of(string.text.bytes(), at);
  };
  return {byte(begin), byte(end), begin <= end};
}

// One function for find, rfind, index and rindex. The answer is in characters, whatever was searched.
template <bool last, bool must_be_there>
Value find_part(Maker& maker, const Value& self, const Arguments& arguments) {
  const Taken taken(arguments, "find()", {"", "", ""}, 1);
  const std::string& wanted = taken.string(0).text.bytes();
  const Region in = region_of(maker, *self.string(), taken, 1);
  size_t at = std::string::npos;
  if (in.is_valid && in.end - in.begin >= wanted.size()) {
    const std::string_view part = std::string_view(self.bytes()).substr(in.begin, in.end - in.begin);
    at = last ? find_last_text(maker, part, wanted) : find_text(maker, part, wanted);
  }
  if (at == std::string::npos && must_be_there) fail("index() of a text that is not there");
  if (at == std::string::npos) return Integer(-1);
  return Integer(static_cast<int64_t>(count_characters(std::string_view(self.bytes()).substr(0, in.begin + at))));
}

// An empty text is found between all characters, and at both ends.
Value count(Maker& maker, const Value& self, const Arguments& arguments) {
  const Taken taken(arguments, "count()", {"", "", ""}, 1);
  const std::string& wanted = taken.string(0).text.bytes();
  const Region in = region_of(maker, *self.string(), taken, 1);
  if (!in.is_valid) return Integer(0);
  const std::string_view part = std::string_view(self.bytes()).substr(in.begin, in.end - in.begin);
  if (wanted.empty()) return Integer(static_cast<int64_t>(count_characters(part)) + 1);
  int64_t found = 0;
  for (size_t at = 0; (at = find_text(maker, part, wanted, at)) != std::string_view::npos; at += wanted.size()) ++found;
  return Integer(found);
}

// The argument may be a tuple, of which one must fit. A list is refused, as in Python.
template <bool at_end>
Value begins_or_ends(Maker& maker, const Value& self, const Arguments& arguments) {
  const Taken taken(arguments, at_end ? "endswith()" : "startswith()", {"", "", ""}, 1);
  const Region in = region_of(maker, *self.string(), taken, 1);
  const std::string_view part =
      in.is_valid ? std::string_view(self.bytes()).substr(in.begin, in.end - in.begin) : std::string_view();
  const auto matches = [&](const Value& wanted) {
    if (!wanted.string()) taken.refuse(0, "a text or a tuple of texts");
    return in.is_valid && (at_end ? part.ends_with(wanted.bytes()) : part.starts_with(wanted.bytes()));
  };
  const Sequence* several = taken.at(0).sequence();
  if (several && !taken.at(0).list()) return std::ranges::any_of(several->items, matches);
  return matches(taken.at(0));
}

template <Case wanted>
Value change_case(Maker& maker, const Value& self, const Arguments& arguments) {
  const Taken taken(arguments, wanted == Case::upper ? "upper()" : "lower()", {});
  return maker.string(cased(maker, text_of(self), wanted), self.string()->is_safe);
}

Value capitalize(Maker& maker, const Value& self, const Arguments& arguments) {
  const Taken taken(arguments, "capitalize()", {});
  return maker.string(capitalized(maker, text_of(self)), self.string()->is_safe);
}

char32_t character_at(const std::string& bytes, size_t place) { return next_character(bytes, place); }

// A letter behind a cased one is small, every other one is large.
Value title(Maker& maker, const Value& self, const Arguments& arguments) {
  const Taken taken(arguments, "title()", {});
  maker.work(self.bytes().size());
  const std::string& bytes = self.bytes();
  bool in_word = false;
  Text result = each_changed(maker, text_of(self), [&](size_t begin, size_t end) {
    const char32_t c = character_at(bytes, begin);
    const bool is_first = !std::exchange(in_word, is(CharacterClass::cased, c));
    return is_first ? titled(c) : in_case(bytes, begin, end, Case::lower);
  });
  return maker.string(std::move(result), self.string()->is_safe);
}

// Each character changes by itself, so one with a case may become several.
Value swapcase(Maker& maker, const Value& self, const Arguments& arguments) {
  const Taken taken(arguments, "swapcase()", {});
  maker.work(self.bytes().size());
  const std::string& bytes = self.bytes();
  Text result = each_changed(maker, text_of(self), [&](size_t begin, size_t end) {
    const char32_t c = character_at(bytes, begin);
    if (is(CharacterClass::upper, c)) return in_case(bytes, begin, end, Case::lower);
    if (is(CharacterClass::lower, c)) return in_case(bytes, begin, end, Case::upper);
    return bytes.substr(begin, end - begin);  // ǅ has the case of a title and stays
  });
  return maker.string(std::move(result), self.string()->is_safe);
}

// Python takes exactly one character to fill with.
char32_t fill_of(const Taken& taken) {
  if (!taken.has(1)) return ' ';
  const String& fill = taken.string(1);
  if (fill.characters != 1) taken.refuse(1, "one character");
  size_t at = 0;
  return next_character(fill.text.bytes(), at);
}

Value center(Maker& maker, const Value& self, const Arguments& arguments) {
  const Taken taken(arguments, "center()", {"", ""}, 1);
  return maker.string(centered(maker, *self.string(), taken.whole(0), fill_of(taken)), self.string()->is_safe);
}

// One of the two sides gets the fill, and a text that is long enough stays as it is.
template <bool left>
Value justify(Maker& maker, const Value& self, const Arguments& arguments) {
  const Taken taken(arguments, left ? "ljust()" : "rjust()", {"", ""}, 1);
  std::string fill;
  utf8::append(fill, fill_of(taken));
  const Text pad = repeated(maker, Text(fill), taken.whole(0) - static_cast<int64_t>(self.string()->characters));
  Text result = left ? text_of(self) : pad;
  result.append(left ? pad : text_of(self));
  return maker.string(std::move(result), self.string()->is_safe);
}

// The zeros stand behind a sign.
Value zfill(Maker& maker, const Value& self, const Arguments& arguments) {
  const Taken taken(arguments, "zfill()", {""}, 1);
  const std::string& bytes = self.bytes();
  const size_t sign = bytes.starts_with('+') || bytes.starts_with('-') ? 1 : 0;
  Text result = text_of(self).slice(0, sign);
  result.append(repeated(maker, Text("0"), taken.whole(0) - static_cast<int64_t>(self.string()->characters)));
  result.append(text_of(self).slice(sign, bytes.size()));
  return maker.string(std::move(result), self.string()->is_safe);
}

// Three parts: before the separator, the separator, and behind it. Without a separator the whole stands on the side
// that the search began from.
template <bool last>
Value partition(Maker& maker, const Value& self, const Arguments& arguments) {
  require_unsafe(self, "partition");
  const Taken taken(arguments, "partition()", {""}, 1);
  const std::string& separator = taken.string(0).text.bytes();
  if (separator.empty()) fail("partition() at an empty text");
  const Text& text = text_of(self);
  const size_t at = last ? find_last_text(maker, text.bytes(), separator) : find_text(maker, text.bytes(), separator);
  const Value empty = maker.string(Text());
  if (at == std::string::npos) return last ? maker.tuple({empty, empty, self}) : maker.tuple({self, empty, empty});
  return maker.tuple(
      {maker.string(text.slice(0, at)), taken.at(0), maker.string(text.slice(at + separator.size(), text.size()))});
}

template <bool at_end>
Value remove(Maker& maker, const Value& self, const Arguments& arguments) {
  const Taken taken(arguments, at_end ? "removesuffix()" : "removeprefix()", {""}, 1);
  const std::string& part = taken.string(0).text.bytes();
  const Text& text = text_of(self);
  const bool found = at_end ? text.bytes().ends_with(part) : text.bytes().starts_with(part);
  if (!found) return self;
  return maker.string(at_end ? text.slice(0, text.size() - part.size()) : text.slice(part.size(), text.size()),
                      self.string()->is_safe);
}

// Whether there is a character, and all fit.
template <typename Fits>
bool all_fit(Maker& maker, const Value& self, const Fits& fits) {
  const std::string& bytes = self.bytes();
  for (size_t at = 0; at < bytes.size();) {
    maker.work(1);
    if (!fits(next_character(bytes, at))) return false;
  }
  return !bytes.empty();
}

template <CharacterClass wanted>
Value is_all(Maker& maker, const Value& self, const Arguments&) {
  return all_fit(maker, self, [](char32_t c) { return is(wanted, c); });
}

Value isdigit(Maker& maker, const Value& self, const Arguments&) { return all_fit(maker, self, is_digit); }

Value isalnum(Maker& maker, const Value& self, const Arguments&) {
  return all_fit(maker, self,
                 [](char32_t c) { return is(CharacterClass::letter, c) || is(CharacterClass::numeric, c); });
}

Value isspace(Maker& maker, const Value& self, const Arguments&) { return all_fit(maker, self, is_space); }

Value isascii(Maker& maker, const Value& self, const Arguments&) {
  maker.work_on(self.bytes().size());
  return self.string()->characters == self.bytes().size();
}

// An empty text counts as printable, unlike with the other tests.
Value isprintable(Maker& maker, const Value& self, const Arguments&) {
  return self.bytes().empty() || all_fit(maker, self, is_printable);
}

// A cased character is there, and none of the other case.
template <CharacterClass wanted, CharacterClass other>
Value is_in_case(Maker& maker, const Value& self, const Arguments&) {
  bool any = false;
  const bool all = all_fit(maker, self, [&any](char32_t c) {
    any = any || is(wanted, c);
    return !is(other, c) && !is(CharacterClass::title, c);
  });
  return all && any;
}

Value format_method(Maker& maker, const Value& self, const Arguments& arguments) {
  require_unsafe(self, "format");
  return maker.string(formatted(maker, text_of(self), arguments));
}

}  // namespace

// The methods of str that are known here. Others that Python has are an error by name (methods.cpp).
StringMethod string_method(std::string_view name) {
  static const std::map<std::string_view, StringMethod> table = {
      {"capitalize", capitalize},
      {"center", center},
      {"count", count},
      {"endswith", begins_or_ends<true>},
      {"find", find_part<false, false>},
      {"format", format_method},
      {"index", find_part<false, true>},
      {"isalnum", isalnum},
      {"isalpha", is_all<CharacterClass::letter>},
      {"isascii", isascii},
      {"isdecimal", is_all<CharacterClass::decimal>},
      {"isdigit", isdigit},
      {"islower", is_in_case<CharacterClass::lower, CharacterClass::upper>},
      {"isprintable", isprintable},
      {"isspace", isspace},
      {"isupper", is_in_case<CharacterClass::upper, CharacterClass::lower>},
      {"join", join},
      {"ljust", justify<true>},
      {"lower", change_case<Case::lower>},
      {"lstrip", strip<true, false>},
      {"partition", partition<false>},
      {"removeprefix", remove<false>},
      {"removesuffix", remove<true>},
      {"replace", replace},
      {"rfind", find_part<true, false>},
      {"rindex", find_part<true, true>},
      {"rjust", justify<false>},
      {"rpartition", partition<true>},
      {"rsplit", split<true>},
      {"rstrip", strip<false, true>},
      {"split", split<false>},
      {"splitlines", splitlines},
      {"startswith", begins_or_ends<false>},
      {"strip", strip<true, true>},
      {"swapcase", swapcase},
      {"title", title},
      {"upper", change_case<Case::upper>},
      {"zfill", zfill},
  };
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace tandem::chat
