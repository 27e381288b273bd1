// One operator with inputs, expected precision and work. The conformance suite runs it on every device, and bench
// measures it.
//
// Contract: a case builds itself into pool slots, and its seed makes the bytes the same every time. Every operand has a
// slot of its own, which is filled with NaN words before the inputs are written. Its offset in the slot is only 4-byte
// aligned where the rules allow it.
#pragma once

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "engine/device/operator.h"
#include "sync/pool.h"

namespace tandem::testing {

inline constexpr double kEpsilon = 0x1p-24;  // half an ulp of f32 at 1: the relative error of one rounding
inline constexpr double kHalfStep =
    0x1p-10;  // one ulp of f16 at 1: two f32 values on both sides of a tie round one step apart

// The memory of one built case.
class CaseMemory {
 public:
  explicit CaseMemory(sync::Pool& pool) : pool_(pool) {}

  // Takes `bytes` bytes in a slot of their own. aligned: at a multiple of 64, as weights and caches need.
  Operand take(size_t bytes, sync::SlotUse use, bool aligned, const std::string& label);
  Operand floats(const std::vector<float>& values, const std::string& label);
  Operand ids(const std::vector<int32_t>& values, const std::string& label);
  // [rows, width] with `stride` elements from row to row. The gaps keep their fill.
  Operand matrix(const std::vector<float>& values, int64_t width, int64_t stride, const std::string& label);
  Operand empty_matrix(int64_t rows, int64_t width, int64_t stride, const std::string& label);

  const std::vector<sync::Slot*>& slots() const { return slots_; }

 private:
  sync::Pool& pool_;
  std::vector<sync::Slot*> slots_;
};

enum class ElementType { f32, i32, bytes };

// A result of the operator: [rows, width] elements. Bytes and integers are compared exactly.
struct Output {
  std::string name;
  Operand at;
  int64_t rows = 0, width = 0, stride = 0;
  ElementType type = ElementType::f32;
  // The largest |difference| from the reference that (row, column) may have. `expected` is the reference's value. With
  // f16_operands the device rounds weights to f16.
  std::function<double(int64_t row, int64_t column, double expected, bool f16_operands)> tolerance;
};

struct BuiltCase {
  Operator op;
  std::vector<Output> outputs;
};

struct OpCase {
  std::string name;  // "matmul Q4_1 S=7 N=65 K=96"
  std::function<BuiltCase(CaseMemory& memory)> build;
  bool f16_exact = true;  // inputs and weights fit the 16-bit operands of an NPU
};

// One storage type for each of the 20 packed formats.
inline constexpr StorageType kTypeOfEachFormat[] = {
    StorageType::q4_0,    StorageType::q4_1,  StorageType::q4_k,  StorageType::q2_k,  StorageType::q3_k,
    StorageType::q8_0,    StorageType::q5_1,  StorageType::q5_k,  StorageType::q6_k,  StorageType::iq3_s,
    StorageType::iq3_xxs, StorageType::iq2_s, StorageType::nvfp4, StorageType::mxfp4, StorageType::iq4_nl,
    StorageType::iq4_xs,  StorageType::tq2_0, StorageType::f16,   StorageType::bf16,  StorageType::f32};

// One format for each kind of codes, and a dense one.
inline bool is_typical(StorageType type) {
  return type == StorageType::q4_1 || type == StorageType::q6_k || type == StorageType::f16;
}

// The tolerance of results that must be equal to the bit.
double exact(int64_t row, int64_t column, double expected, bool f16_operands);
// A part of a case's name: " S=7".
std::string size_text(const char* name, int64_t value);

std::vector<OpCase> matmul_cases();
std::vector<OpCase> act_i8_cases();  // matmuls with 8-bit activations
std::vector<OpCase> embed_cases();
std::vector<OpCase> norm_cases();
std::vector<OpCase> rope_cases();
std::vector<OpCase> kv_append_cases();
std::vector<OpCase> attention_cases();
// Pairs of cases: a batch with trees of drafts, and the same batch with each token of a tree in a sequence of its own.
std::vector<std::pair<OpCase, OpCase>> attention_cases_of_trees();
std::vector<OpCase> elementwise_cases();  // gated units, add, bias, scale
std::vector<OpCase> softmax_cases();
std::vector<OpCase> selection_cases();  // argmax, top-k
std::vector<OpCase> routing_cases();    // routes, lists of experts
std::vector<OpCase> grouped_matmul_cases();
std::vector<OpCase> wave_cases();    // products of the choices of one wave of experts that move
std::vector<OpCase> expert_cases();  // sums of experts, copies, gated units of several rows
// Experts' rows in static graphs: assigning, gathering and summing them. Only the host beside an NPU needs these
// operators. So the cases are not in all_cases(), which every GPU runs.
std::vector<OpCase> expert_row_cases();
std::vector<OpCase> all_cases();

// Bounds that are computed when a test first uses one. Comparisons of bits never use them.
std::function<const std::vector<double>&()> when_asked(std::function<std::vector<double>()> compute);

// `count` values spread over [-magnitude, magnitude]. f16: rounded to f16, as --act f16 rounds the inputs of a matmul.
std::vector<float> random_floats(std::mt19937& random, int64_t count, float magnitude, bool f16 = false);
// act_i8_magnitudes: |code * scale| + |minimum| of row n's weights. act_i8_magnitude: the sum of their products with
// the largest values that the 8-bit codes of x can stand for. |x| is at most 2.
std::vector<double> act_i8_magnitudes(const PackedMatrix& w, int64_t n);
double act_i8_magnitude(const std::vector<double>& row, const float* x);
// Random packed blocks. A process makes them once, so every device multiplies the same ones.
const std::vector<std::byte>& random_packed(StorageType type, int64_t rows, int64_t columns, uint32_t seed);
// A packed matrix of such blocks in a weights slot.
PackedMatrix random_weights(CaseMemory& memory, StorageType type, int64_t rows, int64_t columns, uint32_t seed);

}  // namespace tandem::testing
