#include "engine/device/gpu/scratch.h"

namespace tandem::gpu {

// Asks for twice the needed bytes; a somewhat larger operator then fits too. A slot that is too small is not released,
// because programs that were prepared before use it.
void Scratch::give_to(std::span<KernelLaunch> launches) {
  for (KernelLaunch& launch : launches)
    for (Arg& arg : launch.args) {
      auto* buffer = std::get_if<BufferArg>(&arg);
      if (buffer == nullptr || buffer->own_bytes == 0) continue;
      if (slot_ == nullptr || slot_->size_bytes() < buffer->own_bytes)
        slot_ = &pool_.acquire(2 * buffer->own_bytes, sync::SlotUse::device_local, "codes of activations");
      buffer->at = {slot_, 0};
    }
}

}  // namespace tandem::gpu
