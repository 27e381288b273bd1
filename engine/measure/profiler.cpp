#include "engine/measure/profiler.h"

#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "engine/measure/profile_grid.h"

namespace tandem {
namespace {

std::string shape_of_weights(const MatMulPoint& point) {
  return point.format + " K" + std::to_string(point.K) + " rows " + std::to_string(point.rows);
}

// The operand that holds the positions of an operator's tokens; absent for operators without positions.
Operand positions_of(const Operator& op) {
  if (const auto* attention = std::get_if<Attention>(&op.body)) return attention->positions;
  if (const auto* rope = std::get_if<Rope>(&op.body)) return rope->positions;
  return {};
}

// Gives the operator's tokens the positions behind `past` earlier tokens, which decide how much of the cache is read.
void set_positions(const Operator& op, int64_t past) {
  const Operand positions = positions_of(op);
  if (!positions) return;
  for (int64_t s = 0; s < tokens_of(op); ++s) positions.as<int32_t>()[s] = static_cast<int32_t>(past + s);
}

// Writes every page of the caches that a pass reads. Pages that were never written are all the system's one page of
// zeros, which stays in the nearest cache. Attention over them would read no memory.
void touch_caches(std::span<const Operator> pass) {
  for (const Operator& op : pass) {
    const auto* attention = std::get_if<Attention>(&op.body);
    if (attention == nullptr) continue;
    std::memset(attention->cache.k.as<std::byte>(), 0, attention->cache.k_bytes());
    std::memset(attention->cache.v.as<std::byte>(), 0, attention->cache.v_bytes());
  }
}

ProfileRow row_of(const Device& device, const Operator& op, int64_t past) {
  const auto* attention = std::get_if<Attention>(&op.body);
  const Work each = work(op, past);
  ProfileRow row{device.info().id, kind_name(op), attention ? "after " + std::to_string(past) + " tokens" : ""};
  row.S = tokens_of(op);
  row.flops = each.flops;
  row.bytes = each.bytes;
  row.attention = attention != nullptr;
  return row;
}

}  // namespace

std::vector<MeasuredPoint> matmul_points(std::span<const ProfileRow> rows, const std::string& device) {
  std::vector<MeasuredPoint> points;
  for (const ProfileRow& row : rows) {
    if (row.device == device && row.matmul.S > 0) points.push_back({row.matmul, row.seconds.least});
  }
  return points;
}

// The tasks of a device and a shape of weights share one list of matrices. A task owns what it is timed on by shared
// pointers, because `operators` may be gone when it runs.
std::vector<ProfileTask> matmul_tasks(const Measurer& measurer, std::span<const std::unique_ptr<Device>> devices,
                                      std::span<const Operator> operators, const ProfileOptions& options) {
  const auto matrices = std::make_shared<const std::vector<std::vector<MatMul>>>(by_matrix(operators));
  const auto pass = std::make_shared<const std::vector<Operator>>(operators.begin(), operators.end());
  std::vector<ProfileTask> tasks;
  std::set<std::string> seen;  // slices of two matrices may have one shape
  for (const auto& device : devices) {
    const GridOptions grid{device->info().static_graphs, options.quick};
    for (const std::vector<MatMul>& same : *matrices) {
      if (!device->supports({"", same.front()}).yes) continue;
      for (const MatMulPoint& point : grid_points(same, grid)) {
        const Beside beside = point.both ? beside_for(*device, same, devices, *matrices) : Beside();
        const std::string key = key_of(device->info(), point);
        if ((point.both && beside.device == nullptr) || !seen.insert(key).second) continue;
        ProfileRow row{device->info().id, "matmul", shape_of_weights(point), point.S, point.both};
        row.flops = flops(point);
        row.bytes = weight_bytes(point);
        row.matmul = point;
        tasks.push_back(
            {std::move(row), key,
             [m = measurer, d = device.get(), point, matrices, pass, &same, beside, effort = options.effort]() mutable {
               return m.matmul(*d, point, same, *pass, beside, effort);
             }});
      }
    }
  }
  return tasks;
}

// Positions are set twice: for the row, whose work depends on them, and again when the task runs.
std::vector<ProfileTask> other_tasks(const Measurer& measurer, std::span<const std::unique_ptr<Device>> devices,
                                     std::span<const Operator> operators, int64_t past, const ProfileOptions& options) {
  const auto pass = std::make_shared<const std::vector<Operator>>(operators.begin(), operators.end());
  std::vector<ProfileTask> tasks;
  for (const auto& device : devices) {
    for (const Operator& op : other_kinds(operators)) {
      if (!device->supports(op).yes || (past > 0 && !std::holds_alternative<Attention>(op.body))) continue;
      set_positions(op, past);
      tasks.push_back({row_of(*device, op, past), Measurer::other_key(*device, op),
                       [m = measurer, d = device.get(), pass, op, past, effort = options.effort]() mutable {
                         set_positions(op, past);
                         touch_caches(*pass);
                         return m.other(*d, op, *pass, effort);
                       }});
    }
  }
  return tasks;
}

// Skips known points unless run.again asks for all. The cache is saved after every measured point, so an interruption
// loses none of them.
Profile run_profile(std::span<const ProfileTask> tasks, DiskCache& cache, const ProfileRun& run) {
  Profile profile;
  for (const ProfileTask& task : tasks) {
    auto seconds = run.again ? std::nullopt : stored_seconds(cache, task.key);
    if (seconds) {
      ++profile.known;
    } else {
      if (run.interrupted && run.interrupted()) {
        profile.interrupted = true;
        break;
      }
      cache.forget(task.key);
      seconds = task.measure();
      cache.save();
      ++profile.measured;
    }
    profile.rows.push_back(task.row);
    profile.rows.back().seconds = *seconds;
    if (run.progress) run.progress(profile.known + profile.measured, static_cast<int64_t>(tasks.size()));
  }
  return profile;
}

}  // namespace tandem
