// The loops of products with 8-bit activations, compiled once per instruction set and chosen when the program starts.
//
// Contract
//   Every table computes the bits of packed/act_i8.h. Threads: pure functions over the caller's memory. Arguments are
//   plain pointers. Some files are compiled with instructions that the machine may lack; they must not instantiate
//   inline functions that the linker could share with the rest of the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "packed/act_i8.h"
#include "packed/loops/instruction_set.h"

namespace tandem {

struct ActPanel {
  const PackedFormat* format;  // not a dense one
  const std::byte* panel;
  int64_t tokens, columns;
  int rows;           // 1..64 rows of the panel
  const ActBlock* x;  // [tokens][columns / 32]
  float* y;           // y of the panel's row 0; any alignment
  int64_t y_stride;
  float* sums;  // scratch [2][tokens, 64], 64-byte aligned: sums of a run, and totals
};

struct ActLoops {
  const char* name;    // of the instructions: "amx", "vnni", "avx_vnni", "avx2", "sdot", "plain"
  InstructionSet set;  // the one that these instructions are added to
  void (*quantise)(const float* x, int64_t columns, ActBlock* to);
  void (*multiply_panel)(const ActPanel& args);
  // Measures a core's peak: independent chains of products of 4-bit codes and activations, without the rest of
  // a matmul.
  // products_per_round is the number of multiply-adds in a round. peak() returns the sum of all products, each 3
  // times 2.
  int64_t products_per_round;
  int64_t (*peak)(int64_t rounds);
};

std::span<const ActLoops* const> all_act_loops();  // the tables that this processor can run, best first
const ActLoops& plain_act_loops();                 // runs on any processor

}  // namespace tandem
