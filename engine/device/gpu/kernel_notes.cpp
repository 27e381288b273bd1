#include "engine/device/gpu/kernel_notes.h"

#include "engine/device/gpu/product_kernels.h"
#include "engine/tensor/packed.h"
#include "packed/format.h"

namespace tandem::gpu {
namespace {

std::string how(ByteProducts products) {
  switch (products) {
    case ByteProducts::vpdpbusd:
      return "four products of bytes at once (vpdpbusd)";
    case ByteProducts::vpmaddubsw:
      return "two products of bytes at once (vpmaddubsw)";
    case ByteProducts::plain:
      break;
  }
  return "products of bytes one by one, in plain C";
}

std::string how(PackedDot dot) {
  switch (dot) {
    case PackedDot::extension:
      return "four products of bytes at once (the interface's extension)";
    case PackedDot::dp4a:
      return "four products of bytes at once (dp4a by PTX)";
    case PackedDot::none:
      break;
  }
  return "products of bytes one by one: no instruction for four was proven";
}

bool has_row_pieces(const LoweringContext& context) {
  return context.family == KernelFamily::simt && context.has_row_pieces != nullptr;
}

// Token counts that one kernel takes, ascending.
struct Range {
  const ProductKernel* kernel;
  int64_t first, last;  // kAnyTokens: and more
};
std::vector<Range> ranges_of(ProductShape shape, const LoweringContext& context) {
  std::vector<Range> ranges;
  for (int64_t tokens = 1; tokens <= kSmallBatch + 1; ++tokens) {
    shape.tokens = tokens > kSmallBatch ? kAnyTokens : tokens;
    const ProductKernel* kernel = &product_kernel(shape, context);
    if (ranges.empty() || ranges.back().kernel != kernel) ranges.push_back({kernel, tokens, tokens});
    ranges.back().last = shape.tokens;
  }
  return ranges;
}

std::string to_string(const Range& range) {
  const std::string first = std::to_string(range.first);
  if (range.last == kAnyTokens) return range.first == 1 ? "any number of tokens" : first + " tokens and more";
  return range.first == range.last ? first + (range.first == 1 ? " token" : " tokens")
                                   : first + " to " + std::to_string(range.last) + " tokens";
}

// The kernels of products with weights of 4 bits. Faster ones follow, with what the device lacks for them.
void add_products(bool act_i8, const LoweringContext& context, std::vector<std::string>& notes) {
  const std::string sums = act_i8 ? "8-bit activations, " : "exact sums, ";
  const ProductShape shape{
      .format = packed_format(StorageType::q4_0), .act_i8 = act_i8, .row_pieces = has_row_pieces(context)};
  for (const Range& range : ranges_of(shape, context)) {
    notes.push_back(sums + to_string(range) + ": " + range.kernel->name);
    ProductShape least = shape;
    least.tokens = range.first;
    for (const ProductKernel* faster = product_kernels().data(); faster != range.kernel; ++faster) {
      const char* lacks = faster->is_for(least, context) ? faster->lacks(least, context) : "";
      if (*lacks != '\0') notes.push_back("no " + std::string(faster->name) + ": the device lacks " + lacks);
    }
  }
}

std::string weights_note(const LoweringContext& context) {
  if (has_row_pieces(context)) return "weights in pieces of rows, rearranged behind their upload";
  const std::string panels = "weights in panels of " + std::to_string(kPanelRows) + " rows";
  return panels + (context.family == KernelFamily::simt ? ", shared with the host" : ", with vectors of 16");
}

}  // namespace

std::vector<std::string> kernel_notes(const LoweringContext& context) {
  std::vector<std::string> notes = {weights_note(context)};
  add_products(false, context, notes);
  add_products(true, context, notes);
  // simd kernels of OpenCL have instructions of the processor; all others have those of their interface.
  const bool is_simd = context.family == KernelFamily::simd && !context.shaders;
  notes.push_back("8-bit activations: " + (is_simd ? how(context.byte_products) : how(context.packed_dot)));
  if (context.listed_tokens == 1) notes.emplace_back("a pass of one token is one launch");
  if (context.listed_tokens > 1)
    notes.push_back("passes of 1 to " + std::to_string(context.listed_tokens) + " tokens are one launch");
  return notes;
}

}  // namespace tandem::gpu
