// Values as texts in three forms: as a template prints them, as Python's repr() shows them, and as JSON.
#include "engine/model/chat_template/printing.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "engine/model/chat_template/characters.h"
#include "engine/model/chat_template/comparing.h"
#include "engine/model/chat_template/objects.h"

namespace tandem::chat {
namespace {

constexpr int kMostPrinted = 2 * kMostNesting;  // a namespace may hold itself

// A character's number in the form of an escape.
std::string hexadecimal(const char* form, char32_t c) {
  char text[16];
  std::snprintf(text, sizeof text, form, static_cast<unsigned>(c));
  return text;
}

// Writes into one text and ends before it becomes too large.
class Printer {
 public:
  explicit Printer(Maker& maker) : maker_(maker) {}
  Text take() { return std::move(out_); }

  void mark(std::string_view bytes) { put(bytes, Author::chat_template); }

  // repr(): what Python would read back as the value. The depth is limited, because a namespace may hold itself.
  void repr(const Value& value, int depth = 0) {
    maker_.work(1 + (value.whole() ? value.whole()->bits() : 0));
    if (depth > kMostPrinted) fail_too_large("values that are nested too deeply");
    if (value.string())
      quoted(*value.string());
    else if (value.sequence())
      list(*value.sequence(), depth);
    else if (value.dict())
      dict(*value.dict(), depth);
    else if (value.object())
      object(value, depth);
    else if (value.undefined())
      mark("Undefined");
    else
      mark(scalar(value));
  }

  // Python's spelling, which templates of models were written against.
  static std::string scalar(const Value& value) {
    if (value.is_none()) return "None";
    if (value.truth()) return *value.truth() ? "True" : "False";
    if (value.whole()) return value.whole()->to_string();
    return real_text(*value.real());
  }

  // JSON has no words for undefined values and objects, so they are an error, as in Python.
  void json(const Value& value, const JsonForm& form, size_t level) {
    maker_.work(1 + (value.whole() ? value.whole()->bits() : 0));
    if (value.string())
      json_string(value.string()->text, form.ascii_only);
    else if (value.sequence())
      json_list(value.sequence()->items, form, level);
    else if (value.dict())
      json_dict(*value.dict(), form, level);
    else if (value.undefined() || value.object())
      fail(std::string("`tojson` of a value of type ") + value.type());
    else
      mark(json_scalar(value));
  }

 private:
  // Text keeps its author, so that a message within a printed list stays the conversation's.
  void put(std::string_view bytes, Author author) {
    // The account is asked once for each piece of 64 KiB, and not for each mark.
    if ((written_ += bytes.size()) > kPiece) {
      maker_.work_on(written_);
      maker_.require_room(out_.size() + written_);
      written_ = 0;
    }
    out_.append(bytes, author);
  }

  // Bytes that stay as they are go together, others one character at a time.
  template <typename Plain, typename Change>
  void each_piece(std::string_view stretch, const Plain& is_plain, Author author, const Change& changed) {
    for (size_t at = 0; at < stretch.size();) {
      const size_t begin = at;
      while (at < stretch.size() && is_plain(stretch[at])) ++at;
      put(stretch.substr(begin, at - begin), author);
      if (at == stretch.size()) return;
      const size_t other = at;
      const char32_t c = next_character(stretch, at);
      put(changed(c, stretch.substr(other, at - other)), author);
    }
  }

  // Single quotes, if there are none in the text or double ones as well.
  void quoted(const String& string) {
    const std::string& bytes = string.text.bytes();
    const char quote = bytes.find('\'') != std::string::npos && bytes.find('"') == std::string::npos ? '"' : '\'';
    if (string.is_safe) mark("Markup(");
    mark(std::string_view(&quote, 1));
    string.text.each_stretch([&](std::string_view stretch, Author author) {
      const auto is_plain = [quote](char c) { return c >= 0x20 && c < 0x7F && c != quote && c != '\\'; };
      each_piece(stretch, is_plain, author, [&](char32_t c, std::string_view bytes) {
        if (c >= 0x80) maker_.work(kWorkOfClass);
        return escaped(c, quote, bytes);
      });
    });
    mark(std::string_view(&quote, 1));
    if (string.is_safe) mark(")");
  }

