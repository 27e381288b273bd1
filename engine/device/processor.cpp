#include "engine/device/processor.h"

#include "packed/loops/zen.h"

namespace tandem {
namespace {

ProcessorTraits find_traits() {
#if defined(__x86_64__)
  // Measured on Zen 4; the first two count for all processors of AMD.
  const bool amd = __builtin_cpu_is("amd") != 0;
  return {amd, amd, joins_cost_products()};
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
