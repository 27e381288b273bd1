// A place in a slot of the shared pool that an operator reads or writes. A plain value; borrows the slot.
#pragma once

#include <cstddef>

#include "sync/pool.h"

namespace tandem {

struct Operand {
  const sync::Slot* slot = nullptr;  // nullptr: absent, or a shape-only model
  size_t offset_bytes = 0;

  explicit operator bool() const { return slot != nullptr; }
  template <typename T>
  T* as() const {
    return slot->as<T>(offset_bytes);
  }
  Operand advanced(size_t bytes) const { return {slot, offset_bytes + bytes}; }
  bool operator==(const Operand&) const = default;
};

}  // namespace tandem
