#include "engine/device/gpu/product_end.h"

#include "engine/device/gpu/lower_support.h"
#include "engine/device/gpu/row_pieces.h"

namespace tandem::gpu {
namespace {

constexpr size_t kArguments = 3;  // bias, sum and its stride, which are the kernel's last ones

}  // namespace

bool takes_end(const MatMul& op, const KernelLaunch& launch, const LoweringContext& context) {
  return in_row_pieces(op.w, context) && launch.kernel.starts_with("matmul_small_batch");
}

void add_no_end(KernelLaunch& launch) { launch.args.insert(launch.args.end(), {BufferArg{}, BufferArg{}, int32_t{0}}); }

void set_end(const ProductEnd& end, KernelLaunch& launch) {
  Arg* args = &launch.args[launch.args.size() - kArguments];
  args[0] = BufferArg{end.bias};
  args[1] = BufferArg{end.sum, static_cast<bool>(end.sum)};
  args[2] = narrow(end.sum_stride);
  if (end.bias) launch.options += " -DHAS_BIAS=1";
  if (end.sum) launch.options += " -DHAS_RESIDUAL=1";
}

}  // namespace tandem::gpu
