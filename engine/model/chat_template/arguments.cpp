// The arguments of a function of a template, by name or by place, checked as Python checks them.
#include "engine/model/chat_template/arguments.h"

#include <algorithm>

#include "engine/model/chat_template/comparing.h"

namespace tandem::chat {

// Binds arguments to places as Python does: by place first, then by name. Everything that Python refuses is a Fault
// here, so filters need not check their arguments.
Taken::Taken(const Arguments& arguments, std::string of, std::initializer_list<const char*> names, size_t required)
    : of_(std::move(of)), values_(names.size()) {
  if (arguments.positional.size() > names.size())
    fail(of_ + " takes at most " + std::to_string(names.size()) + " arguments");
  for (size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto at = std::ranges::find(names, name);
    if (at == names.end()) fail_unknown("the argument `" + name + "` of " + of_);
    const Value*& place = values_[static_cast<size_t>(at - names.begin())];
    if (place != nullptr) fail(of_ + " has two values for its argument `" + name + "`");
    place = &value;
  }
  for (size_t i = 0; i < required; ++i)
    if (values_[i] == nullptr) fail(of_ + " needs " + std::to_string(required) + " arguments");
}

void Taken::refuse(size_t place, const char* wanted) const {
  fail(of_ + " needs " + wanted + ", not a " + at(place).type());
}

// Sizes and counts must fit 64 bits, although whole numbers of templates may be larger.
int64_t Taken::whole(size_t place, int64_t otherwise) const {
  if (!has(place)) return otherwise;
  const auto value = at(place).as_whole();
  if (!value) refuse(place, "a whole number");
  if (!value->fits()) fail(of_ + " has a number that is too large");
  return value->small();
}

const String& Taken::string(size_t place) const {
  if (!at(place).string()) refuse(place, "a text");
  return *at(place).string();
}

bool Taken::truth(size_t place, bool otherwise) const { return has(place) ? is_true(at(place)) : otherwise; }

}  // namespace tandem::chat
