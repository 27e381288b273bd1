// Growth of long vectors by a quarter, where the bytes for each token count. A vector that grows by itself doubles.
#pragma once

#include <vector>

namespace tandem {

template <typename T>
void push_back_tightly(std::vector<T>& values, const T& value) {
  if (values.size() == values.capacity()) values.reserve(values.size() + values.size() / 4 + 64);
  values.push_back(value);
}

}  // namespace tandem
