// Prints a profile, and says how well its points predict each other. So a reader sees which predictions a planner
// may trust.
#include "engine/app/commands/planning/profile_report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "sync/error.h"

namespace tandem::app {
namespace {

// The judged shapes are unknown to the fit, so the errors are those that prediction mode (H8) has for a new model.
DevicePrediction predict(const DeviceInfo& device, std::span<const MeasuredPoint> points) {
  const Halves halves = halves_by_shape(points);
  const MatMulPrediction prediction =
      device.static_graphs ? MatMulPrediction::of_graphs(halves.learnt) : MatMulPrediction::of_kernels(halves.learnt);
  return {device.id,
          halves.learnt.size(),
          halves.learnt_shapes,
          halves.held_out_shapes,
          errors_of(prediction, halves.held_out),
          errors_between_sizes(points),
          prediction.describe()};
}

// Without points there is no error to show.
void print_errors(const char* what, const PredictionErrors& errors) {
  if (errors.points == 0) return;
  std::printf("  %s: median error %.1f %%, nine of ten below %.1f %% (%zu points)\n", what, errors.median * 100,
              errors.ninth_decile * 100, errors.points);
}

// The spread shows how far a median can be trusted. Rates make shapes of different size comparable.
void print_row(const ProfileRow& row) {
  const double seconds = row.seconds.median;
  std::printf("| %s | %s | %s | %lld | %s | %.2f | %.1f %% | %.1f | %.1f |\n", row.kind.c_str(), row.shape.c_str(),
              row.device.c_str(), static_cast<long long>(row.S), row.both ? "both" : "alone", seconds * 1e6,
              row.seconds.spread() * 100, row.flops / seconds * 1e-9, row.bytes / seconds * 1e-9);
}

// Errors are shares of the measured time.
nlohmann::json to_json(const PredictionErrors& errors) {
  return {{"points", errors.points}, {"median", errors.median}, {"ninth_decile", errors.ninth_decile}};
}

// A row of the document has its samples' number and both ends, so that a reader sees the spread.
nlohmann::json to_json(const ProfileRow& row) {
  return {{"op", row.kind},
          {"shape", row.shape},
          {"device", row.device},
          {"tokens", row.S},
          {"both", row.both},
          {"clock", "measured"},
          {"median_us", row.seconds.median * 1e6},
          {"least_us", row.seconds.least * 1e6},
          {"most_us", row.seconds.most * 1e6},
          {"samples", row.seconds.samples},
          {"flops", row.flops},
          {"bytes", row.bytes}};
}

}  // namespace

// Predicts each device's matmuls from half of its shapes and judges by the other half.
ProfileReport report_on(const Profile& profile, const std::vector<const DeviceInfo*>& devices) {
  ProfileReport report{profile, {}, {}};
  for (const DeviceInfo* device : devices) {
    const std::vector<MeasuredPoint> points = matmul_points(profile.rows, device->id);
    if (points.empty()) continue;
    try {
      report.predictions.push_back(predict(*device, points));
    } catch (const Error& error) {  // half of the shapes may be too few for a fit
      report.notes.push_back(device->id + ": " + error.what());
    }
  }
  return report;
}

// A table of all rows, then how well half of each device's shapes predicts the other half.
void print_profile(const ProfileReport& report) {
  std::printf("All times measured (wall clock), one operator; spread: highest less lowest sample, of the median.\n\n");
  std::printf("| operator | shape | device | tokens | other side | median us | spread | GFLOP/s | GB/s |\n");
  std::printf("| --- | --- | --- | ---: | --- | ---: | ---: | ---: | ---: |\n");
  for (const ProfileRow& row : report.profile.rows) print_row(row);
  std::printf("\n%lld points measured, %lld known from before%s\n", static_cast<long long>(report.profile.measured),
              static_cast<long long>(report.profile.known),
              report.profile.interrupted ? "; interrupted, the next run goes on here" : "");
  if (!report.predictions.empty()) std::printf("\nPrediction of matmuls (H8), learnt from every second shape:\n");
  for (const DevicePrediction& prediction : report.predictions) {
    std::printf("\n%s: %zu points of %zu shapes to learn from, %zu shapes held out\n", prediction.device.c_str(),
                prediction.learnt_points, prediction.learnt_shapes, prediction.held_out_shapes);
    print_errors("held-out shapes", prediction.held_out);
    print_errors("between measured token sizes", prediction.between);
    std::printf("  learnt: %s", prediction.learnt.c_str());
  }
  for (const std::string& note : report.notes) std::printf("\nNo prediction for %s\n", note.c_str());
}

// Predictions are absent for a device with too few shapes, and a note gives the reason.
nlohmann::json to_json(const ProfileReport& report) {
  nlohmann::json rows = nlohmann::json::array(), predictions = nlohmann::json::array();
  for (const ProfileRow& row : report.profile.rows) rows.push_back(to_json(row));
  for (const DevicePrediction& prediction : report.predictions) {
    predictions.push_back({{"device", prediction.device},
                           {"learnt_points", prediction.learnt_points},
                           {"learnt_shapes", prediction.learnt_shapes},
                           {"held_out_shapes", prediction.held_out_shapes},
                           {"held_out_error", to_json(prediction.held_out)},
                           {"between_sizes_error", to_json(prediction.between)},
                           {"learnt", prediction.learnt}});
  }
  return {{"schema", 1},
          {"rows", std::move(rows)},
          {"measured_points", report.profile.measured},
          {"known_points", report.profile.known},
          {"interrupted", report.profile.interrupted},
          {"predictions", std::move(predictions)},
          {"notes", report.notes}};
}

}  // namespace tandem::app
