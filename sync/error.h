// The one error type of the project, and the checks that throw it.
//
// Contract: an Error says what failed, on what, and what to do next. The code that notices a failure throws it. The
// edge of the program (main, an HTTP handler) catches it. Checks of invariants (TANDEM_CHECK) stay on in release
// builds. Checks in hot loops (TANDEM_DCHECK) are compiled into debug builds only.
#pragma once

#include <exception>
#include <string>

namespace tandem {

class Error : public std::exception {
 public:
  // what: what failed ("cannot open the model file"). on: the object ("model.gguf: tensor blk.0.attn_q.weight"). hint:
  // what to do next; may be empty. Control characters in all three become \xNN (sync/printable_text.h).
  Error(const std::string& what, const std::string& on, const std::string& hint = "");

  const char* what() const noexcept override { return paragraph_.c_str(); }  // one paragraph: what, on what, hint
  const std::string& failure() const { return what_; }
  const std::string& object() const { return on_; }
  const std::string& hint() const { return hint_; }

 private:
  std::string what_, on_, hint_, paragraph_;
};

[[noreturn]] void throw_check_failed(const char* expression, const char* file, int line, const std::string& detail);

}  // namespace tandem

#define TANDEM_CHECK(condition, detail) \
  ((condition) ? static_cast<void>(0) : ::tandem::throw_check_failed(#condition, __FILE__, __LINE__, (detail)))
#ifdef NDEBUG
#define TANDEM_DCHECK(condition, detail) static_cast<void>(0)
#else
#define TANDEM_DCHECK(condition, detail) TANDEM_CHECK(condition, detail)
#endif
