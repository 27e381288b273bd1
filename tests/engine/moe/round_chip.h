// A chip with round numbers, so that times can be worked out by hand. An expert has 6 bytes, and a row takes 6
// operations. On the NPU the weights take 2 s, and a row and a launch 1 s each. On the CPU weights and rows take 2
// s each.
#pragma once

#include "engine/moe/chip_experts.h"

namespace tandem::testing {

inline constexpr ExpertSize kRoundExpert{1, 1};

inline ChipExperts round_chip() {
  ChipExperts chip;
  chip.launch_seconds = chip.launch_joules = 1;
  chip.weight_bytes_per_second = 3;
  chip.weight_byte_joules = chip.flop_joules = 1;
  chip.flops = 6;
  chip.cpu_flops = 3;
  return chip;
}

}  // namespace tandem::testing
