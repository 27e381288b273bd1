#include <algorithm>
#include <memory>
#include <new>

#include "engine/device/host/arithmetic.h"

namespace tandem::host {
namespace {

// Waking a sleeping thread costs 20 us and more; below this many multiplications (about 200 us) one thread is faster.
constexpr double kWorthSharing = 4e6;

struct AlignedDelete {
  void operator()(float* p) const { ::operator delete[](p, std::align_val_t(64)); }
};
using AlignedFloats = std::unique_ptr<float[], AlignedDelete>;
AlignedFloats aligned_floats(int64_t count) {
  return AlignedFloats(
      static_cast<float*>(::operator new[](static_cast<size_t>(count) * sizeof(float), std::align_val_t(64))));
}

struct Contract {
  const HostLoops& loops;
  Workers& workers;

  template <typename Part>
  void share(double multiplications, int64_t count, const Part& part) const {
    if (multiplications < kWorthSharing)
      part(int64_t{0}, count, 0);
    else
      workers.run(count, part);
  }

  void operator()(const MatMul& op) const {
    const int64_t first = op.row_begin / kPanelRows, panels = panel_count(op.row_end) - first;
    const size_t size = panel_bytes(op.w.format, op.K);
    const AlignedFloats sums = aligned_floats(workers.threads() * op.S * kPanelRows);
    const double multiplications = static_cast<double>(op.row_end - op.row_begin) * op.K * op.S;
    share(multiplications, panels, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t p = first + begin; p < first + end; ++p) {
        const int64_t row = p * kPanelRows;
        loops.matmul_panel({&op.w.format, op.w.data.as<std::byte>() + p * size, op.S, op.K,
                            static_cast<int>(std::min(kPanelRows, op.row_end - row)), op.x.as<float>(), op.x_stride,
                            op.y.as<float>() + row, op.y_stride, sums.get() + thread * op.S * kPanelRows});
      }
    });
  }
  void operator()(const RmsNorm& op) const {
    for (int64_t s = 0; s < op.S; ++s)
      for (int64_t g = 0; g < op.groups; ++g) {
        const int64_t at = g * op.width;
        loops.rms_norm({op.x.as<float>() + s * op.x_stride + at,
                        op.add ? op.add.as<float>() + s * op.add_stride + at : nullptr, op.weight.as<float>(),
                        op.y.as<float>() + s * op.y_stride + at, op.width, op.weight_offset, op.eps, op.round_f16});
      }
  }
  void operator()(const Rope& op) const {
    check_positions(op.positions, op.S, op.table_positions, "rotation table");
    for (int64_t s = 0; s < op.S; ++s)
      for (int64_t h = 0; h < op.heads; ++h)
        loops.rope(op.x.as<float>() + s * op.x_stride + h * op.head_dim,
                   op.table.as<float>() + op.positions.as<int32_t>()[s] * op.rot_dim, op.rot_dim,
                   op.layout == RopeLayout::interleaved);
  }
  void operator()(const Attention& op) const {
    const KvCache& cache = op.cache;
    const int64_t per_kv = op.heads / cache.kv_heads;
    check_positions(op.positions, op.S, cache.capacity, "cache");
    const auto* positions = op.positions.as<int32_t>();
    double multiplications = 0;
    for (int64_t s = 0; s < op.S; ++s)
      multiplications += static_cast<double>(positions[s] + 1) * op.heads * (cache.head_dim + cache.head_dim_v);
    share(multiplications, op.S * op.heads, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t s = i / op.heads, h = i % op.heads, kv = h / per_kv;
        const size_t element = cache.element_bytes();
        loops.attend({op.q.as<float>() + s * op.q_stride + h * cache.head_dim,
                      cache.k.as<std::byte>() + kv * cache.capacity * cache.head_dim * element,
                      cache.v.as<std::byte>() + kv * cache.capacity * cache.head_dim_v * element,
                      cache.type == KvType::f16, cache.head_dim, cache.head_dim_v, positions[s], op.scale, op.round_f16,
                      op.y.as<float>() + s * op.y_stride + h * cache.head_dim_v});
      }
    });
  }
  void operator()(const SwiGlu& op) const {
    for (int64_t s = 0; s < op.S; ++s)
      loops.swiglu(op.gate.as<float>() + s * op.gate_stride, op.up.as<float>() + s * op.up_stride,
                   op.y.as<float>() + s * op.y_stride, op.I, op.round_f16);
  }
  void operator()(const Softmax& op) const {
    for (int64_t s = 0; s < op.S; ++s) loops.softmax(op.x.as<float>() + s * op.x_stride, op.width);
  }
  void operator()(const Embed& op) const { run_embed(op); }
  void operator()(const KvAppend& op) const { run_kv_append(op); }
  void operator()(const ArgMax& op) const { run_argmax(op); }
  void operator()(const TopK& op) const { run_top_k(op); }
  void operator()(const Add& op) const { run_add(op); }
  void operator()(const Bias& op) const { run_bias(op); }
};

}  // namespace

void run_contract(const Operator& op, const HostLoops& loops, Workers& workers) {
  std::visit(Contract{loops, workers}, op.body);
}

}  // namespace tandem::host