  // Printable characters beyond ASCII stay as they are, and others are written by their number.
  static std::string escaped(char32_t c, char quote, std::string_view bytes) {
    if (c == '\\' || c == static_cast<unsigned char>(quote)) return std::string("\\") + static_cast<char>(c);
    if (c == '\n') return "\\n";
    if (c == '\r') return "\\r";
    if (c == '\t') return "\\t";
    if (is_printable(c)) return std::string(bytes);
    return hexadecimal(c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
  }

  void items(const Values& values, int depth) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) mark(", ");
      repr(values[i], depth + 1);
    }
  }
  void list(const Sequence& sequence, int depth) {
    const bool is_list = sequence.kind == Sequence::Kind::list;
    mark(is_list ? "[" : "(");
    items(sequence.items, depth);
    mark(is_list ? "]" : sequence.items.size() == 1 ? ",)" : ")");
  }
  void dict(const Dict& dict, int depth) {
    mark("{");
    for (size_t i = 0; i < dict.entries.size(); ++i) {
      if (i > 0) mark(", ");
      repr(dict.entries[i].first, depth + 1);
      mark(": ");
      repr(dict.entries[i].second, depth + 1);
    }
    mark("}");
  }

  // Each object shows what Python shows. An object whose text has an address there is refused, since no two runs agree.
  void object(const Value& value, int depth) {
    if (const auto* range = value.object<Range>()) {
      mark("range(" + std::to_string(range->start) + ", " + std::to_string(range->stop) +
           (range->step == 1 ? ")" : ", " + std::to_string(range->step) + ")"));
    } else if (const auto* view = value.object<DictView>()) {
      mark(std::string(view->type()) + "([");
      bool first = true;
      for (const auto& [key, each] : view->dict.dict()->entries) {
        if (!std::exchange(first, false)) mark(", ");
        if (view->part == DictView::Part::items) mark("(");
        if (view->part != DictView::Part::values) repr(key, depth + 1);
        if (view->part == DictView::Part::items) mark(", ");
        if (view->part != DictView::Part::keys) repr(each, depth + 1);
        if (view->part == DictView::Part::items) mark(")");
      }
      mark("])");
    } else if (const auto* space = value.object<Namespace>()) {
      mark("<Namespace {");
      for (size_t i = 0; i < space->fields.size(); ++i) {
        if (i > 0) mark(", ");
        quoted({Text(space->fields[i].first), 0, false, {}});
        mark(": ");
        repr(space->fields[i].second, depth + 1);
      }
      mark("}>");
    } else if (auto* own = value.object<WithAttributes>()) {
      const auto text = own->attribute(maker_, "__repr__");
      if (!text) fail_unknown(std::string("the text of a ") + value.type());
      mark(text->bytes());
    } else {
      fail_unknown(std::string("the text of a ") + value.type() + ", which is an address in Python");
    }
  }

  // NaN and infinities are written as Python writes them, though JSON has no such words.
  static std::string json_scalar(const Value& value) {
    if (value.is_none()) return "null";
    if (value.truth()) return *value.truth() ? "true" : "false";
    if (value.whole()) return value.whole()->to_string();
    if (std::isnan(*value.real())) return "NaN";
    if (std::isinf(*value.real())) return *value.real() > 0 ? "Infinity" : "-Infinity";
    return real_text(*value.real());
  }

  // Only characters that JSON must escape are looked at one by one. Runs of plain ones are copied whole.
  void json_string(const Text& text, bool ascii_only) {
    mark("\"");
    text.each_stretch([&](std::string_view stretch, Author author) {
      const auto is_plain = [ascii_only](char c) {
        return c != '"' && c != '\\' && (ascii_only ? c >= 0x20 && c < 0x7F : c >= 0x20 || c < 0);
      };
      each_piece(stretch, is_plain, author, [&](char32_t c, std::string_view bytes) {
        maker_.work(1);
        return json_escaped(c, ascii_only, bytes);
      });
    });
    mark("\"");
  }

