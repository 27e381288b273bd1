// Takes the arguments of a filter, test, method or function: by place or by name.
//
// Contract: Fault for unknown names, missing arguments and too many. Refers to the arguments, which must outlive it.
#pragma once

#include <initializer_list>

#include "engine/model/chat_template/value.h"

namespace tandem::chat {

class Taken {
 public:
  // names: of all parameters in their order; the first `required` of them must be given. An empty name
  // takes no keyword.
  Taken(const Arguments& arguments, std::string of, std::initializer_list<const char*> names, size_t required = 0);

  bool has(size_t place) const { return values_[place] != nullptr; }
  const Value& at(size_t place) const { return *values_[place]; }  // must be given
  Value or_none(size_t place) const { return has(place) ? at(place) : Value(); }
  bool is_none(size_t place) const { return !has(place) || at(place).is_none(); }
  // These are a Fault for a value of another type. `otherwise` if nothing was given.
  int64_t whole(size_t place, int64_t otherwise = 0) const;
  const String& string(size_t place) const;
  bool truth(size_t place, bool otherwise) const;
  [[noreturn]] void refuse(size_t place, const char* wanted) const;

 private:
  std::string of_;  // "the filter `join`", for errors
  std::vector<const Value*> values_;
};

}  // namespace tandem::chat
