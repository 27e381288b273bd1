// The text of the Error that a test expects.
#pragma once

#include <functional>
#include <string>

#include "sync/error.h"

namespace tandem::test {

// The text of the Error that `body` throws, or "" if it throws none.
inline std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace tandem::test
