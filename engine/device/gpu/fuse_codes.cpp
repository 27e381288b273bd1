// Rows and their 8-bit codes in one launch, where products of these rows follow. The norm before the products makes
// their codes, or the merge of an attention.
#include <utility>

#include "engine/device/gpu/fused.h"
#include "engine/device/gpu/lower_support.h"
#include "packed/act_i8.h"

namespace tandem::gpu {
namespace {

// The rows that the operator writes, if one of its kernels can make their codes.
struct Rows {
  Operand at;
  int64_t S = 0, width = 0, stride = 0;
};

std::optional<Rows> coded_rows(const Operator& op) {
  if (const auto* norm = std::get_if<RmsNorm>(&op.body); norm != nullptr && norm->groups == 1)
    return Rows{norm->y, norm->S, norm->width, norm->y_stride};
  if (const auto* attention = std::get_if<Attention>(&op.body)) {
    const int64_t width = attention->cache.head_dim_v;  // a group has one head
    if (width % kActGroup == 0) return Rows{attention->y, attention->S, attention->heads * width, attention->y_stride};
  }
  return std::nullopt;
}

// Whether the product needs codes of exactly these rows.
bool needs_codes_of(const Rows& rows, const MatMul& product) {
  return product.act_i8 && rows.at && product.x == rows.at && product.S == rows.S && product.K == rows.width &&
         product.x_stride == rows.stride;
}

// Whether a product is two launches, of which the first one makes its codes. A product that was cut has more.
bool begins_with_codes(const std::vector<KernelLaunch>& launches) {
  return launches.size() == 2 && launches.front().kernel.starts_with("act_i8");
}

// The kernels with another form that also makes codes, and what selects it besides its name in kernels/.
struct Maker {
  const char *stem, *option;
};
constexpr Maker kMakers[] = {{"rms_norm", " -DCODES=1"}, {"attention_merge", ""}};

// Turns the launch into that of the other form. False: its kernel has none.
bool make_codes_too(const BufferArg& codes, const LoweringContext& context, KernelLaunch& launch) {
  for (const auto& [stem, option] : kMakers) {
    if (launch.kernel != in_family(stem, context.family)) continue;
    launch.kernel = in_family(std::string(stem) + "_codes", context.family);
    if (!context.shaders) launch.options += option;
    launch.args.emplace_back(codes);
    return true;
  }
  return false;
}

}  // namespace

// Several products may follow that multiply the same rows, each fused with what follows it. The first one's codes serve
// them all.
std::optional<LoweredRun> fuse_codes(std::span<const Operator> rest, const LoweringContext& context) {
  const auto rows = coded_rows(rest.front());
  if (!rows) return std::nullopt;
  LoweredRun run{0, 1, {}};
  while (run.end < rest.size()) {
    const auto* product = std::get_if<MatMul>(&rest[run.end].body);
    if (product == nullptr || !needs_codes_of(*rows, *product)) break;
    LoweredRun next = lower_first(rest.subspan(run.end), context);
    if (!begins_with_codes(next.launches)) break;
    if (run.launches.empty()) {
      run.launches = lower(rest.front(), context);
      const auto& codes = std::get<BufferArg>(next.launches.front().args[1]);
      if (run.launches.empty() || !make_codes_too(codes, context, run.launches.back())) return std::nullopt;
    }
    run.launches.push_back(std::move(next.launches.back()));
    run.launches.back().op = run.end;
    run.end += next.end;
  }
  if (run.launches.empty()) return std::nullopt;
  return run;
}

}  // namespace tandem::gpu
