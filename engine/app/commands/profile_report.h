// What `tandem profile` prints: a table of measured times, and how well prediction mode does. As text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/measure/cross_validation.h"
#include "engine/measure/profiler.h"

namespace tandem::app {

// Prediction of one device's matmuls, learnt from half of the shapes (engine/measure/cross_validation.h).
struct DevicePrediction {
  std::string device;
  size_t learnt_points = 0, learnt_shapes = 0, held_out_shapes = 0;
  PredictionErrors held_out;  // by shape
  PredictionErrors between;   // interpolated between measured token sizes, on all shapes
  std::string learnt;         // MatMulPrediction::describe()
};

struct ProfileReport {
  Profile profile;
  std::vector<DevicePrediction> predictions;  // of devices with enough shapes
  std::vector<std::string> notes;             // why a device has none
};
ProfileReport report_on(const Profile& profile, const std::vector<const DeviceInfo*>& devices);

void print_profile(const ProfileReport& report);
nlohmann::json to_json(const ProfileReport& report);

}  // namespace tandem::app
