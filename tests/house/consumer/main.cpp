#include <cstdio>

#include "engine/device/registry.h"
#include "engine/tensor/types.h"

int main() {
  for (const std::string& id : tandem::available_devices()) std::printf("device %s\n", id.c_str());
  std::printf("Q4_0 row of 64: %zu bytes\n", tandem::row_bytes(tandem::StorageType::q4_0, 64));
}
