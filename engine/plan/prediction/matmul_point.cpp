#include "engine/plan/prediction/matmul_point.h"

#include <map>
#include <utility>

#include "engine/plan/prediction/statistics.h"
#include "sync/error.h"

namespace tandem {
namespace {

// With 8-bit activations other loops run, so times are those of another format.
std::string format_name(const PackedFormat& format, bool act_i8) { return to_string(format) + (act_i8 ? ".act8" : ""); }

// Bytes for each weight of every packed format, by name.
std::map<std::string, double> all_bytes_per_weight() {
  constexpr int64_t kColumns = kSuperColumns;  // fits every format
  std::map<std::string, double> bytes;
  for (const StorageTypeInfo& stored : storage_types()) {
    const PackedFormat format = packed_format(stored.type);
    for (const bool act_i8 : {false, true})
      bytes[format_name(format, act_i8)] = static_cast<double>(panel_bytes(format, kColumns)) / (kPanelRows * kColumns);
  }
  return bytes;
}

const std::map<std::string, double>& bytes_of_formats() {
  static const std::map<std::string, double> all = all_bytes_per_weight();
  return all;
}

}  // namespace

MatMulPoint point_of(const MatMul& op, bool both) {
  return {format_name(op.w.format, op.act_i8), op.S, op.K, op.row_end - op.row_begin, both};
}

std::string to_string(const MatMulPoint& point) {
  return "matmul " + point.format + " S" + std::to_string(point.S) + " K" + std::to_string(point.K) + " rows " +
         std::to_string(point.rows) + (point.both ? " both" : "");
}

// Beyond the tokens that are memory-bound, time grows at most in proportion to tokens, and it does not fall. A time
// that breaks either rule was measured on a slowed device.
bool looks_slowed(double seconds, std::optional<double> at_half_the_tokens, std::optional<double> at_twice_the_tokens) {
  constexpr double kNoise = 1.1;
  return (at_half_the_tokens && seconds > kNoise * 2 * *at_half_the_tokens) ||
         (at_twice_the_tokens && seconds > kNoise * *at_twice_the_tokens);
}

bool is_packed_format(const std::string& name) { return bytes_of_formats().contains(name); }

double bytes_per_weight(const std::string& format) {
  const auto found = bytes_of_formats().find(format);
  if (found == bytes_of_formats().end()) throw Error("unknown format of packed weights", format);
  return found->second;
}

// Kernels read whole panels, so the last one counts in full.
double weight_bytes(const MatMulPoint& point) {
  return static_cast<double>(panel_count(point.rows) * kPanelRows * point.K) * bytes_per_weight(point.format);
}

double flops(const MatMulPoint& point) {
  return 2.0 * static_cast<double>(point.S) * static_cast<double>(point.K) * static_cast<double>(point.rows);
}

MeasuredSeconds spread_of(std::vector<double> seconds) {
  const Distribution spread = summarise(std::move(seconds));
  return {spread.p50, spread.min, spread.max, spread.count};
}

}  // namespace tandem
