// What ends a rendering: the template's own refusal, a construct that is not known here, or an error of the template.
//
// Contract: thrown inside of this folder alone. ChatTemplate turns it into a tandem::Error with the template's name and
// the line.
#pragma once

#include <string>
#include <utility>

namespace tandem::chat {

struct Fault {
  enum class Kind { error, unknown, refusal, too_large };
  Kind kind = Kind::error;
  std::string what;
  int line = 0;  // 0: that of the node that is being evaluated
};

[[noreturn]] inline void fail(std::string what, int line = 0) {
  throw Fault{Fault::Kind::error, std::move(what), line};
}
// what: "the filter `urlize`".
[[noreturn]] inline void fail_unknown(std::string what, int line = 0) {
  throw Fault{Fault::Kind::unknown, std::move(what), line};
}
[[noreturn]] inline void fail_too_large(std::string what) { throw Fault{Fault::Kind::too_large, std::move(what), 0}; }

}  // namespace tandem::chat
