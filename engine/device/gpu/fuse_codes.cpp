// Rows and their 8-bit codes in one launch, where a product of these rows follows: the norm before it makes its codes.
#include <utility>

#include "engine/device/gpu/fused.h"
#include "engine/device/gpu/lower_support.h"
#include "packed/act_i8.h"

namespace tandem::gpu {
namespace {

// The rows that the operator's last launch writes, if its kernel can make their codes.
struct Rows {
  Operand at;
  int64_t S = 0, width = 0, stride = 0;
};

std::optional<Rows> coded_rows(const Operator& op) {
  if (const auto* norm = std::get_if<RmsNorm>(&op.body); norm != nullptr && norm->groups == 1)
    return Rows{norm->y, norm->S, norm->width, norm->y_stride};
  return std::nullopt;
}

// Whether the first launch of the product's lowering makes codes of exactly these rows.
bool makes_codes_of(const Rows& rows, const MatMul& product, const std::vector<KernelLaunch>& launches) {
  return product.act_i8 && rows.at && product.x == rows.at && product.S == rows.S && product.K == rows.width &&
         product.x_stride == rows.stride && launches.size() == 2 && launches.front().kernel.starts_with("act_i8");
}

// Turns the launch into that of the kernel that makes codes too.
void make_codes_too(const BufferArg& codes, const LoweringContext& context, KernelLaunch& launch) {
  const std::string stem = launch.kernel.substr(0, launch.kernel.rfind('_'));
  launch.kernel = in_family(stem + "_codes", context.family);
  if (!context.shaders) launch.options += " -DCODES=1";
  launch.args.emplace_back(codes);
}

}  // namespace

// The product may be fused with what follows it.
std::optional<LoweredRun> fuse_codes(std::span<const Operator> rest, const LoweringContext& context) {
  const auto rows = coded_rows(rest.front());
  const auto* product = rows && rest.size() > 1 ? std::get_if<MatMul>(&rest[1].body) : nullptr;
  if (product == nullptr || !product->act_i8) return std::nullopt;
  LoweredRun behind = lower_first(rest.subspan(1), context);
  if (!makes_codes_of(*rows, *product, behind.launches)) return std::nullopt;
  LoweredRun run{0, 1 + behind.end, lower(rest.front(), context)};
  make_codes_too(std::get<BufferArg>(behind.launches.front().args[1]), context, run.launches.back());
  run.launches.push_back(std::move(behind.launches.back()));
  run.launches.back().op += 1;
  return run;
}

}  // namespace tandem::gpu
