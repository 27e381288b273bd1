#include "engine/constraint/json/formats.h"

namespace tandem::constraint {
namespace {

// Leap years end in 04, 08 ... 96, or are such a number of centuries. A date is a pattern, so that the days of each
// month and February 29 are part of the automaton.
std::string date() {
  const std::string fours = "(0[48]|[2468][048]|[13579][26])";
  const std::string year = "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)";
  return "(" + year +
         "-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))|([0-"
         "9]{2}" +
         fours + "|" + fours + "00)-02-29)";
}

std::string time() {
  const std::string hours = "([01][0-9]|2[0-3])";
  return hours + ":[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]" + hours + ":[0-5][0-9])";
}

}  // namespace

// A format that is not in this list is refused by the caller. Reading it as any string would break
// the schema's promise.
std::optional<std::string> pattern_of_format(std::string_view format) {
  if (format == "date") return "^" + date() + "$";
  if (format == "time") return "^" + time() + "$";
  if (format == "date-time") return "^" + date() + "T" + time() + "$";
  if (format == "uuid") return "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$";
  if (format == "email") {
    const std::string word = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+", label = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
    return "^" + word + "(\\." + word + ")*@" + label + "(\\." + label + ")*$";
  }
  return std::nullopt;
}

}  // namespace tandem::constraint
