// The profiler's real-execution mode (H8): measures every point of a model's grid on every device and keeps
// each on disk.
//
// Contract: the caller makes the tasks first, then runs them in turn. Points on disk are not measured again, so a
// second run continues where an interrupted one ended. The cache is saved after every point. Tasks overwrite the
// operators' buffers. One thread, the executor's.
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
  bool both = false;            // while another device works too
  double flops = 0, bytes = 0;  // of one operator; a matmul's bytes are those of its weights
  MeasuredSeconds seconds{};
  MatMulPoint matmul{};    // the point of a matmul; S is 0 for other operators
  bool attention = false;  // attention after some tokens; never a small operator
};
// The points of all matmuls among the rows that ran on a device, with their least times. Prediction mode
// learns from them.
std::vector<MeasuredPoint> matmul_points(std::span<const ProfileRow> rows, const std::string& device);

struct ProfileTask {
  ProfileRow row;
  std::string key;                           // its key on disk
  std::function<MeasuredSeconds()> measure;  // measures and stores it under the key
};

struct ProfileOptions {
  bool quick = false;
  Effort effort = kThorough;
};

// One task for every matmul on grid_points() and every device that runs it. Borrows the measurer's parts and `devices`.
std::vector<ProfileTask> matmul_tasks(const Measurer& measurer, std::span<const std::unique_ptr<Device>> devices,
                                      std::span<const Operator> operators, const ProfileOptions& options);
// One task for every other kind of operator, after `past` tokens. A task sets the positions of its operator when it
// runs. With past > 0 only attention has tasks, because only its time depends on positions.
std::vector<ProfileTask> other_tasks(const Measurer& measurer, std::span<const std::unique_ptr<Device>> devices,
                                     std::span<const Operator> operators, int64_t past, const ProfileOptions& options);

struct Profile {
  std::vector<ProfileRow> rows;     // one for each finished task, in order
  int64_t measured = 0, known = 0;  // points
  bool interrupted = false;
};

struct ProfileRun {
  bool again = false;                                         // measure known points too
  std::function<bool()> interrupted;                          // called before each point that is measured; true: stop
  std::function<void(int64_t done, int64_t total)> progress;  // in points
};
Profile run_profile(std::span<const ProfileTask> tasks, DiskCache& cache, const ProfileRun& run);

}  // namespace tandem
