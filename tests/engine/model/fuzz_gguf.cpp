// libFuzzer target: any bytes are a model, a tandem::Error, or a bug.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/engine/model/read_all.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  tandem::testing::read_as_model(std::vector<std::byte>(bytes, bytes + size));
  return 0;
}
