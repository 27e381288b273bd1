// What tests ask of code that is to fail: the text it fails with.
#pragma once

#include <functional>
#include <string>

#include "sync/error.h"

namespace tandem::test {

// What the Error says that `body` ends with; nothing: it ends without one.
inline std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace tandem::test
