// Handles of the C interface: numbers that stand for objects and are never given twice.
//
// A freed handle is therefore known as freed for ever, whatever was made since.
// Contract: thread-safe. get() shares the object, so that another thread may free its handle meanwhile. UsageError
// names a handle that is null, freed, or of another kind.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "bindings/failure.h"

namespace tandem::bindings {

template <typename Object>
class Handles {
 public:
  explicit Handles(const char* kind) : kind_(kind) {}

  // A number that no other table gives.
  uintptr_t add(std::shared_ptr<Object> object);
  std::shared_ptr<Object> get(uintptr_t handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) refuse(handle);
    return found->second;
  }
  std::shared_ptr<Object> remove(uintptr_t handle) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) refuse(handle);
    std::shared_ptr<Object> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

 private:
  [[noreturn]] void refuse(uintptr_t handle) const;
  const std::string kind_;
  mutable std::mutex mutex_;
  std::unordered_map<uintptr_t, std::shared_ptr<Object>> objects_;
};

// Numbers of handles are multiples of this, so that they look like aligned pointers.
inline constexpr uintptr_t kHandleStep = 64;
uintptr_t next_handle();           // of any kind
bool was_given(uintptr_t handle);  // some time ago, to an object of any kind

template <typename Object>
uintptr_t Handles<Object>::add(std::shared_ptr<Object> object) {
  const uintptr_t handle = next_handle();
  const std::lock_guard lock(mutex_);
  objects_.emplace(handle, std::move(object));
  return handle;
}

template <typename Object>
void Handles<Object>::refuse(uintptr_t handle) const {
  if (handle == 0) throw UsageError("the handle is null", kind_, "Make one first");
  if (was_given(handle))
    throw UsageError("the handle was freed, or is of another kind", kind_, "Use handles that live");
  throw UsageError("this is no handle", kind_, "Use what the library handed out");
}

}  // namespace tandem::bindings
