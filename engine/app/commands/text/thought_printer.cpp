// Prints an answer piece by piece and dims what stands between the marks of thoughts. A mark can be cut between pieces,
// so text that may begin one is held back.
#include "engine/app/commands/text/thought_printer.h"

#include <algorithm>
#include <utility>

namespace tandem::app {
namespace {

constexpr std::string_view kDim = "\x1b[2m", kNormal = "\x1b[0m";

// How much of the text's end may be the beginning of the mark.
size_t beginning_at_end(std::string_view text, std::string_view mark) {
  size_t length = std::min(text.size(), mark.size() - 1);
  while (length > 0 && !text.ends_with(mark.substr(0, length))) --length;
  return length;
}

}  // namespace

ThoughtPrinter::ThoughtPrinter(bool dims, Put put) : dims_(dims), put_(std::move(put)) {}

void ThoughtPrinter::begin(bool in_thought) {
  if (dims_ && in_thought) put_(kDim);
  in_thought_ = in_thought;
}

// Both marks are dimmed as well.
void ThoughtPrinter::pass_mark(size_t place) {
  const size_t end = place + mark().size();
  const std::string_view text = held_;
  put_(text.substr(0, in_thought_ ? end : place));
  put_(in_thought_ ? kNormal : kDim);
  if (!in_thought_) put_(mark());
  in_thought_ = !in_thought_;
  held_.erase(0, end);
}

void ThoughtPrinter::print(std::string_view piece) {
  if (!dims_) return put_(piece);
  held_ += piece;
  for (size_t place = 0; (place = held_.find(mark())) != std::string::npos;) pass_mark(place);
  const size_t ready = held_.size() - beginning_at_end(held_, mark());
  if (ready > 0) put_(std::string_view(held_).substr(0, ready));
  held_.erase(0, ready);
}

// Resets the terminal even if the model never closed its thoughts.
void ThoughtPrinter::end() {
  if (!held_.empty()) put_(std::exchange(held_, ""));
  if (dims_ && in_thought_) put_(kNormal);
  in_thought_ = false;
}

}  // namespace tandem::app
