#include "engine/device/npu/npu_program.h"

#include <functional>

#include "engine/device/npu/npu_support.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {

namespace {

// The call of the emulator for a matmul, with the addresses of its operands. A slot's memory stays where it is, so the
// addresses hold for every run.
npu_emu::MatmulCall bind(const Operator& op, const MatMul& matmul) {
  if (!matmul.w.data || !matmul.x || !matmul.y) {
    throw Error("an operand has no memory", op.name, "a shape-only model can be planned but not run");
  }
  npu_emu::MatmulCall call;
  call.tokens = matmul.S;
  call.columns = matmul.K;
  call.row_begin = matmul.row_begin;
  call.row_end = matmul.row_end;
  call.format = matmul.w.format;
  call.panels = matmul.w.data.as<const std::byte>();
  call.x = matmul.x.as<const float>();
  call.x_stride = matmul.x_stride;
  call.y = matmul.y.as<float>();
  call.y_stride = matmul.y_stride;
  call.act_i8 = matmul.act_i8;
  return call;
}

// Whether the step can use the activations of the step before it, which are then laid out only once. Queries, keys and
// values read the same input, and so do gate and up. The earlier product must not have written into it.
bool same_activations(const npu_emu::MatmulCall& before, const npu_emu::MatmulCall& now) {
  if (before.x != now.x || before.x_stride != now.x_stride || before.tokens != now.tokens ||
      before.columns != now.columns || before.act_i8 != now.act_i8)
    return false;
  // Both ranges end with the last token: x with its last column, and y with the last row of the slice. std::less_equal
  // also orders pointers into different arrays.
  const float* x_end = now.x + (now.tokens - 1) * now.x_stride + now.columns;
  const float* y_end = before.y + (before.tokens - 1) * before.y_stride + before.row_end;
  const std::less_equal<const float*> up_to;
  return up_to(x_end, before.y + before.row_begin) || up_to(y_end, now.x);
}

}  // namespace

// Binds every matmul to its memory, and compiles all of them into one graph with the name of the first.
NpuProgram::NpuProgram(const npu_emu::NpuParams& params, std::span<const Operator> operators, NpuArray& array)
    : array_(array) {
  std::vector<npu_emu::GraphProduct> products;
  products.reserve(operators.size()), steps_.reserve(operators.size());
  for (const Operator& op : operators) {
    const MatMul& matmul = std::get<MatMul>(op.body);
    products.push_back(graph_product(op.name, matmul));
    Step step{bind(op, matmul)};
    if (!steps_.empty()) {
      const npu_emu::MatmulCall& before = steps_.back().call;
      step.same_activations = same_activations(before, step.call) && matmul_.same_layout(before, step.call);
    }
    steps_.push_back(step);
  }
  if (products.empty()) throw Error("an NPU program has no operators", "npu", "prepare at least one matmul");
  const std::string name = products.front().name;
  graph_ = npu_emu::compile(params, name, std::move(products));
}

// Lays out the activations when they are new. Then every thread of the team multiplies its part of the rows.
void NpuProgram::run(const std::function<void()>& ended) {
  const int parts = array_.team.size();
  // The parts of a product run at the same time, so each part has its own sums.
  array_.sums.resize(static_cast<size_t>(parts));
  for (const Step& step : steps_) {
    if (!step.same_activations) matmul_.prepare_activations(step.call, array_.activations);
    array_.team.run([&](int part) {
      matmul_.multiply(step.call, array_.activations, array_.sums[static_cast<size_t>(part)], part, parts);
    });
    if (ended) ended();
  }
}

}  // namespace tandem
