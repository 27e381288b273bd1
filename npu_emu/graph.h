// The graph compiler: turns a list of matrix products of fixed shape into a graph that the queue can run many times.
//
// Contract
//   Static shapes only. An extent that is not positive or above the sequencer's limit is refused, and so is a graph
//   above the memory limit. The tandem::Error names graph and product. Compiling takes hardly any real time. The time
//   that it would take on the chip is computed and kept in compile_seconds; it grows with the tensors' sizes.
#pragma once

#include <string>
#include <vector>

#include "npu_emu/energy_model.h"
#include "packed/format.h"

namespace tandem::npu_emu {

struct GraphProduct {
  std::string name;
  int64_t tokens = 0, rows = 0, columns = 0;  // S, output rows, K
  PackedFormat format{PackedKind::f16};
  bool act_i8 = false;  // W8A8, or W4A8, depending on the weights' codes

  ProductShape shape() const { return {tokens, columns, rows}; }
  NumberFormat number_format() const {
    if (act_i8) return NumberFormat::int8;
    return format.dense() ? NumberFormat::fp16 : NumberFormat::int4_fp16;
  }
  double weight_bytes() const;
};

struct CompiledGraph {
  std::string name;
  std::vector<GraphProduct> products;
  std::vector<ProductCost> costs;
  double compile_seconds = 0;                 // modelled
  double seconds = 0, joules = 0, bytes = 0;  // modelled, for one run
  int64_t cycles = 0;
};

// The reason why the chip cannot run this product; empty if it can.
std::string refusal(const NpuParams& params, const GraphProduct& product);

CompiledGraph compile(const NpuParams& params, std::string name, std::vector<GraphProduct> products);

}  // namespace tandem::npu_emu
