#include "engine/device/gpu/product_end.h"

#include "engine/device/gpu/lower_support.h"
#include "engine/device/gpu/row_pieces.h"

namespace tandem::gpu {
namespace {

constexpr size_t kArguments = 3;  // bias, `beside` and its stride, which are the kernel's last ones

}  // namespace

bool takes_end(const MatMul& op, const KernelLaunch& launch, const LoweringContext& context) {
  return in_row_pieces(op.w, context) && launch.kernel.starts_with("matmul_small_batch");
}

void add_no_end(const MatMul& op, KernelLaunch& launch) {
  launch.args.insert(launch.args.end(), {BufferArg{op.w.data}, BufferArg{op.y, true}, int32_t{0}});
}

void set_end(const ProductEnd& end, KernelLaunch& launch) {
  Arg* args = &launch.args[launch.args.size() - kArguments];
  if (end.bias) {
    args[0] = BufferArg{end.bias};
    launch.options += " -DHAS_BIAS=1";
  }
  if (end.add != nullptr) {
    args[1] = BufferArg{end.add->x, true}, args[2] = narrow(end.add->x_stride);
    launch.options += " -DHAS_RESIDUAL=1";
  }
  if (end.unit != nullptr) {
    args[1] = BufferArg{end.unit->y, true}, args[2] = narrow(end.unit->y_stride);
    launch.options += " -DHAS_UNIT=1 " + unit_options(*end.unit);
  }
}

}  // namespace tandem::gpu
