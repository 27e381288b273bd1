#include "engine/device/device_json.h"

#include <nlohmann/json.hpp>

#include "engine/device/card_name.h"

namespace tandem {

// Names are those that documents and JSON use.
const char* name_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::gpu:
      return "gpu";
    case DeviceKind::npu:
      return "npu";
    case DeviceKind::unit:
      return "near-memory unit";
    case DeviceKind::host:
      break;
  }
  return "host";
}

const char* name_of(KernelFamily family) {
  switch (family) {
    case KernelFamily::simd:
      return "simd";
    case KernelFamily::simt:
      return "simt";
    case KernelFamily::none:
      break;
  }
  return "none";
}

// Everything that a device says about itself, under names that stay: scripts and the bindings read them.
nlohmann::json to_json(const DeviceInfo& info) {
  using nlohmann::json;
  json policies = json::array();
  for (const PolicyTest& test : info.policies)
    policies.push_back({{"policy", name_of(test.policy)}, {"passed", test.passed}, {"reason", test.reason}});
  return {{"id", info.id},
          {"name", info.name},
          {"driver", info.driver},
          {"kind", name_of(info.kind)},
          {"kernels", name_of(info.family)},
          {"memory_bytes", info.memory_bytes},
          {"max_allocation_bytes", info.max_allocation_bytes},
          {"compute_units", info.compute_units},
          {"compute_units_note", info.units_note},
          {"card", to_string(info.card)},
          {"card_uuid", info.card.uuid},
          {"card_pci", info.card.pci},
          {"discrete", info.discrete},
          {"cores", info.cores},
          {"own_memory", info.own_memory},
          {"zero_copy", info.zero_copy},
          {"zero_copy_note", info.zero_copy_note},
          {"fused_fma", info.fused_fma},
          {"exact_quotients", info.exact_quotients},
          {"f16_operands", info.rounds_to_f16},
          {"policies", policies},
          {"kernels", info.kernels}};
}

}  // namespace tandem
