// The properties of a device that planning may use: a pure view, so plans can be made and tested without drivers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/device/device_info.h"
#include "engine/device/operator.h"

namespace tandem {

struct DeviceTraits {
  std::string id;
  std::function<Support(const Operator&)> supports{};
  bool discrete = false;       // as in DeviceInfo
  bool zero_copy = true;       // the device sees the host's memory, caches too
  bool rounds_to_f16 = false;  // as in DeviceInfo
  bool cuts_rows = false;      // as in DeviceInfo
  bool static_graphs = false;  // as in DeviceInfo; graph_tokens lists the sizes
  std::string thread_of{};     // as in DeviceInfo
  NearMemory near_memory{};    // as in DeviceInfo
  // graph_tokens: numbers of tokens of the graphs that were compiled beforehand, rising; empty: any number. row_step
  // and token_step: steps of the solver's cuts (CutLimits).
  std::vector<int64_t> graph_tokens{};
  int64_t row_step = 256, token_step = 32;
};

class Device;
// Traits of an open device. They borrow the device. They leave out the caller's choices: graph_tokens and the steps
// of cuts.
DeviceTraits traits_of(const Device& device);

}  // namespace tandem
