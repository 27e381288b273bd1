// The kernels that multiply with packed weights on GPUs, as a table (product_kernels.cpp).
//
// A row says what a kernel is for, what it needs of a device, how it is cut, and how a launch names it. A product gets
// the first row that takes it and for which the device has what it needs. A new kernel is a row and its source file.
//
// Contract: pure functions and plain values; any thread. Kernels of the same sums compute the same bits
// (docs/numbers.md), so the choice is one of speed alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "engine/device/gpu/lower.h"
#include "packed/format.h"

namespace tandem::gpu {

inline constexpr int64_t kTokensOfTile = 64;  // the largest tile of tokens that a kernel takes
// simt, a small batch, weights in pieces of rows: the rows of a group, which has a work-item for each of their runs.
inline constexpr int64_t kRowsOfGroup = 8;
inline constexpr int64_t kAnyTokens = std::numeric_limits<int32_t>::max();

// The product that a kernel must compute.
struct ProductShape {
  PackedFormat format;
  bool grouped = false;     // a matrix of a stack for each choice (GroupedMatMul)
  bool act_i8 = false;      // 8-bit activations; false: exact sums
  int64_t tokens = 1;       // that one matrix is multiplied with at once; kAnyTokens: more than any small batch
  bool row_pieces = false;  // the weights lie in pieces of rows (row_pieces.h); false: in panels
  // Only choices in lists are multiplied (GroupedMatMul::listed_only), so the kernel must read lists.
  bool listed_only = false;
};

enum class Operators : uint8_t { matmul, grouped_matmul, both };
enum class Interfaces : uint8_t { opencl, vulkan, both };   // whose source lies in kernels/, in shaders/
enum class Sums : uint8_t { exact, act_i8, both };          // the contract of the results
enum class Layouts : uint8_t { panels, row_pieces, both };  // of weights in the device's memory

struct ProductKernel {
  const char* name;  // in words, for people: "groups of 8 rows and 16 runs"

  struct Products {
    KernelFamily family;
    Operators operators;
    Interfaces interfaces;
    Sums sums;
    Layouts layouts;
    int64_t most_tokens = kAnyTokens;
  } products;

  // Says what the device lacks for the kernel. nullptr: nothing. "": the kernel does not suit the format, or only tests
  // give a device what it needs. Kernels that every device computes have no function.
  const char* (*lacks)(const ProductShape&, const LoweringContext&);

  // Of one work-group. 0 tokens: all of them, in registers or one tile after the other.
  struct Cut {
    int64_t rows, tokens = 0;
    std::array<size_t, 2> group{1, 1};  // work-items
  } cut;

  // small_batch: the number of tokens is a constant of the kernel. gemm: it is an argument.
  enum class Form : uint8_t { small_batch, gemm };
  struct Named {
    Form form;                // and the function: "matmul_small_batch", "grouped_gemm"
    const char* option = "";  // a build option
    const char* suffix = "";  // of the function's name in shaders/, which then takes the option's place
    bool names_tile = false;  // an option names the tokens of a tile, for products of fewer tokens than cut.tokens
    // Whether shaders/ has a variant "_dot", which adds four products of bytes at once. Only kernels of codes have one.
    bool has_dot = true;
  } named;

  bool is_small_batch() const { return named.form == Form::small_batch; }
  // Whether it is for such a product on such a device, whatever it needs.
  bool is_for(const ProductShape& shape, const LoweringContext& context) const;
};

std::span<const ProductKernel> product_kernels();

// The row that computes a product of this shape.
const ProductKernel& product_kernel(const ProductShape& shape, const LoweringContext& context);

// A launch of that kernel for `rows` rows, without arguments: its source, function, build options, work-group and grid.
// Dimension 0 of the grid takes the rows. Dimension 1 is one group; the caller multiplies it.
KernelLaunch product_launch(const ProductKernel& kernel, const ProductShape& shape, int64_t rows,
                            const LoweringContext& context);

}  // namespace tandem::gpu
