#include "engine/measure/profile_grid.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>

namespace tandem {
namespace {

// Token sizes of the NPU's graphs, and the sizes halfway between two of them.
constexpr int64_t kGraphTokens[] = {1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512, 1024};
constexpr int64_t kBetweenTokens[] = {12, 24, 48, 96, 192, 384, 768};
constexpr int64_t kQuickTokens[] = {1, 8, 32, 128};

// Memory-bound powers of two; quick: one token only.
bool measured_beside(int64_t S, bool quick) {
  return S == 1 || (!quick && S <= kMemoryBoundTokens && (S & (S - 1)) == 0);
}

}  // namespace

bool has_weights_like(const MatMul& a, const MatMul& b) {
  return a.w.format == b.w.format && a.K == b.K && a.w.rows == b.w.rows;
}

// Matmuls with weights of one format and size form a group, which is measured as one shape.
std::vector<std::vector<MatMul>> by_matrix(std::span<const Operator> operators) {
  std::vector<std::vector<MatMul>> groups;
  for (const Operator& op : operators) {
    const auto* matmul = std::get_if<MatMul>(&op.body);
    if (matmul == nullptr) continue;
    const auto same = std::ranges::find_if(
        groups, [&](const std::vector<MatMul>& group) { return has_weights_like(group.front(), *matmul); });
    if (same == groups.end()) {
      groups.push_back({*matmul});
    } else {
      same->push_back(*matmul);
    }
  }
  return groups;
}

// An NPU runs its graphs' sizes alone. Other devices take any number of tokens, so sizes in between are measured there.
std::vector<int64_t> grid_tokens(int64_t most, const GridOptions& options) {
  std::set<int64_t> sizes;
  if (options.quick) {
    sizes.insert(std::begin(kQuickTokens), std::end(kQuickTokens));
  } else {
    sizes.insert(std::begin(kGraphTokens), std::end(kGraphTokens));
    if (!options.static_graphs) sizes.insert(std::begin(kBetweenTokens), std::end(kBetweenTokens));
  }
  sizes.erase(sizes.upper_bound(most), sizes.end());
  return {sizes.begin(), sizes.end()};
}

// The whole matrix, then a half, a quarter and an eighth of it, largest first. Cuts by rows give such parts to
// devices (H2).
std::vector<int64_t> grid_rows(int64_t rows, bool quick) {
  std::set<int64_t, std::greater<>> parts{rows};
  for (int64_t part = 2; part <= (quick ? 2 : 8); part *= 2) {
    // A part is rounded down to whole panels; a matrix with too few panels has fewer parts.
    const int64_t panels = panel_count(rows) / part;
    if (panels > 0) parts.insert(panels * kPanelRows);
  }
  return {parts.begin(), parts.end()};
}

// Every part of the rows with every number of tokens. Points beside another device are measured only where the memory
// limits the time, since both devices share it.
std::vector<MatMulPoint> grid_points(SameMatMuls same, const GridOptions& options) {
  std::vector<MatMulPoint> points;
  MatMulPoint point = point_of(same.front());
  for (const int64_t rows : grid_rows(point.rows, options.quick)) {
    point.rows = rows;
    for (const int64_t S : grid_tokens(most_tokens(same.front()), options)) {
      point.S = S;
      for (const bool both : {false, true}) {
        point.both = both;
        if (!both || measured_beside(S, options.quick)) points.push_back(point);
      }
    }
  }
  return points;
}

// One operator stands for all of its shape, such as the norms of all layers.
std::vector<Operator> other_kinds(std::span<const Operator> operators) {
  std::vector<Operator> kinds;
  for (const Operator& op : operators) {
    if (std::holds_alternative<MatMul>(op.body) || std::holds_alternative<KvAppend>(op.body)) continue;
    const bool is_known = std::ranges::any_of(kinds, [&](const Operator& other) { return same_shape(op, other); });
    if (!is_known) kinds.push_back(op);
  }
  return kinds;
}

}  // namespace tandem
