// The file in which measurements are kept: whatever is in it, the program starts, and what it takes from the file can
// be learnt from. The input is the file.
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

// A file in memory that has a path.
class MemoryFile {
 public:
  explicit MemoryFile(Bytes bytes) : descriptor_(memfd_create("measurements", MFD_CLOEXEC)) {
    must_hold(descriptor_ >= 0 && write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
              "a file in memory can be made");
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

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
  const MemoryFile file(input);
  DiskCache cache(file.path());
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
  cache.ignore_doubtful();
}

}  // namespace tandem::fuzz
