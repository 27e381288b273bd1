// Helpers of all readers of requests. They look members up, and refuse what is missing, unknown or of another type.
// Every refusal names the place, so that a client sees which value to change.
#include "engine/serve/openai/members.h"

#include <algorithm>

namespace tandem::serve {

void refuse(const std::string& place, const std::string& expected) {
  throw Refusal("\"" + place + "\" is expected to be " + expected + ".", place);
}

// Clients write null for a member that they leave out, so both mean the same here.
const OrderedJson* member(const OrderedJson& object, std::string_view name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text_member(const OrderedJson& object, const char* name, const std::string& place) {
  const OrderedJson* text = member(object, name);
  if (!text || !text->is_string()) refuse(place.empty() ? name : place + "." + name, "a text");
  return text->get<std::string>();
}

// A misspelt member would otherwise be ignored in silence, and the answer would lack what the client asked for.
void require_members(const OrderedJson& object, const std::string& place,
                     std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : object.items())
    if (std::ranges::find(known, name) == known.end())
      throw Refusal("The member \"" + place + "." + name + "\" is not known here.", place + "." + name,
                    "unknown_parameter");
}

}  // namespace tandem::serve
