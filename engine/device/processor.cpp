#include "engine/device/processor.h"

namespace tandem {
namespace {

ProcessorTraits find_traits() {
#if defined(__x86_64__)
  // All traits were measured on Zen 4. The first two count for all processors of AMD, and the last one for the family
  // of Zen 3 and 4: a Zen 5 has pipes that are twice as wide.
  const bool amd = __builtin_cpu_is("amd") != 0, joins = __builtin_cpu_is("amdfam19h") != 0;
  return {amd, amd, joins};
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
