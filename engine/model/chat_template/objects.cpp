// Values that are made of functions: callables and generators.
#include "engine/model/chat_template/objects.h"

namespace tandem::chat {

// A function may keep values, so it counts as one level of nesting above them. The same holds for a generator.
Value function(std::string name, std::function<Value(Maker&, const Arguments&)> call, int nesting) {
  if (nesting >= kMostNesting) fail_too_large("values that are nested too deeply");
  auto made = std::make_shared<Function>();
  made->name = std::move(name);
  made->call = std::move(call);
  made->depth = nesting + 1;
  return std::shared_ptr<Object>(std::move(made));
}

// Generators read generators, so their depth is bounded too.
Value generator(Iterator next, int nesting, const char* type) {
  if (nesting >= kMostNesting) fail_too_large("values that are nested too deeply");
  auto made = std::make_shared<Generator>();
  made->next = std::move(next);
  made->depth = nesting + 1;
  made->name = type;
  return std::shared_ptr<Object>(std::move(made));
}

}  // namespace tandem::chat
