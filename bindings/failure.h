// Kinds of errors that users of a binding tell apart. Each is an Error with its three parts.
#pragma once

#include "tandem/error.h"

namespace tandem::bindings {

// The call itself is wrong: an argument, the order of calls, a handle that was freed.
class UsageError : public Error {
 public:
  using Error::Error;
};
// A file cannot be read, is no model, or is damaged.
class FileError : public Error {
 public:
  using Error::Error;
};
// A device is unknown, missing, or cannot be opened.
class DeviceError : public Error {
 public:
  using Error::Error;
};
// Tokens do not fit the context.
class ContextError : public Error {
 public:
  using Error::Error;
};

// Errors of `work` become errors of a kind that users tell apart.
template <typename Kind, typename Work>
auto as_kind(const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Kind(error.failure(), error.object(), error.hint());
  }
}

}  // namespace tandem::bindings
