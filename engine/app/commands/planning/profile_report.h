// Prints the result of `tandem profile` as text and as JSON: a table of measured times, and the quality of
// prediction mode.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/measure/prediction_mode/cross_validation.h"
#include "engine/measure/profiler.h"

namespace tandem::app {

// Prediction of one device's matmuls (H8), learnt from half of the shapes. The errors are those of the other half:
// engine/measure/prediction_mode/cross_validation.h says how they are taken.
struct DevicePrediction {
  std::string device;
  size_t learnt_points = 0, learnt_shapes = 0, held_out_shapes = 0;
  PredictionErrors held_out;  // by shape: shapes that were held out
  PredictionErrors between;   // token sizes between measured ones, on all shapes
  std::string learnt;         // MatMulPrediction::describe()
};

struct ProfileReport {
  Profile profile;
  std::vector<DevicePrediction> predictions;  // for devices with enough shapes
  std::vector<std::string> notes;             // reasons why a device has none
};
ProfileReport report_on(const Profile& profile, const std::vector<const DeviceInfo*>& devices);

void print_profile(const ProfileReport& report);
nlohmann::json to_json(const ProfileReport& report);

}  // namespace tandem::app
