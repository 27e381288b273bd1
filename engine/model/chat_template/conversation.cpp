// Reads the messages that a template renders. They come from users and clients, so size and depth are bounded, and
// every text is marked as the conversation's own.
#include "engine/model/chat_template/conversation.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/model/chat_template/comparing.h"
#include "engine/model/chat_template/model_chat.h"
#include "engine/model/tokenizer/utf8.h"

namespace tandem::chat {
namespace {

// Limits of what a request may hold. They keep a hostile conversation from filling the memory before a template runs.
constexpr size_t kMostJson = size_t{32} << 20;
constexpr size_t kMostValues = size_t{1} << 19;
constexpr size_t kMostDepth = 128;
constexpr size_t kMostDigits = 4300;

// Takes the parser's events and makes values of them, without a stack of its own calls.
class ValueSink : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit ValueSink(Maker& maker) : maker_(maker) {}
  Value take() { return std::move(root_); }

  bool null() override { return add(Value()); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(Integer(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(*Integer::parse(std::to_string(value))); }
  // Whole numbers beyond 64 bits come here, too.
  bool number_float(number_float_t value, const string_t& spelt) override {
    if (spelt.find_first_of(".eE") != std::string::npos) return add(value);
    const bool negative = spelt.starts_with('-');
    if (spelt.size() > kMostDigits) fail("a number of more than 4,300 digits");
    const Integer whole = *Integer::parse(std::string_view(spelt).substr(negative ? 1 : 0));
    return add(negative ? -whole : whole);
  }
  bool string(string_t& value) override { return add(maker_.string(std::move(value), Author::conversation)); }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& value) override {
    open_.back().key = maker_.string(std::move(value), Author::conversation);
    return true;
  }
  bool start_object(size_t) override { return open(true); }
  bool start_array(size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t place, const std::string&, const nlohmann::json::exception&) override {
    fail("it is no JSON: the error is near byte " + std::to_string(place));
  }

 private:
  // A list or an object whose end has not come yet.
  struct Open {
    bool is_object;
    Value key;
    Values items;
    std::vector<std::pair<Value, Value>> entries;
  };
  // The depth is bounded here, while the text is read, because later walks over the value are recursive.
  bool open(bool is_object) {
    if (open_.size() == kMostDepth) fail("its values are nested more than 128 deep");
    open_.push_back({is_object, {}, {}, {}});
    return true;
  }
  // A complete list or object becomes one value of the list or object around it.
  bool close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    return add(done.is_object ? maker_.dict(std::move(done.entries)) : maker_.list(std::move(done.items)));
  }
  // A value belongs to the innermost list or object that is open. The first value is the whole.
  bool add(Value value) {
    if (++count_ > kMostValues) fail("it has more than " + std::to_string(kMostValues) + " values");
    if (open_.empty())
      root_ = std::move(value);
    else if (open_.back().is_object)
      open_.back().entries.emplace_back(std::move(open_.back().key), std::move(value));
    else
      open_.back().items.push_back(std::move(value));
    return true;
  }

