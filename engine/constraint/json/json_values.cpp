#include "engine/constraint/json/json_values.h"

namespace tandem::constraint {

// Makes a shared rule when it is first called for. `known` is the rule's number, -1 before.
RuleId JsonValues::rule(RuleId& known, const char* name, const std::function<void(StateId, StateId)>& body) {
  if (known < 0) {
    known = net_.add_rule(name);  // known before its body, which may call it
    body(net_.start(known), net_.end(known));
  }
  return known;
}

// At most one blank: the model chooses its layout, and cannot write blanks for ever.
void JsonValues::add_blank(StateId from, StateId to) {
  net_.add_nothing(from, to);
  net_.add_byte(from, ' ', ' ', to);
}

void JsonValues::add_after_blank(StateId from, char byte, StateId to) {
  const StateId behind = net_.add_state();
  add_blank(from, behind);
  net_.add_byte(behind, static_cast<uint8_t>(byte), static_cast<uint8_t>(byte), to);
}

void JsonValues::add_before_blank(StateId from, char byte, StateId to) {
  const StateId behind = net_.add_state();
  net_.add_byte(from, static_cast<uint8_t>(byte), static_cast<uint8_t>(byte), behind);
  add_blank(behind, to);
}

// A value is one rule for the whole net. It calls itself through objects and arrays.
void JsonValues::add_any(StateId from, StateId to) {
  net_.add_call(from,
                rule(value_, "value",
                     [this](StateId begin, StateId end) {
                       add_any_object(begin, end);
                       add_any_array(begin, end);
                       strings_.add_any(begin, end);
                       add_any_number(begin, false, end);
                       for (const char* word : {"true", "false", "null"}) net_.add_text(begin, word, end);
                     }),
                to);
}

// The members of any object come in any order and number. The state `key` is entered behind { and behind each comma.
void JsonValues::add_any_object(StateId from, StateId to) {
  net_.add_call(from,
                rule(object_, "object",
                     [this](StateId begin, StateId end) {
                       const StateId open = net_.add_state(), key = net_.add_state(), colon = net_.add_state(),
                                     value = net_.add_state(), behind = net_.add_state();
                       add_before_blank(begin, '{', open);
                       add_after_blank(open, '}', end);
                       net_.add_nothing(open, key);
                       strings_.add_any(key, colon);
                       add_before_blank(colon, ':', value);
                       add_any(value, behind);
                       add_before_blank(behind, ',', key);
                       add_after_blank(behind, '}', end);
                     }),
                to);
}

// An array is [ and ], with items and commas between them.
void JsonValues::add_any_array(StateId from, StateId to) {
  net_.add_call(from,
                rule(array_, "array",
                     [this](StateId begin, StateId end) {
                       const StateId open = net_.add_state(), item = net_.add_state(), behind = net_.add_state();
                       add_before_blank(begin, '[', open);
                       add_after_blank(open, ']', end);
                       net_.add_nothing(open, item);
                       add_any(item, behind);
                       add_before_blank(behind, ',', item);
                       add_after_blank(behind, ']', end);
                     }),
                to);
}

void JsonValues::add_any_number(StateId from, bool is_integer, StateId to) {
  net_.add_call(from,
                rule(is_integer ? integer_ : number_, is_integer ? "integer" : "number",
                     [&](StateId begin, StateId end) { add_number(net_, begin, {}, is_integer, end); }),
                to);
}

// Adds exactly this value, with blanks allowed where JSON allows them. `const` and `enum` use it. A text is accepted
// in its usual spelling.
void JsonValues::add_value(StateId from, const Json& value, StateId to) {
  if (value.is_string()) return strings_.add_text(from, value.get_ref<const std::string&>(), to);
  if (!value.is_structured()) return net_.add_text(from, value.dump(), to);
  const bool is_object = value.is_object();
  const char close = is_object ? '}' : ']';
  StateId state = net_.add_state();
  add_before_blank(from, is_object ? '{' : '[', state);
  bool is_first = true;
  for (const auto& [key, part] : value.items()) {
    if (!is_first) {
      const StateId behind_comma = net_.add_state();
      add_before_blank(state, ',', behind_comma);
      state = behind_comma;
    }
    is_first = false;
    if (is_object) {
      const StateId colon = net_.add_state(), behind_colon = net_.add_state();
      strings_.add_text(state, key, colon);
      add_before_blank(colon, ':', behind_colon);
      state = behind_colon;
    }
    const StateId behind = net_.add_state();
    add_value(state, part, behind);
    state = behind;
  }
  add_after_blank(state, close, to);
}

}  // namespace tandem::constraint
