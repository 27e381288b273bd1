// What planning may ask about a device: a pure view, so that plans can be made and tested without drivers.
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
  DeviceKind kind = DeviceKind::host;
  std::function<Support(const Operator&)> supports{};
  bool discrete = false;       // as DeviceInfo
  bool zero_copy = true;       // sees the host's memory, caches too
  bool rounds_to_f16 = false;  // as DeviceInfo
  bool static_graphs = false;  // as DeviceInfo; the sizes follow
  std::string thread_of{};     // as DeviceInfo
  // Tokens of the graphs that were compiled beforehand, rising; empty: any. Steps of the solver's cuts (CutLimits).
  std::vector<int64_t> graph_tokens{};
  int64_t row_step = 256, token_step = 32;
};

class Device;
// Of an open device, which they borrow, without what a caller chooses: its graphs and the steps of cuts.
DeviceTraits traits_of(const Device& device);

}  // namespace tandem
