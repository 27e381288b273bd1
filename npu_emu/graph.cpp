#include "npu_emu/graph.h"

#include <utility>

#include "packed/act_i8.h"
#include "sync/error.h"

namespace tandem::npu_emu {

namespace {

// The weights as they are packed, and the activations [S, K] and [S, N] as 4-byte floats.
double tensor_bytes(const GraphProduct& product) {
  return product.weight_bytes() +
         4.0 * static_cast<double>(product.tokens) * static_cast<double>(product.columns + product.rows);
}

}  // namespace

// Weights count with their scales, as panels hold them.
double GraphProduct::weight_bytes() const {
  return static_cast<double>(panel_bytes(format, columns)) * static_cast<double>(panel_count(rows));
}

// N8: a static graph needs known extents, weights in a format that the array decodes, and tensors below the
// compiler's limits.
std::string refusal(const NpuParams& params, const GraphProduct& product) {
  if (product.tokens <= 0 || product.rows <= 0 || product.columns <= 0) {
    return "dynamic shape: the compiler needs every extent (S " + std::to_string(product.tokens) + ", N " +
           std::to_string(product.rows) + ", K " + std::to_string(product.columns) + ")";
  }
  if (const char* reason = misfit(product.format, product.columns)) return reason;
  if (const char* reason = product.act_i8 ? misfit_act_i8(product.format) : nullptr) return reason;
  for (const int64_t extent : {product.tokens, product.rows, product.columns}) {
    if (extent > params.compiler.max_extent) {
      return "an extent of " + std::to_string(extent) + " is above the sequencer's limit of " +
             std::to_string(params.compiler.max_extent);
    }
  }
  if (tensor_bytes(product) > static_cast<double>(params.compiler.max_graph_bytes)) {
    return "its tensors are larger than the limit of " + std::to_string(params.compiler.max_graph_bytes) +
           " bytes of a graph";
  }
  return "";
}

// Checks each product, then adds up the modelled costs of compiling and of one run. A graph above the memory limit is
// refused as a whole, even if each product fits.
CompiledGraph compile(const NpuParams& params, std::string name, std::vector<GraphProduct> products) {
  CompiledGraph graph;
  graph.name = std::move(name);
  graph.compile_seconds = params.compiler.fixed_seconds;
  graph.seconds = params.launch_seconds;
  graph.costs.reserve(products.size());
  double total_bytes = 0;
  for (const GraphProduct& product : products) {
    const std::string reason = refusal(params, product);
    if (!reason.empty()) throw Error("the NPU's compiler refuses a product", graph.name + ": " + product.name, reason);
    total_bytes += tensor_bytes(product);
    const ProductCost cost = product_cost(params, product.shape(), product.number_format(), product.weight_bytes());
    graph.costs.push_back(cost);
    graph.compile_seconds += params.compiler.matmul_seconds + params.compiler.byte_seconds * tensor_bytes(product);
    graph.seconds += cost.seconds;
    graph.joules += cost.joules;
    graph.bytes += cost.dram_bytes;
    graph.cycles += cost.count.cycles;
  }
  if (total_bytes > static_cast<double>(params.compiler.max_graph_bytes)) {
    throw Error("the NPU's compiler refuses a graph", graph.name,
                "its tensors are larger than the limit of " + std::to_string(params.compiler.max_graph_bytes) +
                    " bytes; prepare fewer operators at once");
  }
  graph.products = std::move(products);
  return graph;
}

}  // namespace tandem::npu_emu
