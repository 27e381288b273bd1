// A plan by a function of the user's: from the predicted costs of a pass's operators to their places on devices.
//
// Contract: pure, except that it calls the function, on the calling thread. An exception of the function leaves
// make_own_plan(). Rules of all plans, whose breach is an Error that names the operator:
//   - Each operator has places, one share for each device. Shares are finite, not negative, and add up to 1.
//   - A device gets only operators that it runs.
//   - Only rows of matmuls are divided, and only between devices that cut rows.
//   - If a device does not see the host's memory, operators of the cache of keys and values are on one device.
// Waits are no choice: they follow from what the operators read and write (engine/plan/schedule.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/plan/plan_request.h"

namespace tandem {

// What such a function may ask.
struct WorkToPlace {
  struct Device {
    std::string id;
    bool cuts_rows = false;
  };
  struct Item {
    std::string name, kind;
    int64_t tokens = 0;
    int64_t rows = 0;  // of a matmul's result; 0: the operator cannot be divided
    // By device: predicted seconds while the other devices work too; infinity: it does not run the operator.
    std::vector<double> seconds;
  };
  std::vector<Device> devices;
  double sync_seconds = 0;  // of one wait between two devices
  std::vector<Item> items;  // in the order of the computation
};
using Shares = std::vector<double>;  // one for each device
using OwnPlanner = std::function<std::vector<Shares>(const WorkToPlace& work)>;

inline constexpr const char* kOwnPlan = "own";  // the name of these plans

Plan make_own_plan(const PlanRequest& request, const OwnPlanner& planner);

}  // namespace tandem
