// The one error type of the project, and the exception of a user's wish to stop.
//
// Contract: an Error says what failed, on what, and what to do next. The code that notices a failure throws it. The
// edge of the program (main, an HTTP handler) catches it.
#pragma once

#include <exception>
#include <string>

namespace tandem {

class Error : public std::exception {
 public:
  // what: what failed ("cannot open the model file"). on: the object ("model.gguf: tensor blk.0.attn_q.weight"). hint:
  // what to do next; may be empty. Control characters in all three become \xNN.
  Error(const std::string& what, const std::string& on, const std::string& hint = "");

  const char* what() const noexcept override { return paragraph_.c_str(); }  // one paragraph: what, on what, hint
  const std::string& failure() const { return what_; }
  const std::string& object() const { return on_; }
  const std::string& hint() const { return hint_; }

 private:
  std::string what_, on_, hint_, paragraph_;
};

// The user asked to stop, and nothing has failed.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

}  // namespace tandem
