// The file of measurements. With any content the program starts, and the ratios from the file can learn. The input is
// the file.
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/measure/measurement_store.h"
#include "engine/measure/prediction_mode/matmul_prediction.h"
#include "engine/plan/prediction/operator_class.h"
#include "engine/plan/prediction/pass_class.h"
#include "engine/run/choice/disk_cache.h"
#include "engine/run/choice/stored_ratios.h"
#include "sync/error.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace tandem::fuzz {
namespace {

// A file in memory that has a path. One file serves all inputs, because making it takes longer than filling it.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("measurements", MFD_CLOEXEC)) {}
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  // The path of a file that holds exactly these bytes.
  std::string path_of(Bytes bytes) const {
    const auto size = static_cast<off_t>(bytes.size());
    must_hold(ftruncate(descriptor_, size) == 0 && pwrite(descriptor_, bytes.data(), bytes.size(), 0) == size,
              "a file in memory can be filled");
    return "/proc/self/fd/" + std::to_string(descriptor_);
  }

 private:
  int descriptor_;
};

DeviceInfo device() {
  DeviceInfo info;
  info.id = "d";
  return info;
}

// machine_rates.h keeps ratios under keys of its own. Here any value may hold ratios.
template <typename Class>
void ratios_of(const nlohmann::json& value) {
  const auto ratios = ratios_from<Class>(value);
  for (const auto& [level, mean] : ratios.levels()) {
    const double ratio = ratios.ratio(level);
    must_hold(std::isfinite(ratio) && ratio > 0, "a ratio is a positive number");
    auto later = ratios;
    later.learn(level, 2);
    must_hold(std::isfinite(later.ratio(level)) && later.ratio(level) > 0, "and can be learnt from");
  }
  must_hold(to_json(ratios_from<Class>(to_json(ratios))) == to_json(ratios),
            "ratios that are kept are read as they were");
}

}  // namespace

void measurements(Bytes input) {
  static const MemoryFile file;
  spdlog::set_level(spdlog::level::warn);  // like the program
  DiskCache cache(file.path_of(input));
  cache.for_each("", [](const nlohmann::json& value) {
    must_hold(!value.is_discarded(), "values are values");
    ratios_of<OperatorClass>(value);
    ratios_of<PassClass>(value);
  });
  stored_seconds(cache, "d");
  const std::vector<MeasuredPoint> points = stored_points(cache, device());
  for (const bool static_graphs : {false, true}) {
    try {
      const MatMulPrediction prediction =
          static_graphs ? MatMulPrediction::of_graphs(points) : MatMulPrediction::of_kernels(points);
      for (const MeasuredPoint& point : points) {
        const double seconds = prediction.seconds(point.point);
        must_hold(!std::isnan(seconds) && seconds >= 0, "a predicted time is a time");
      }
    } catch (const Error&) {
    }
  }
}

}  // namespace tandem::fuzz
