#include "engine/tensor/packed.h"

#include "sync/error.h"

namespace tandem {

PackedFormat packed_format(StorageType type) {
  using enum StorageType;
  constexpr auto half = ScaleKind::half, super = ScaleKind::super;
  switch (type) {
    case f32:
      return {PackedKind::f32};
    case f16:
      return {PackedKind::f16};
    case bf16:
      return {PackedKind::bf16};
    case q4_0:
      return {PackedKind::i4, half, MinKind::zero_point, 32, 8};
    case q4_1:
      return {PackedKind::i4, half, MinKind::explicit_, 32, 0};
    case q4_k:
      return {PackedKind::i4, super, MinKind::explicit_, 32, 0};
    case q2_k:
      return {PackedKind::i4, super, MinKind::explicit_, 16, 0};
    case q3_k:
      return {PackedKind::i4, super, MinKind::zero_point, 16, 4};
    case q8_0:
    case q5_0:
    case iq4_nl:
      return {PackedKind::i8, half, MinKind::none, 32, 0};
    case q5_1:
      return {PackedKind::i8, half, MinKind::explicit_, 32, 0};
    case q5_k:
      return {PackedKind::i8, super, MinKind::explicit_, 32, 0};
    case q6_k:
      return {PackedKind::i8, super, MinKind::none, 16, 0};
    case iq4_xs:
      return {PackedKind::i8, super, MinKind::none, 32, 0};
  }
  throw Error("unknown storage type", "type number " + std::to_string(static_cast<uint32_t>(type)));
}

}  // namespace tandem
