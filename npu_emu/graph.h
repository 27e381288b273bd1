// The graph compiler: a list of matrix products of fixed shape becomes something the queue can run again and again.
//
// Contract
//   Static shapes only: an extent that is not positive is refused, so is one above the sequencer's limit and a graph
//   above the memory limit, with a tandem::Error naming graph and product. Compiling takes no real time worth speaking
//   of; what it would take on the chip is computed and kept in compile_seconds (it grows with the tensors' sizes).
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
  bool act_i8 = false;  // W8A8, or W4A8 by the weights' codes

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
  double seconds = 0, joules = 0, bytes = 0;  // modelled, of one run
  int64_t cycles = 0;
};

// Why the chip cannot take this product; empty when it can.
std::string refusal(const NpuParams& params, const GraphProduct& product);

CompiledGraph compile(const NpuParams& params, std::string name, std::vector<GraphProduct> products);

}  // namespace tandem::npu_emu
