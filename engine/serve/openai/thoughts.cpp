// A small state machine over the text that is held back. Each step moves to the next place or waits for more text.
#include "engine/serve/openai/thoughts.h"

#include <algorithm>

namespace tandem::serve {
namespace {

constexpr std::string_view kThinkBegin = "<think>", kThinkEnd = "</think>";

size_t blanks_at_end(std::string_view text) {
  const size_t last = text.find_last_not_of(kBlanks);
  return last == std::string_view::npos ? text.size() : text.size() - last - 1;
}

}  // namespace

ReplyParts Thoughts::push(std::string_view piece) {
  ReplyParts parts;
  held_ += piece;
  while (step(parts, false)) continue;
  return parts;
}

ReplyParts Thoughts::finish() {
  ReplyParts parts;
  while (step(parts, true)) continue;
  return parts;
}

// Whether there may be another step to take.
bool Thoughts::step(ReplyParts& parts, bool is_end) {
  switch (place_) {
    case Place::start:
      return begin(is_end);
    case Place::lead_of_thoughts:
      return skip_blanks(Place::thoughts, is_end);
    case Place::thoughts:
      return think(parts, is_end);
    case Place::lead_of_answer:
      return skip_blanks(Place::answer, is_end);
    case Place::answer:
      break;
  }
  add_text(parts, ReplyPart::Kind::content, held_);
  held_.clear();
  return false;
}

// Thoughts begin with the text, behind blanks; a mark further on is a word like others.
bool Thoughts::begin(bool is_end) {
  const size_t first = behind_blanks(held_);
  const std::string_view rest = std::string_view(held_).substr(first);
  if (!is_end && rest.size() < kThinkBegin.size() && kThinkBegin.starts_with(rest)) return false;
  if (rest.starts_with(kThinkBegin)) {
    held_.erase(0, first + kThinkBegin.size());
    place_ = Place::lead_of_thoughts;
  } else {
    place_ = Place::answer;
  }
  return true;
}

// Blank lines beside a mark belong to neither part. They can go on in the next piece, so the place changes at the first
// other character.
bool Thoughts::skip_blanks(Place next, bool is_end) {
  held_.erase(0, behind_blanks(held_));
  if (held_.empty() && !is_end) return false;
  place_ = next;
  return true;
}

// Blanks before the mark are held back with it.
bool Thoughts::think(ReplyParts& parts, bool is_end) {
  const size_t mark = held_.find(kThinkEnd);
  const bool ends = mark != std::string::npos;
  size_t ready = ends ? mark : held_.size() - (is_end ? 0 : begun_mark(held_, kThinkEnd));
  if (ends || !is_end) ready -= blanks_at_end(std::string_view(held_).substr(0, ready));
  add_text(parts, ReplyPart::Kind::reasoning, std::string_view(held_).substr(0, ready));
  held_.erase(0, ends ? mark + kThinkEnd.size() : ready);
  if (ends) place_ = Place::lead_of_answer;
  return ends;
}

bool ends_in_thoughts(std::string_view prompt) {
  prompt.remove_suffix(blanks_at_end(prompt));
  return prompt.ends_with(kThinkBegin);
}

}  // namespace tandem::serve
