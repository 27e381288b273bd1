// Reads a user's messages: from a terminal with a line editor, or from a pipe line by line. A message may have several
// lines, within three quotes or behind a backslash.
#include "engine/app/commands/text/message_reader.h"

#include <unistd.h>

#include <cstdio>
#include <string_view>
#include <utility>

#include "engine/app/interrupt.h"

namespace tandem::app {
namespace {

constexpr std::string_view kQuotes = "\"\"\"";

}  // namespace

MessageReader::MessageReader() : lines_("-") {
  if (isatty(STDIN_FILENO) != 0) editor_ = std::make_unique<LineEditor>();
}

// A message that Ctrl-C interrupts is dropped, and the user begins anew. The end of the input ends the conversation,
// but a message that has begun still counts.
bool MessageReader::next(std::string& text) {
  for (;;) {
    text.clear();
    in_quotes_ = false;
    Part part = Part::unfinished;
    while (part == Part::unfinished) part = read_part(text);
    if (part == Part::whole || (part == Part::none && !text.empty())) return true;
    if (part == Part::none) return false;
  }
}

// Continued lines have another mark, so a user sees that the message is not complete.
MessageReader::Part MessageReader::read_part(std::string& text) {
  std::string line;
  if (next_line(text.empty() && !in_quotes_ ? "> " : ". ", line)) return add(text, std::move(line));
  if (editor_) std::fputs("\n", stderr);
  return editor_ && forget_interrupt() ? Part::dropped : Part::none;
}

// Pipes of other systems end their lines with a carriage return, which is no part of the message.
bool MessageReader::next_line(const char* prompt, std::string& line) {
  if (editor_) {
    auto typed = editor_->next(prompt);
    if (!typed) return false;
    line = std::move(*typed);
  } else if (lines_.next(line, true) != LineReader::Found::line) {
    return false;
  }
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

// Takes a line into the message, and says whether more must follow. The marks themselves are no part of it.
MessageReader::Part MessageReader::add(std::string& text, std::string line) {
  if (!in_quotes_ && text.empty() && line.starts_with(kQuotes)) {
    in_quotes_ = true;
    line.erase(0, kQuotes.size());
    if (line.empty()) return Part::unfinished;
  }
  const bool goes_on = in_quotes_ ? !line.ends_with(kQuotes) : line.ends_with('\\');
  if (in_quotes_ && !goes_on) line.resize(line.size() - kQuotes.size());
  if (!in_quotes_ && goes_on) line.pop_back();
  text += line;
  if (goes_on) text += '\n';
  return goes_on ? Part::unfinished : Part::whole;
}

}  // namespace tandem::app
