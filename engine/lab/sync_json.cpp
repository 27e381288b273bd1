#include "engine/lab/sync_json.h"

#include <nlohmann/json.hpp>

namespace tandem::sync_lab {
namespace {

using nlohmann::json;

constexpr double kMicro = 1e6;

// Times in documents are microseconds.
json to_json(const Distribution& times) {
  return {{"count", times.count},
          {"min_us", times.min * kMicro},
          {"p50_us", times.p50 * kMicro},
          {"p90_us", times.p90 * kMicro},
          {"p99_us", times.p99 * kMicro},
          {"max_us", times.max * kMicro},
          {"middle_us", times.middle * kMicro}};
}

json to_json(const std::optional<Distribution>& times) { return times ? to_json(*times) : json(); }

// null: there is no such figure.
json optional_number(const std::optional<double>& value, double scale = 1) {
  return value ? json(*value * scale) : json();
}

// A row that was not measured has its status and reason, but no figures.
json to_json(const SyncRow& row, const DeviceResult& device) {
  json object = {{"policy", name_of(row)},      {"work_us", row.work_seconds * kMicro},
                 {"spinners", row.spinners},    {"status", name_of(row.status)},
                 {"reason", row.reason},        {"verified_steps", row.verified_steps},
                 {"lost_steps", row.lost_steps}};
  if (row.status != RowStatus::measured) return object;
  object.update({{"round_trip", to_json(row.round_trip)},
                 {"overhead", to_json(row.overhead)},
                 {"timed_work_us", optional_number(row.timed_work_seconds, kMicro)},
                 {"to_device", to_json(row.to_device)},
                 {"to_host", to_json(row.to_host)},
                 {"cpu_thread_us", row.cpu_thread_seconds * kMicro},
                 {"cpu_process_us", row.cpu_process_seconds * kMicro},
                 {"single_per_second", row.single_per_second},
                 {"chained_per_second", row.chained_per_second},
                 {"neighbour_slowdown_percent", optional_number(row.neighbour_slowdown, 100)},
                 {"prediction_error_percent", optional_number(row.prediction_error, 100)},
                 {"times_limit", optional_number(device.times_limit(row))}});
  return object;
}

// The line's times before and after the rows show whether the machine changed meanwhile.
json to_json(const CacheLine& line) {
  return {{"cores", line.cores},
          {"round_trip", to_json(line.round_trip)},
          {"before_us", line.before_seconds * kMicro},
          {"after_us", line.after_seconds * kMicro},
          {"steady", line.steady()}};
}

// A limit that is null has its reason in no_limit. For a card's bus the reason is in no_bus.
json to_json(const DeviceResult& device) {
  json rows = json::array();
  for (const SyncRow& row : device.rows) rows.push_back(to_json(row, device));
  return {{"id", device.id},
          {"name", device.name},
          {"driver", device.driver},
          {"cores", device.cores},
          {"waiter_core", device.waiter_core},
          {"shares_core", device.shares_core},
          {"limit", device.limit ? to_json(*device.limit) : json()},
          {"no_limit", device.no_limit},
          {"own_memory", device.own_memory},
          {"bus", device.bus ? to_json(device.bus->round_trip) : json()},
          {"no_bus", device.no_bus},
          {"problem", device.problem},
          {"rows", rows}};
}

// Facts without which two results cannot be compared.
json to_json(const MachineFacts& machine) {
  return {{"processor", machine.processor},
          {"system", machine.system},
          {"cores", machine.cores},
          {"timer_hz", machine.timer_hz},
          {"load_average", machine.load_average},
          {"load_average_at_end", machine.load_average_at_end},
          {"quiet", machine.quiet()},
          {"cpu_time_reading_us", machine.reading_seconds * kMicro}};
}

// "met" is null if there is no figure: neither true nor false would be right.
json to_json(const Target& target) {
  return {{"name", target.name},   {"figure", optional_number(target.figure)},
          {"bound", target.bound}, {"at_least", target.at_least},
          {"unit", target.unit},   {"met", target.figure ? json(target.met()) : json()},
          {"note", target.note}};
}

// "computed_from" marks the savings as computed, because all other times are measured.
json to_json(const DecodeMeaning& meaning) {
  json savings = json::array();
  for (const DecodeSaving& saving : meaning.savings) {
    savings.push_back({{"device", saving.device},
                       {"policy", name_of(saving.policy)},
                       {"waits", saving.waits},
                       {"saved_us", saving.saved_seconds * kMicro}});
  }
  return {{"model", meaning.model}, {"plan", meaning.plan},   {"devices", meaning.devices},
          {"steps", meaning.steps}, {"waits", meaning.waits}, {"computed_from", "measured medians"},
          {"savings", savings},     {"notes", meaning.notes}};
}

}  // namespace

// Absent figures stay as null, so that readers find the same keys. Only a row that was not measured has fewer.
json sync_json(const LabResult& result) {
  json devices = json::array(), targets = json::array();
  for (const DeviceResult& device : result.devices) devices.push_back(to_json(device));
  for (const Target& target : result.targets) targets.push_back(to_json(target));
  return {{"schema", kSyncSchema},
          {"bench", "sync"},
          {"clock", "measured"},
          {"machine", to_json(result.machine)},
          {"clock_us", result.clock_seconds * kMicro},
          {"devices", devices},
          {"targets", targets},
          {"decode", result.decode ? to_json(*result.decode) : json()},
          {"warnings", result.warnings},
          {"seconds", result.seconds}};
}

}  // namespace tandem::sync_lab
