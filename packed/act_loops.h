// The loops of products with 8-bit activations, compiled once per instruction set and chosen when the program starts.
//
// Contract
//   Every table computes the bits of packed/act_i8.h. Threads: pure functions over the caller's memory. Arguments are
//   plain pointers, for files that are compiled with instructions the machine may not have must not instantiate inline
//   functions that the linker could share with the rest of the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "packed/act_i8.h"

namespace tandem {

struct ActPanel {
  const PackedFormat* format;  // no dense one
  const std::byte* panel;
  int64_t tokens, columns;
  int rows;           // 1..64, of the panel
  const ActBlock* x;  // [tokens][columns / 32]
  float* y;           // row 0 of the panel; any alignment
  int64_t y_stride;
  float* sums;  // scratch [tokens, 64], 64-byte aligned
};

struct ActLoops {
  const char* name;  // instruction set
  void (*quantise)(const float* x, int64_t columns, ActBlock* to);
  void (*multiply_panel)(const ActPanel& args);
  // A core's roof: independent chains of products of 4-bit codes and activations, without what a matmul does besides.
  // How many multiply-adds a round is, and the sum of so many rounds of them, each of 3 times 2.
  int64_t products_per_round;
  int64_t (*peak)(int64_t rounds);
};

std::span<const ActLoops* const> all_act_loops();  // those that this processor runs, best first
const ActLoops& best_act_loops();
const ActLoops& plain_act_loops();  // any processor

}  // namespace tandem
