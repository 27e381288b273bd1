// Two readers in a row: the first one separates thoughts, and the second one finds calls in the rest.
#include "engine/serve/openai/reply_reader.h"

namespace tandem::serve {

// A forced call begins with the answer, even behind a prompt that ends with <think>.
ReplyReader::ReplyReader(const ReplyRules& rules) : one_call_(rules.one_call) {
  const bool is_forced = rules.form == &kForcedForm;
  if (rules.has_thoughts && !is_forced) thoughts_.emplace(rules.begins_in_thoughts);
  if (rules.form) reader_ = rules.form->reader(rules.functions);
}

ReplyParts ReplyReader::push(std::string_view piece) {
  ReplyParts parts;
  read(thoughts_ ? thoughts_->push(piece) : ReplyParts{{ReplyPart::Kind::content, std::string(piece)}}, parts);
  return parts;
}

// Both readers may hold characters back that could have begun a mark. They are handed over now, thoughts first.
ReplyParts ReplyReader::finish() {
  ReplyParts parts;
  if (thoughts_) read(thoughts_->finish(), parts);
  if (reader_) take(reader_->finish(), parts);
  return parts;
}

// Thoughts are read before any call, so their parts need not wait for the reader of calls.
void ReplyReader::read(const ReplyParts& thought, ReplyParts& parts) {
  for (const ReplyPart& part : thought) {
    if (part.kind == ReplyPart::Kind::content && reader_)
      take(reader_->push(part.text), parts);
    else
      take({part}, parts);
  }
}

// Counts calls, and drops everything behind the first one if the request forbids parallel calls. Arguments of that
// first call still pass.
void ReplyReader::take(const ReplyParts& read, ReplyParts& parts) {
  for (const ReplyPart& part : read) {
    const bool is_more = part.kind == ReplyPart::Kind::arguments;
    if (one_call_ && calls_ > 0 && !is_more) return;
    if (part.kind == ReplyPart::Kind::call) {
      ++calls_;
      parts.push_back(part);
    } else {
      add_text(parts, part.kind, part.text);
    }
  }
}

}  // namespace tandem::serve
