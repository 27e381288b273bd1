// A chip with round numbers, on which times can be worked out by hand: of an expert of 6 bytes and 6 operations a row
// the weights take 2 s on the NPU, a row and a launch 1 s each, and on the CPU weights and rows 2 s each.
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
