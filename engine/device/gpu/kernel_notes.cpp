#include "engine/device/gpu/kernel_notes.h"

#include "engine/device/gpu/lower_support.h"
#include "engine/device/gpu/row_pieces.h"

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

std::string how(MatrixUnits units) {
  switch (units) {
    case MatrixUnits::ptx:
      return "matrix units (mma m16n8k32 by PTX)";
    case MatrixUnits::emulated:
      return "matrix units, emulated for tests";
    case MatrixUnits::none:
      break;
  }
  return "no matrix units: no kernel knows any of this device, or they were not proven";
}

std::vector<std::string> of_vectors(const LoweringContext& context) {
  std::vector<std::string> notes = {"weights in panels of " + std::to_string(kPanelRows) + " rows, with vectors of 16"};
  // Shaders have no instructions of their own for bytes, but the extension.
  notes.push_back("8-bit activations: " + (context.shaders ? how(context.packed_dot) : how(context.byte_products)));
  if (context.listed_tokens == 1) notes.emplace_back("a pass of one token is one launch");
  if (context.listed_tokens > 1)
    notes.push_back("passes of 1 to " + std::to_string(context.listed_tokens) + " tokens are one launch");
  return notes;
}

std::vector<std::string> of_threads(const LoweringContext& context) {
  const bool pieces = context.has_row_pieces != nullptr;
  const std::string few = "products of 1 to " + std::to_string(kSmallBatch) + " tokens: ";
  return {pieces ? "weights in pieces of rows, rearranged behind their upload"
                 : "weights in panels of " + std::to_string(kPanelRows) + " rows, shared with the host",
          few + "work-groups of " + std::to_string(pieces ? kRowsOfGroup : kPanelRows) + " rows",
          "products of more tokens: tiles of " + std::to_string(kPanelRows) + " rows and " +
              std::to_string(kTokensOfTile) + " tokens",
          "8-bit activations: " + how(context.packed_dot),
          "8-bit activations of many tokens: " + how(context.matrix_units)};
}

}  // namespace

std::vector<std::string> kernel_notes(const LoweringContext& context) {
  return context.family == KernelFamily::simt ? of_threads(context) : of_vectors(context);
}

}  // namespace tandem::gpu
