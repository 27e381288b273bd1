// A product of few tokens with what follows it, in the product's launch: a bias, and then the residual addition or a
// feed-forward unit.
#include <utility>

#include "engine/device/gpu/fused.h"
#include "engine/device/gpu/lower_support.h"
#include "engine/device/gpu/product_end.h"
#include "engine/device/gpu/product_kernels.h"

namespace tandem::gpu {
namespace {

// Whether the operator's rows are the whole result of the product.
bool is_result_of(const MatMul& product, const Operand& at, int64_t stride, int64_t S, int64_t width) {
  return at == product.y && stride == product.y_stride && S == product.S && width == product.row_end;
}

bool follows(const MatMul& product, const Bias& bias) {
  return bias.rows == 1 && !bias.chosen && is_result_of(product, bias.x, bias.x_stride, bias.S, bias.width);
}

// Whether a group may write rows of `at` while others still read x and write y.
bool is_apart(const MatMul& product, const Operand& at, int64_t width, int64_t stride) {
  const auto rows = [&](const Operand& of, int64_t values, int64_t distance) {
    return Region{of, product.S, bytes_of_floats(values), bytes_of_floats(distance)};
  };
  const Region written = rows(at, width, stride);
  return !overlaps(written, rows(product.x, product.K, product.x_stride)) &&
         !overlaps(written, rows(product.y, product.row_end, product.y_stride));
}

bool follows(const MatMul& product, const Add& add) {
  return is_result_of(product, add.y, add.y_stride, add.S, add.width) &&
         is_apart(product, add.x, add.width, add.x_stride);
}

// Gates and ups lie side by side. A group has four of each, which must not end within a group.
bool follows(const MatMul& product, const Glu& unit) {
  constexpr int64_t kGatesOfGroup = kRowsOfGroup / 2;
  const bool fits = !unit.gated || (unit.I % kGatesOfGroup == 0 && unit.up_stride == product.y_stride &&
                                    unit.up == product.y.advanced(bytes_of_floats(unit.I)));
  return fits && unit.rows == 1 &&
         is_result_of(product, unit.gate, unit.gate_stride, unit.S, unit.gated ? 2 * unit.I : unit.I) &&
         is_apart(product, unit.y, unit.I, unit.y_stride);
}

// The operator at `at`, if it is an Op that follows the product.
template <typename Op>
const Op* next(const MatMul& product, std::span<const Operator> rest, size_t at) {
  const Op* op = at < rest.size() ? std::get_if<Op>(&rest[at].body) : nullptr;
  return op != nullptr && follows(product, *op) ? op : nullptr;
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
  end.add = next<Add>(*product, rest, count);
  end.unit = next<Glu>(*product, rest, count);
  if (end.add != nullptr || end.unit != nullptr) ++count;
  if (count == 1) return std::nullopt;
  LoweredRun run{0, count, lower(rest.front(), context)};
  // A product that was cut has several ends.
  const size_t launches = product->act_i8 ? 2 : 1;
  if (run.launches.size() != launches || !takes_end(*product, run.launches.back(), context)) return std::nullopt;
  set_end(end, run.launches.back());
  return run;
}

}  // namespace tandem::gpu
