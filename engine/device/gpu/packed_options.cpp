#include "engine/device/gpu/packed_options.h"

namespace tandem::gpu {

std::string packed_options(const PackedFormat& format) {
  if (format.dense()) {
    const int element = format.kind == PackedKind::f32 ? 0 : format.kind == PackedKind::f16 ? 1 : 2;
    return "-DELEMENT=" + std::to_string(element);
  }
  const int min = format.min == MinKind::none ? 0 : format.min == MinKind::zero_point ? 1 : 2;
  return "-DGROUP=" + std::to_string(format.group) + " -DSUPER=" + (format.scale == ScaleKind::super ? "1" : "0") +
         " -DMIN_KIND=" + std::to_string(min) + " -DZERO_POINT=" + std::to_string(format.zero_point);
}

}  // namespace tandem::gpu
