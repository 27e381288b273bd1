// The file in which measurements are kept: whatever is in it, the program starts, and what it takes from the file can
// be learnt from. The input is the file.
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <string>

#include "engine/plan/matmul_prediction.h"
#include "engine/run/disk_cache.h"
#include "engine/run/kept_points.h"
#include "sync/error.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace tandem::fuzz {
namespace {

// A file in memory that has a path. One serves all inputs, since each takes longer to make than to fill.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("measurements", MFD_CLOEXEC)) {}
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  // The path of a file that holds these bytes and no others.
  std::string path_of(Bytes bytes) const {
    const auto size = static_cast<off_t>(bytes.size());
    must_hold(ftruncate(descriptor_, size) == 0 && pwrite(descriptor_, bytes.data(), bytes.size(), 0) == size,
              "a file in memory can be filled");
    return "/proc/self/fd/" + std::to_string(descriptor_);
  }

 private:
  int descriptor_;
};

DeviceInfo device(DeviceKind kind) {
  DeviceInfo info;
  info.id = "d";
  info.kind = kind;
  return info;
}

}  // namespace

void measurements(Bytes input) {
  static const MemoryFile file;
  spdlog::set_level(spdlog::level::warn);  // as the program does
  DiskCache cache(file.path_of(input));
  cache.for_each("", [](const nlohmann::json& value) { must_hold(!value.is_discarded(), "values are values"); });
  kept_seconds(cache, "d");
  cache.number("d");
  cache.text("d");
  for (const DeviceKind kind : {DeviceKind::gpu, DeviceKind::npu}) {
    const std::vector<MeasuredPoint> points = kept_points(cache, device(kind));
    try {
      const MatMulPrediction prediction = MatMulPrediction::fit(kind, points);
      for (const MeasuredPoint& point : points) {
        const double seconds = prediction.seconds(point.point);
        must_hold(!std::isnan(seconds) && seconds >= 0, "a predicted time is a time");
      }
    } catch (const Error&) {
    }
  }
}

}  // namespace tandem::fuzz
