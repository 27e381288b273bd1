// The chip's parameters: array, clock, memory, energies, compiler. They are built-in values, or come from a JSON file.
//
// Contract
//   A plain value. load_params() reads a file, parse_params() a text. Both start from the built-in values and replace
//   those that the text names. An unknown key, a wrong type or a value out of range is a tandem::Error. It names file,
//   key and the expected value. docs/npu.md has the schema and the source of each built-in value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "npu_emu/array.h"
#include "npu_emu/number_format.h"

namespace tandem::npu_emu {

inline constexpr int kParamsSchema = 1;

struct EnergyParams {
  // Multiply + add in 45 nm at 0.9 V (Horowitz, ISSCC 2014): f16 multiply 1.1 pJ + f32 add 0.9 pJ; int8 multiply 0.2 pJ
  // + int32 add 0.1 pJ.
  double mac_fp16_joules = 2.0e-12;
  double mac_int8_joules = 0.3e-12;
  // The same as fp16: the code is decoded once a residency, at the tile's edge.
  double mac_int4_fp16_joules = 2.0e-12;
  // An SRAM of 8 KiB takes 10 pJ for 64 bits (same source).
  double sram_byte_joules = 1.25e-12;
  // LPDDR4/5 with its interface takes about 4 pJ a bit (assumption).
  double dram_byte_joules = 32e-12;
  // Leakage and clock tree of a block of some mm^2 (assumption).
  double static_watts = 0.1;

  double mac_joules(NumberFormat format) const;
};

struct CompilerParams {
  // The model of compiling a static graph: a fixed part, a part for each matmul, and a part for each byte of its
  // tensors. The size of these constants is an assumption: mobile NPU tool chains take tens of milliseconds to seconds
  // for a graph. The growth is what counts.
  double fixed_seconds = 5e-3;
  double matmul_seconds = 1e-3;
  double byte_seconds = 1e-9;
  // A larger graph is refused: offsets into the graph's memory have 32 bits.
  int64_t max_graph_bytes = int64_t{2} << 30;
  // A larger extent is refused: the sequencer's counters have 20 bits (assumption).
  int64_t max_extent = int64_t{1} << 20;
};

struct NpuParams {
  std::string name = "tandem-npu";
  ArrayShape array;  // 64 x 64
  Dataflow dataflow = Dataflow::weight_stationary;
  double clock_hz = 1.0e9;                // usual for mobile NPUs; 64 x 64 cells: 8.2 TFLOP/s peak (assumption)
  double memory_bytes_per_second = 42e9;  // one processor of a 68 GB/s LPDDR5 system draws 40-45 GB/s
  double launch_seconds = 10e-6;          // queueing one compiled graph (assumption)
  EnergyParams energy;
  CompilerParams compiler;
};

NpuParams parse_params(std::string_view json, const std::string& source);
NpuParams load_params(const std::string& path);
std::string to_json(const NpuParams& params);  // every key, so that it can be edited and loaded

}  // namespace tandem::npu_emu
