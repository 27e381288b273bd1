#include "engine/plan/own_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/plan/placer.h"
#include "engine/plan/roles.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr double kRounding = 1e-6;  // of a sum of shares

[[noreturn]] void refuse(const Operator& op, const std::string& why, const char* hint) {
  throw Error("the planner's places break a rule of plans", op.name + ": " + why, hint);
}

std::vector<double> seconds_of(const Placer& placer, size_t devices, const Operator& op) {
  std::vector<double> seconds;
  for (int d = 0; d < static_cast<int>(devices); ++d)
    seconds.push_back(placer.runs(d, op) ? placer.seconds_on(d, op, Padding::allowed)
                                         : std::numeric_limits<double>::infinity());
  return seconds;
}

int64_t rows_of(const Operator& op) {
  const auto* matmul = std::get_if<MatMul>(&op.body);
  return matmul == nullptr ? 0 : matmul->row_end - matmul->row_begin;
}

WorkToPlace work_of(const PlanRequest& request, const Placer& placer) {
  WorkToPlace work;
  for (const DeviceTraits& device : request.devices) work.devices.push_back({device.id, device.cuts_rows});
  work.sync_seconds = request.costs.sync_seconds;
  for (const Operator& op : request.operators)
    work.items.push_back(
        {op.name, kind_name(op), tokens_of(op), rows_of(op), seconds_of(placer, request.devices.size(), op)});
  return work;
}

void require_sum(const Operator& op, const Shares& shares, size_t devices) {
  if (shares.size() != devices)
    refuse(op, std::to_string(shares.size()) + " shares for " + std::to_string(devices) + " devices",
           "Give each device a share; 0: it gets nothing");
  // A comparison with NaN is false.
  if (!std::ranges::all_of(shares, [](double share) { return share >= 0; }) ||
      !(std::abs(std::reduce(shares.begin(), shares.end()) - 1) <= kRounding))
    refuse(op, "shares that do not add up to 1", "Give numbers from 0 to 1");
}

// The devices that get a part.
std::vector<int> takers_of(const Shares& shares) {
  std::vector<int> takers;
  for (size_t d = 0; d < shares.size(); ++d)
    if (shares[d] > 0) takers.push_back(static_cast<int>(d));
  return takers;
}

void require_runnable(const PlanRequest& request, const Operator& op, const WorkToPlace::Item& item,
                      const std::vector<int>& takers) {
  for (const int d : takers) {
    const DeviceTraits& device = request.devices[static_cast<size_t>(d)];
    if (!std::isfinite(item.seconds[static_cast<size_t>(d)]))
      refuse(op, device.id + " does not run it", "Take a device whose seconds are finite");
    if (takers.size() > 1 && (item.rows == 0 || !device.cuts_rows))
      refuse(op, "it is divided, and " + (item.rows == 0 ? "it is no matmul" : device.id + " takes no part of rows"),
             "Divide rows of matmuls, between devices that cut rows");
  }
}

// Keys and values stay where they were computed, unless all devices share the memory that they lie in.
void require_one_cache(const PlanRequest& request, const std::vector<Shares>& places) {
  if (std::ranges::all_of(request.devices, &DeviceTraits::zero_copy)) return;
  int home = -1;
  for (size_t i = 0; i < places.size(); ++i) {
    if (!uses_cache(request.operators[i])) continue;
    const int device = takers_of(places[i]).front();
    if (home >= 0 && device != home)
      refuse(request.operators[i], "the cache is on " + request.devices[static_cast<size_t>(home)].id,
             "Put all attention on one device: not all devices see the host's memory");
    home = device;
  }
}

void place(Placer& placer, const Operator& op, const Shares& shares) {
  const std::vector<int> takers = takers_of(shares);
  if (!std::holds_alternative<MatMul>(op.body)) return placer.place_quietly(op, takers.front());
  Shares of_takers;
  for (const int d : takers) of_takers.push_back(shares[static_cast<size_t>(d)]);
  placer.place_cut(op, takers, std::move(of_takers));
}

}  // namespace

Plan make_own_plan(const PlanRequest& request, const OwnPlanner& planner) {
  Placer placer(request);
  const WorkToPlace work = work_of(request, placer);
  const std::vector<Shares> places = planner(work);
  if (places.size() != request.operators.size())
    throw Error(
        "the planner's places break a rule of plans",
        std::to_string(places.size()) + " places for " + std::to_string(request.operators.size()) + " operators",
        "Give each operator its places, in the order of the list");
  for (size_t i = 0; i < places.size(); ++i) {
    require_sum(request.operators[i], places[i], request.devices.size());
    require_runnable(request, request.operators[i], work.items[i], takers_of(places[i]));
  }
  require_one_cache(request, places);
  for (size_t i = 0; i < places.size(); ++i) place(placer, request.operators[i], places[i]);
  return placer.finish(kOwnPlan);
}

}  // namespace tandem
