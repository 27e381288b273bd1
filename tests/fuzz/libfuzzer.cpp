// libFuzzer's entry into the one target of this program (TANDEM_FUZZ_TARGET, a function of targets.h).
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tandem::fuzz::TANDEM_FUZZ_TARGET(std::as_bytes(std::span(data, size)));
  return 0;
}