  Maker& maker_;
  Value root_;
  std::vector<Open> open_;
  size_t count_ = 0;
};

// Templates make special tokens of roles ('<|' + role + '|>'), so these words are the template's own.
bool is_known_role(std::string_view role) {
  constexpr std::string_view kRoles[] = {"system",        "user",    "assistant", "tool",           "developer",
                                         "function",      "model",   "ipython",   "observation",    "tool_results",
                                         "tool_response", "context", "documents", "available_tools"};
  return std::ranges::find(kRoles, role) != std::end(kRoles);
}

// The list of messages with the roles that are known as the template's text.
Value with_known_roles(const Value& messages, Maker& maker) {
  Values all;
  for (const Value& message : messages.sequence()->items) {
    if (!message.dict()) fail("a message is no object");
    auto entries = message.dict()->entries;
    for (auto& [key, value] : entries)
      if (key.bytes() == "role" && value.string() && is_known_role(value.bytes())) value = maker.string(value.bytes());
    all.push_back(maker.dict(std::move(entries)));
  }
  return maker.list(std::move(all));
}

using Named = std::vector<std::pair<std::string, Value>>;

// A later value of a name replaces the earlier one.
void set(Named& values, std::string_view name, const Value& value) {
  const auto known = std::ranges::find(values, name, &Named::value_type::first);
  if (known != values.end())
    known->second = value;
  else
    values.emplace_back(name, value);
}

// None counts as left out, whatever kind a key should have.
void require(const Value& value, bool fits, const char* name, const char* wanted) {
  if (!fits && !value.is_none()) fail(std::string("`") + name + "` is no " + wanted);
}

// As transformers calls a template: what is not given is none, and no prompt for an answer is added.
Named named_values(const Value& root, Maker& maker) {
  Named values = {{"tools", Value()}, {"documents", Value()}, {"add_generation_prompt", false}};
  if (root.list()) {
    set(values, "messages", with_known_roles(root, maker));
    return values;
  }
  if (!root.dict()) fail("it is neither a list of messages nor an object");
  bool has_messages = false;
  for (const auto& [key, value] : root.dict()->entries) {
    const std::string& name = key.bytes();
    if (name == "messages") {
      if (!value.list()) fail("`messages` is no list");
      has_messages = true;
      set(values, name, with_known_roles(value, maker));
    } else if (name == "tools" || name == "documents") {
      require(value, value.list() != nullptr, name.c_str(), "list");
      set(values, name, value);
    } else if (name == "add_generation_prompt") {
      require(value, value.truth() != nullptr, name.c_str(), "truth value");
      set(values, name, value.is_none() ? Value(false) : value);
    } else if (name == "bos_token" || name == "eos_token") {
      require(value, value.string() != nullptr, name.c_str(), "text");
      set(values, name, value.string() ? maker.string(value.bytes()) : value);
    } else if (name != "chat_template_kwargs") {
      fail("`" + name +
           "` is none of its keys: messages, tools, documents, add_generation_prompt, bos_token, eos_token, "
           "chat_template_kwargs");
    }
  }
  if (!has_messages) fail("it has no `messages`");
  // The template's own arguments come last, so they replace values of the same name.
  if (const Value* more = find_key(*root.dict(), "chat_template_kwargs"); more && !more->is_none()) {
    if (!more->dict()) fail("`chat_template_kwargs` is no object");
    for (const auto& [key, value] : more->dict()->entries) set(values, key.bytes(), value);
  }
  return values;
}

const Value& value_of(const Conversation::Given& given, std::string_view name) {
  return std::ranges::find(given.values, name, &Named::value_type::first)->second;
}

}  // namespace

// Reads JSON event by event into the template's values, without a tree of the JSON library between them.
Value read_json_value(std::string_view json, Maker& maker) {
  if (json.size() > kMostJson) fail("it is larger than 32 MiB");
  ValueSink sink(maker);
  if (!nlohmann::json::sax_parse(json, &sink)) fail("it is no JSON");
  return sink.take();
}

Conversation::Conversation(std::unique_ptr<Given> given) : given_(std::move(given)) {}
Conversation::Conversation(Conversation&&) noexcept = default;
Conversation::~Conversation() = default;

// An account limits what reading may take, as it limits templates.
Conversation Conversation::read(std::string_view json, const std::string& name) {
  auto given = std::make_unique<Given>();
  Maker maker(given->account);
  try {
    given->values = named_values(read_json_value(json, maker), maker);
  } catch (const Fault& fault) {
    throw Error("cannot read the messages: " + fault.what, name,
                "Expected a list of {\"role\", \"content\"}, or an object whose `messages` is one (docs/chat.md)");
  }
  return Conversation(std::move(given));
}

// Messages of the program become the same values as those of a JSON text, with the same limits.
Conversation Conversation::of(const std::vector<Message>& messages) {
  auto given = std::make_unique<Given>();
  Maker maker(given->account);
  try {
    Values all;
    for (const Message& message : messages) {
      if (!utf8::is_valid(message.content))
        throw Error("a message is no text in UTF-8", "the message of the role " + message.role, "Convert it to UTF-8");
      all.push_back(maker.dict({{maker.string("role"), maker.string(message.role, Author::conversation)},
                                {maker.string("content"), maker.string(message.content, Author::conversation)}}));
    }
    given->values = named_values(maker.list(std::move(all)), maker);
  } catch (const Fault& fault) {
    throw Error("the conversation has " + fault.what, "the messages", "Shorten them");
  }
  return Conversation(std::move(given));
}

bool Conversation::gives(std::string_view name) const {
  return std::ranges::find(given_->values, name, &Named::value_type::first) != given_->values.end();
}

// An empty list of tools is none.
bool Conversation::has_tools() const { return is_true(value_of(*given_, "tools")); }

// The last message is continued rather than answered if the assistant wrote it.
bool Conversation::ends_with_assistant() const {
  const Value& messages = value_of(*given_, "messages");
  if (!messages.list() || messages.list()->items.empty() || !messages.list()->items.back().dict()) return false;
  const Value* role = find_key(*messages.list()->items.back().dict(), "role");
  return role != nullptr && role->string() && role->bytes() == "assistant";
}

}  // namespace tandem::chat
