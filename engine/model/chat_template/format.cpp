// The two ways in which Python fills values into a text: the % operator and str.format(). Both read a small language of
// widths, signs and precisions.
#include "engine/model/chat_template/format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/model/chat_template/access.h"
#include "engine/model/chat_template/characters.h"
#include "engine/model/chat_template/methods.h"
#include "engine/model/chat_template/objects.h"
#include "engine/model/chat_template/printing.h"

namespace tandem::chat {
namespace {

constexpr int64_t kWidest = 1 << 20;      // characters of a field
constexpr int64_t kMostPrecision = 1000;  // digits behind the point

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

// What a field asks for: [[fill]align][sign][#][0][width][,][.precision][type].
struct FieldForm {
  std::string fill = " ";
  char align = '\0', sign = '-', type = '\0';
  bool alternate = false, zero = false, comma = false;
  int64_t width = 0, precision = -1;
};

// Digits beyond the limit are read, too, so that the message is about the number and not about its rest.
int64_t take_number(std::string_view& rest, int64_t most) {
  int64_t number = 0;
  while (!rest.empty() && is_ascii_digit(rest.front())) {
    number = std::min(number * 10 + (rest.front() - '0'), most + 1);
    rest.remove_prefix(1);
  }
  if (number > most) fail_too_large("a width or precision of more than " + std::to_string(most));
  return number;
}

// Every reader of this file cuts what it has read from the front of `rest`.
bool take(std::string_view& rest, char c) {
  if (!rest.starts_with(c)) return false;
  rest.remove_prefix(1);
  return true;
}

// Reads Python's format specification in its order: fill and alignment, sign, `#`, `0`, width, `,`, precision, type.
// The fill may be any character, so alignment is looked for behind the first one.
FieldForm field_form(std::string_view spec) {
  FieldForm form;
  constexpr std::string_view kAligns = "<>=^";
  const auto is_align = [&](std::string_view rest) { return !rest.empty() && kAligns.find(rest[0]) != kAligns.npos; };
  std::string_view rest = spec;
  size_t second = 0;
  if (!rest.empty()) next_character(rest, second);
  if (second < rest.size() && is_align(rest.substr(second))) {
    form.fill = std::string(rest.substr(0, second));
    form.align = rest[second];
    rest.remove_prefix(second + 1);
  } else if (is_align(rest)) {
    form.align = rest[0];
    rest.remove_prefix(1);
  }
  if (!rest.empty() && std::string_view("+- ").find(rest[0]) != std::string_view::npos) {
    form.sign = rest[0];
    rest.remove_prefix(1);
  }
  form.alternate = take(rest, '#');
  form.zero = take(rest, '0');
  form.width = take_number(rest, kWidest);
  form.comma = take(rest, ',');
  if (take(rest, '.')) form.precision = take_number(rest, kMostPrecision);
  if (rest.size() > 1) fail_unknown("the format `" + std::string(spec) + "`");
  if (!rest.empty()) form.type = rest[0];
  return form;
}

// A comma stands before each three digits, counted from the point to the left.
std::string grouped(std::string digits) {
  const size_t point = std::min(digits.find_first_not_of("0123456789"), digits.size());
  for (size_t at = point; at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

// The C library writes the digits, since Python defines them by the same rules. The form is put together here, with `#`
// only where the field has one.
std::string real_digits(double value, char type, int64_t precision, bool alternate) {
  const char form[] = {
      '%', alternate ? '#' : '.', alternate ? '.' : '*', alternate ? '*' : type, alternate ? type : '\0', '\0'};
  const int places = precision < 0 ? 6 : static_cast<int>(precision);
  const int size = std::snprintf(nullptr, 0, form, places, value);
  std::string digits(static_cast<size_t>(size) + 1, '\0');
  std::snprintf(digits.data(), digits.size(), form, places, value);
  digits.pop_back();
  return digits;
}

// A number without its sign, because zeros and fillers stand between the sign and the digits.
struct Signed {
  std::string sign, digits;
};

// The digits of a number without its sign, and what stands before them: sign and prefix of the base. A whole number
// without a type of real numbers is written exactly, whatever its size. Everything else is written as a double.
Signed signed_number(const Value& value, FieldForm& form) {
  const auto whole = value.as_whole();
  const bool as_real = value.real() || std::string_view("eEfFgG%").find(form.type) != std::string_view::npos;
  Signed result;
  bool negative = false;
  if (whole && !as_real) {
    if (form.precision >= 0) fail("a precision of a whole number");
    negative = whole->is_negative();
    const Integer magnitude = negative ? -*whole : *whole;
    const bool hex = form.type == 'x' || form.type == 'X';
    const int base = hex ? 16 : form.type == 'o' ? 8 : form.type == 'b' ? 2 : 10;
    if (std::string_view("dn\0xXob", 7).find(form.type) == std::string_view::npos)
      fail_unknown(std::string("the format `") + form.type + "` of a whole number");
    result.digits = magnitude.to_string(base);
    if (form.type == 'X') result.digits = in_case(result.digits, Case::upper);
    if (form.alternate && base != 10) result.sign = std::string("0") + form.type;
  } else {
    const double number = value.real() ? *value.real() : whole->to_double();
    negative = std::signbit(number) && !std::isnan(number);
    const double magnitude = std::abs(number);
    // Without a type and a precision, Python writes the shortest digits that read back as the same number.
    if (form.type == '\0' && form.precision < 0) {
      result.digits = real_text(magnitude);
    } else if (std::string_view("eEfFgG").find(form.type) != std::string_view::npos && form.type != '\0') {
      const int64_t places = (form.type == 'g' || form.type == 'G') && form.precision == 0 ? 1 : form.precision;
      result.digits = real_digits(magnitude, form.type, places, form.alternate);
    } else if (form.type == '%') {
      result.digits = real_digits(magnitude * 100, 'f', form.precision, form.alternate) + "%";
    } else {
      fail_unknown(std::string("the format `") + form.type + "` of a number with a fraction");
    }
  }
  if (form.comma) result.digits = grouped(result.digits);
  if (negative)
    result.sign.insert(0, "-");
  else if (form.sign != '-')
    result.sign.insert(0, 1, form.sign);
  return result;
}

// Padding counts characters and not bytes. `^` puts the larger half on the right.
Text padded(Maker& maker, const Text& text, const FieldForm& form, char usual) {
  const auto count = static_cast<int64_t>(count_characters(text.bytes()));
  if (count >= form.width) return text;
  const int64_t room = form.width - count;
  const char align = form.align == '\0' ? usual : form.align;
  const int64_t left = align == '>' ? room : align == '^' ? room / 2 : 0;
  Text result = repeated(maker, Text(form.fill), left);
  result.append(text);
  result.append(repeated(maker, Text(form.fill), room - left));
  return result;
}

// `=` pads between the sign and the digits, so both are padded by themselves. A zero in front of the width means: fill
// with zeros behind the sign.
Text number_in_form(Maker& maker, const Value& value, FieldForm form) {
  maker.work(256);
  if (form.zero && form.comma) fail_unknown("a format with both `0` and `,`");
  if (form.zero && form.align == '\0') form.align = '=', form.fill = "0";
  const Signed number = signed_number(value, form);
  if (form.align != '=') return padded(maker, Text(number.sign + number.digits), form, '>');
  FieldForm inner = form;
  inner.align = '>';
  inner.width = std::max<int64_t>(0, form.width - std::ssize(number.sign));
  Text result(number.sign);
  result.append(padded(maker, Text(number.digits), inner, '>'));
  return result;
}

// A precision cuts a text, and a zero in front of the width pads it on the right.
Text text_in_form(Maker& maker, const Text& text, const FieldForm& form) {
  if (form.type != '\0' && form.type != 's') fail(std::string("the format `") + form.type + "` of a text");
  if (form.sign != '-' || form.alternate || form.comma || form.align == '=') fail("a format of numbers for a text");
  FieldForm own = form;
  if (form.zero && form.align == '\0') own.fill = "0", own.align = '<';
  const size_t end = form.precision < 0 ? text.size() : place_of(text.bytes(), static_cast<size_t>(form.precision));
  return padded(maker, text.slice(0, end), own, '<');
}

// An empty form is str(). Texts and numbers have forms of their own, and other values have none.
Text in_form(Maker& maker, const Value& value, std::string_view spec) {
  if (spec.empty()) return printed(maker, value);
  if (value.string()) return text_in_form(maker, value.string()->text, field_form(spec));
  if (value.as_whole() || value.real()) return number_in_form(maker, value, field_form(spec));
  fail(std::string("the format `") + std::string(spec) + "` of a " + value.type());
}

// One `{...}` of str.format(): which value, how it is converted, in which form.
struct Field {
  std::string_view name;
  char conversion = '\0';
  std::string_view spec;
};

// A field is a path, then `!` and a conversion, then `:` and a form. Each may be left out but the path.
Field field_of(std::string_view inside) {
  Field field;
  const size_t end = std::min(inside.find_first_of("!:"), inside.size());
  field.name = inside.substr(0, end);
  std::string_view rest = inside.substr(end);
  if (take(rest, '!')) {
    if (rest.empty()) fail("a `!` without a conversion in format()");
    field.conversion = rest[0];
    rest.remove_prefix(1);
  }
  if (!rest.empty() && !take(rest, ':')) fail("a `:` is missing in format()");
  field.spec = rest;
  return field;
}

// Runs str.format(): copies text, and writes a value in the place of each field. {{ and }} are braces.
class Formatting {
 public:
  Formatting(Maker& maker, const Arguments& arguments) : maker_(maker), arguments_(arguments) {}

  // Text outside of fields is copied with its author, and so are the values. A doubled bracket is one bracket.
  Text all(const Text& form) {
    const std::string_view bytes = form.bytes();
    Text result;
    for (size_t at = 0; at < bytes.size();) {
      const size_t mark = std::min(bytes.find_first_of("{}", at), bytes.size());
      result.append(form.slice(at, mark));
      if (mark == bytes.size()) break;
      if (bytes.substr(mark).starts_with("{{") || bytes.substr(mark).starts_with("}}")) {
        result.append(form.slice(mark, mark + 1));
        at = mark + 2;
        continue;
      }
      const size_t end = bytes[mark] == '{' ? bytes.find_first_of("{}", mark + 1) : std::string_view::npos;
      if (end == std::string_view::npos) fail("a single brace in format()");
      if (bytes[end] == '{') fail_unknown("a field within a field of format()");
      result.append(value_of(field_of(bytes.substr(mark + 1, end - mark - 1))));
      maker_.work(4);
      maker_.require_room(result.size());
      at = end + 1;
    }
    return result;
  }

 private:
  // The conversion comes before the form: !r and !s make a text of the value, which then is padded like any text.
  Text value_of(const Field& field) {
    Value value = find_value(field.name);
    if (field.conversion == 'r')
      value = maker_.string(representation(maker_, value));
    else if (field.conversion == 's')
      value = maker_.string(printed(maker_, value));
    else if (field.conversion != '\0')
      fail_unknown(std::string("the conversion `!") + field.conversion + "` of format()");
    return in_form(maker_, value, field.spec);
  }

  // A path begins with a number or a name, and goes on with attributes (.) and items ([...]).
  Value find_value(std::string_view path) {
    const size_t end = std::min(path.find_first_of(".["), path.size());
    Value value = first(std::string(path.substr(0, end)));
    for (std::string_view rest = path.substr(end); !rest.empty();) {
      const bool is_item = rest[0] == '[';
      rest.remove_prefix(1);
      const size_t stop = is_item ? rest.find(']') : std::min(rest.find_first_of(".["), rest.size());
      if (stop == std::string_view::npos || stop == 0) fail("an empty or open part of a field in format()");
      const std::string part(rest.substr(0, stop));
      if (!is_item)
        value = attribute(maker_, value, part);
      else if (std::ranges::all_of(part, is_ascii_digit))
        value = item(maker_, value, Value(*Integer::parse(part)));
      else
        value = item(maker_, value, maker_.string(part));
      rest.remove_prefix(stop + (is_item ? 1 : 0));
    }
    return value;
  }

  // Fields without a number count themselves. Python refuses to mix both kinds, and so does this.
  Value first(const std::string& name) {
    const bool is_number = !name.empty() && std::ranges::all_of(name, is_ascii_digit);
    if (name.empty() || is_number) {
      if (is_numbered_ && *is_numbered_ != is_number) fail("fields with and without numbers in format()");
      is_numbered_ = is_number;
      std::string_view digits = name;
      const auto at = static_cast<size_t>(is_number ? take_number(digits, kWidest) : next_++);
      if (at >= arguments_.positional.size()) fail("format() has too few values");
      return arguments_.positional[at];
    }
    for (const auto& [key, value] : arguments_.named)
      if (key == name) return value;
    fail("format() has no value `" + name + "`");
  }

  Maker& maker_;
  const Arguments& arguments_;
  int64_t next_ = 0;
  std::optional<bool> is_numbered_;
};

// The operator %.
class PercentFormatting {
 public:
  // Values in a tuple are used one by one. Any other value is a single one, and some kinds of it may stay unused.
  PercentFormatting(Maker& maker, const Value& values) : maker_(maker), values_(values) {
    is_tuple_ = values.sequence() && !values.list();
    may_be_left_ = !is_tuple_ && (values.dict() || values.list() || values.undefined() || values.object<Range>());
  }

  // Walks from one % to the next. Text between them is copied with its author, and each field takes its values. Values
  // of a tuple that are left at the end are an error, as in Python.
  Text all(const Text& form) {
    const std::string_view bytes = form.bytes();
    Text result;
    for (size_t at = 0; at < bytes.size();) {
      const size_t mark = std::min(bytes.find('%', at), bytes.size());
      result.append(form.slice(at, mark));
      if (mark == bytes.size()) break;
      std::string_view rest = bytes.substr(mark + 1);
      result.append(field(rest));
      maker_.work(4);
      maker_.require_room(result.size());
      at = bytes.size() - rest.size();
    }
    const size_t count = is_tuple_ ? values_.sequence()->items.size() : 1;
    if (!may_be_left_ && next_ < count) fail("not all values of % are used");
    return result;
  }

 private:
  // A field is %, a name in brackets, flags, a width, a precision and a type.
  Text field(std::string_view& rest) {
    FieldForm form;
    std::optional<Value> keyed;
    if (take(rest, '(')) {
      const size_t end = rest.find(')');
      if (end == std::string_view::npos || !values_.dict()) fail("a name in % without a dict");
      const Value* found = find_key(*values_.dict(), rest.substr(0, end));
      if (!found) fail("% has no value `" + std::string(rest.substr(0, end)) + "`");
      keyed = *found;
      rest.remove_prefix(end + 1);
    }
    for (; !rest.empty() && std::string_view("#0- +").find(rest[0]) != std::string_view::npos; rest.remove_prefix(1)) {
      if (rest[0] == '#') form.alternate = true;
      if (rest[0] == '0') form.zero = true;
      if (rest[0] == '-') form.align = '<';
      if (rest[0] == '+') form.sign = '+';
      if (rest[0] == ' ' && form.sign != '+') form.sign = ' ';
    }
    if (rest.starts_with('*')) fail_unknown("a width `*` in %");
    form.width = take_number(rest, kWidest);
    if (take(rest, '.')) form.precision = take_number(rest, kMostPrecision);
    if (rest.empty()) fail("an unfinished % in a text");
    form.type = rest[0];
    rest.remove_prefix(1);
    if (form.type == '%') return Text("%");
    const Value value = keyed ? *keyed : next_value();
    return shown(value, form);
  }

  // The type decides what a value must be. `%d` cuts a fraction off, which the other types of whole numbers refuse.
  Text shown(const Value& value, FieldForm form) {
    if (form.align == '<') form.zero = false;
    switch (form.type) {
      case 's':
      case 'r': {
        const Text text = form.type == 's' ? printed(maker_, value) : representation(maker_, value);
        const size_t end =
            form.precision < 0 ? text.size() : place_of(text.bytes(), static_cast<size_t>(form.precision));
        return padded(maker_, text.slice(0, end), form, '>');
      }
      case 'd':
      case 'i':
      case 'u':
        form.type = 'd';
        require_number(value);
        if (value.real()) return number_in_form(maker_, whole_of(*value.real()), form);
        [[fallthrough]];
      case 'o':
      case 'x':
      case 'X':
        if (!value.as_whole()) fail(std::string("% needs a whole number, not a ") + value.type());
        if (form.precision >= 0) fail_unknown("a precision of a whole number in %");
        return number_in_form(maker_, value, form);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        require_number(value);
        return number_in_form(maker_, value, form);
      default:
        fail_unknown(std::string("the format `%") + form.type + "`");
    }
  }

  void require_number(const Value& value) {
    if (!value.as_whole() && !value.real()) fail(std::string("% needs a number, not a ") + value.type());
  }
  static Value whole_of(double value) {
    if (!std::isfinite(value)) fail("a whole number of an infinite one");
    return Integer::of(std::trunc(value));
  }

  // A single value that is no tuple is used once.
  Value next_value() {
    const size_t at = next_++;
    if (is_tuple_ && at < values_.sequence()->items.size()) return values_.sequence()->items[at];
    if (!is_tuple_ && at == 0) return values_;
    fail("% has too few values");
  }

  Maker& maker_;
  const Value& values_;
  bool is_tuple_ = false, may_be_left_ = false;
  size_t next_ = 0;
};

}  // namespace

Text formatted(Maker& maker, const Text& form, const Arguments& arguments) {
  return Formatting(maker, arguments).all(form);
}

Text percent_formatted(Maker& maker, const Text& form, const Value& values) {
  return PercentFormatting(maker, values).all(form);
}

}  // namespace tandem::chat
