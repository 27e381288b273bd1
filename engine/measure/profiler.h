// The profiler's real-execution mode (H8): every point of a model's grid on every device, measured and kept on disk one
// by one.
//
// Contract: tasks are made first, then run in turn. What is on disk is not measured again, so a second run goes on
// where an interrupted one ended; the cache is saved after every point. Tasks overwrite the operators' buffers. One
// thread, the executor's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/measure/measure.h"
#include "engine/plan/prediction/matmul_point.h"

namespace tandem {

// One line of a profile: an operator of a shape on a device.
struct ProfileRow {
  std::string device, kind, shape;  // "npu:0", "matmul", "i4.g32.half.min K576 rows 1536"
  int64_t S = 0;
  bool both = false;            // while another device was at work too
  double flops = 0, bytes = 0;  // of one operator; a matmul's bytes are those of its weights
  MeasuredSeconds seconds{};
  MatMulPoint matmul{};    // of a matmul; without tokens otherwise
  bool attention = false;  // which is measured after some tokens, and is no small operator
};
// The matmuls among them that ran on a device, with their least times: what prediction mode learns from.
std::vector<MeasuredPoint> matmul_points(std::span<const ProfileRow> rows, const std::string& device);

struct ProfileTask {
  ProfileRow row;
  std::string key;                           // on disk
  std::function<MeasuredSeconds()> measure;  // and keep under the key
};

struct ProfileOptions {
  bool quick = false;
  Effort effort = kThorough;
};

// Every matmul on grid_points(), on every device that runs it. Borrows the measurer's parts and `devices`.
std::vector<ProfileTask> matmul_tasks(const Measurer& measurer, std::span<const std::unique_ptr<Device>> devices,
                                      std::span<const Operator> operators, const ProfileOptions& options);
// Every other kind of operator, after `past` tokens, which their positions are set to when they run; after more than 0
// only what looks at them: attention.
std::vector<ProfileTask> other_tasks(const Measurer& measurer, std::span<const std::unique_ptr<Device>> devices,
                                     std::span<const Operator> operators, int64_t past, const ProfileOptions& options);

struct Profile {
  std::vector<ProfileRow> rows;     // of the tasks, in order, as far as it came
  int64_t measured = 0, known = 0;  // points
  bool interrupted = false;
};

struct ProfileRun {
  bool again = false;                                         // measure what is known, too
  std::function<bool()> interrupted;                          // asked before each point that is measured; true: stop
  std::function<void(int64_t done, int64_t total)> progress;  // in points
};
Profile run_profile(std::span<const ProfileTask> tasks, DiskCache& cache, const ProfileRun& run);

}  // namespace tandem
