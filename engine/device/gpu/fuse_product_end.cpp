// A product of few tokens with the bias and the residual addition behind it, in the product's launch.
#include <utility>

#include "engine/device/gpu/fused.h"
#include "engine/device/gpu/product_end.h"

namespace tandem::gpu {
namespace {

// Whether the operator's rows are the whole result of the product.
bool is_result_of(const MatMul& product, const Operand& at, int64_t stride, int64_t S, int64_t width) {
  return at == product.y && stride == product.y_stride && S == product.S && width == product.row_end;
}

bool adds_to(const MatMul& product, const Bias& bias) {
  return bias.rows == 1 && !bias.chosen && is_result_of(product, bias.x, bias.x_stride, bias.S, bias.width);
}

// A group adds its rows while others still read x and write y.
bool adds_to(const MatMul& product, const Add& add) {
  const auto rows = [&](const Operand& at, int64_t width, int64_t stride) {
    return Region{at, product.S, bytes_of_floats(width), bytes_of_floats(stride)};
  };
  const Region sum = rows(add.x, add.width, add.x_stride);
  return is_result_of(product, add.y, add.y_stride, add.S, add.width) &&
         !overlaps(sum, rows(product.x, product.K, product.x_stride)) &&
         !overlaps(sum, rows(product.y, product.row_end, product.y_stride));
}

// The operator at `at`, if it is an Op that adds to the product.
template <typename Op>
const Op* next(const MatMul& product, std::span<const Operator> rest, size_t at) {
  const Op* op = at < rest.size() ? std::get_if<Op>(&rest[at].body) : nullptr;
  return op != nullptr && adds_to(product, *op) ? op : nullptr;
}

}  // namespace

std::optional<LoweredRun> fuse_product_end(std::span<const Operator> rest, const LoweringContext& context) {
  const auto* product = std::get_if<MatMul>(&rest.front().body);
  if (product == nullptr || !product->y || product->row_begin != 0 || product->row_end != product->w.rows)
    return std::nullopt;
  ProductEnd end;
  size_t count = 1;
  if (const Bias* bias = next<Bias>(*product, rest, count)) {
    end.bias = bias->bias;
    ++count;
  }
  if (const Add* add = next<Add>(*product, rest, count)) {
    end.sum = add->x, end.sum_stride = add->x_stride;
    ++count;
  }
  if (count == 1) return std::nullopt;
  LoweredRun run{0, count, lower(rest.front(), context)};
  // A product that was cut has several ends.
  const size_t launches = product->act_i8 ? 2 : 1;
  if (run.launches.size() != launches || !takes_end(*product, run.launches.back(), context)) return std::nullopt;
  set_end(end, run.launches.back());
  return run;
}

}  // namespace tandem::gpu
