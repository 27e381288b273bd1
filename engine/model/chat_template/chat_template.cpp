// A chat template from its source to a rendered text: parsed once, and run for each conversation. Faults of a template
// become errors that name it and the line.
#include "engine/model/chat_template/chat_template.h"

#include <ctime>
#include <utility>

#include "engine/model/chat_template/conversation.h"
#include "engine/model/chat_template/interpreter.h"
#include "engine/model/chat_template/scopes.h"
#include "engine/model/tokenizer/utf8.h"

namespace tandem::chat {
namespace {

constexpr size_t kMostSource = size_t{1} << 20;

// Turns a Fault into an Error with the template's name and line, and a hint that fits its kind.
[[noreturn]] void report(const Fault& fault, const std::string& name, int line) {
  const std::string place = name + ": line " + std::to_string(fault.line > 0 ? fault.line : line);
  switch (fault.kind) {
    case Fault::Kind::refusal:
      throw TemplateRefusal(fault.what, place,
                            "These are the words of the chat template, which refuses the conversation");
    case Fault::Kind::unknown:
      throw Error("the chat template uses " + fault.what + ", which is not known here", place,
                  "Change that line in a copy of the template, and give the copy with --chat-template-file "
                  "(docs/chat.md lists what is known)");
    case Fault::Kind::too_large:
      throw Error("the chat template makes " + fault.what, place, "Change that line, or shorten the conversation");
    case Fault::Kind::error:
      break;
  }
  throw Error("the chat template has an error: " + fault.what, place,
              "Correct the template, or give another with --chat-template-file");
}

}  // namespace

// The tree refers to constants, which count against an account of their own.
struct ChatTemplate::Parsed {
  std::string name;
  Account account;  // of the constants, which refer to it
  Tree tree;
};

ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

// A template is checked, parsed and scoped once. Renderings share the tree and have an account each.
ChatTemplate::ChatTemplate(std::string_view source, std::string name) {
  auto parsed = std::make_unique<Parsed>();
  parsed->name = std::move(name);
  if (source.size() > kMostSource)
    throw Error("the chat template is too large", parsed->name, "A template has at most 1 MiB");
  if (!utf8::is_valid(source)) throw Error("the chat template is no text in UTF-8", parsed->name, "Save it as UTF-8");
  try {
    Maker maker(parsed->account);
    parsed->tree = parse(source, maker);
    find_scopes(parsed->tree);
  } catch (const Fault& fault) {
    report(fault, parsed->name, 1);
  }
  parsed_ = std::move(parsed);
}

// The options come behind the conversation's values, so they replace them.
Text ChatTemplate::render(const Conversation& conversation, const RenderOptions& options) const {
  Account account;
  Maker maker(account);
  Interpreter interpreter(parsed_->tree, maker, options.now);
  try {
    for (const auto& [name, value] : conversation.given().values) interpreter.set(name, value);
    if (options.add_generation_prompt) interpreter.set("add_generation_prompt", *options.add_generation_prompt);
    if (options.enable_thinking) interpreter.set("enable_thinking", *options.enable_thinking);
    if (options.bos_token) interpreter.set("bos_token", maker.string(*options.bos_token));
    if (options.eos_token) interpreter.set("eos_token", maker.string(*options.eos_token));
    return interpreter.run();
  } catch (const Fault& fault) {
    report(fault, parsed_->name, interpreter.line());
  }
}

// Templates print today's date, and the user's own day is what they mean.
std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return local;
}

// A time without a zone, as `chat --now` takes it. A date that the calendar lacks is refused: timegm() would move it.
std::optional<std::tm> read_time(std::string_view text) {
  std::tm time{};
  const std::string copy(text);
  const char* end = strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  if (end == nullptr || *end != '\0' || copy.size() != 19) return std::nullopt;
  // The weekday and the day of the year follow from the date; 31 February is none.
  std::tm whole = time;
  const std::time_t seconds = timegm(&whole);
  if (whole.tm_mday != time.tm_mday || whole.tm_mon != time.tm_mon || time.tm_sec > 59) return std::nullopt;
  std::tm result{};
  gmtime_r(&seconds, &result);
  return result;
}

}  // namespace tandem::chat
