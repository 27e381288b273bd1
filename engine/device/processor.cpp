#include "engine/device/processor.h"

namespace tandem {
namespace {

ProcessorTraits find_traits() {
#if defined(__x86_64__)
  // Both traits were measured on Zen 4 and count for all processors of AMD.
  const bool amd = __builtin_cpu_is("amd") != 0;
  return {amd, amd};
#else
  return {};
#endif
}

}  // namespace

const ProcessorTraits& this_processor() {
  static const ProcessorTraits traits = find_traits();
  return traits;
}

}  // namespace tandem