  // JSON's escapes. A character beyond 16 bits becomes a pair of surrogates if only ASCII may be written.
  static std::string json_escaped(char32_t c, bool ascii_only, std::string_view bytes) {
    switch (c) {
      case '"':
        return "\\\"";
      case '\\':
        return "\\\\";
      case '\n':
        return "\\n";
      case '\r':
        return "\\r";
      case '\t':
        return "\\t";
      case '\b':
        return "\\b";
      case '\f':
        return "\\f";
      default:
        break;
    }
    if (c >= 0x20 && (c < 0x7F || !ascii_only)) return std::string(bytes);  // 0x7F is no printable character of ASCII
    if (c < 0x20 || (ascii_only && c < 0x10000)) return hexadecimal("\\u%04x", c);
    return hexadecimal("\\u%04x", 0xD800 + ((c - 0x10000) >> 10)) + hexadecimal("\\u%04x", 0xDC00 + (c & 0x3FF));
  }

  // Without an indentation the whole document is one line.
  void new_line(const JsonForm& form, size_t level) {
    if (!form.indent) return;
    mark("\n");
    for (size_t i = 0; i < level; ++i) mark(*form.indent);
  }

  // With an indent each value has a line of its own, as in Python's json.dumps().
  void json_list(const Values& values, const JsonForm& form, size_t level) {
    if (values.empty()) return mark("[]");
    mark("[");
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) mark(form.comma);
      new_line(form, level + 1);
      json(values[i], form, level + 1);
    }
    new_line(form, level);
    mark("]");
  }

  // Keys that are no texts are written as texts: numbers, truth values and none, as json.dumps() does it.
  void json_dict(const Dict& dict, const JsonForm& form, size_t level) {
    if (dict.entries.empty()) return mark("{}");
    auto entries = dict.entries;
    if (form.sorted)
      std::ranges::stable_sort(entries,
                               [this](const auto& a, const auto& b) { return less(maker_, a.first, b.first); });
    mark("{");
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) mark(form.comma);
      new_line(form, level + 1);
      const Value& key = entries[i].first;
      if (key.string()) {
        json_string(key.string()->text, form.ascii_only);
      } else {
        if (key.undefined() || key.sequence() || key.object())
          fail(std::string("`tojson` of a dict with a key of type ") + key.type());
        mark("\"" + json_scalar(key) + "\"");
      }
      mark(form.colon);
      json(entries[i].second, form, level + 1);
    }
    new_line(form, level);
    mark("}");
  }

  static constexpr size_t kPiece = size_t{1} << 16;  // bytes between two checks
  static constexpr size_t kWorkOfClass = 4;          // units: asking PCRE2 for the class of a character
  Maker& maker_;
  Text out_;
  size_t written_ = 0;  // since the last check
};

}  // namespace

// The shortest digits that give the same double. Python writes exponents from 1e16 on and below 1e-4.
std::string real_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  char text[64];
  const auto end = std::to_chars(std::begin(text), std::end(text), number, std::chars_format::scientific).ptr;
  const std::string_view scientific(text, static_cast<size_t>(end - text));
  const size_t mark = scientific.find('e');
  const int exponent = std::atoi(std::string(scientific.substr(mark + 1)).c_str());
  if (exponent < -4 || exponent >= 16) return std::string(scientific);
  const auto last = std::to_chars(std::begin(text), std::end(text), number, std::chars_format::fixed).ptr;
  std::string fixed(text, last);
  return fixed.find('.') == std::string::npos ? fixed + ".0" : fixed;
}

Text representation(Maker& maker, const Value& value) {
  Printer printer(maker);
  printer.repr(value);
  return printer.take();
}

// str(): a text is itself, an undefined value is nothing, and values that hold others show their parts by repr().
Text printed(Maker& maker, const Value& value) {
  if (value.whole()) maker.work(value.whole()->bits());
  if (value.string()) return value.string()->text;
  if (value.undefined()) return {};
  if (value.sequence() || value.dict() || value.object()) return representation(maker, value);
  return Text(Printer::scalar(value));
}

// Templates print tools and the arguments of calls in this way.
Text json_text(Maker& maker, const Value& value, const JsonForm& form) {
  Printer printer(maker);
  printer.json(value, form, 0);
  return printer.take();
}

}  // namespace tandem::chat
