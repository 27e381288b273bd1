// Names of graphics cards by UUID or by place on the bus. OpenCL and Vulkan both list a card, and these names tell that
// it is one.
#include "engine/device/card_name.h"

#include <algorithm>
#include <cstdio>

namespace tandem {

std::string uuid_text(const std::array<uint8_t, 16>& uuid) {
  // A UUID of zeros is none.
  if (std::ranges::all_of(uuid, [](uint8_t byte) { return byte == 0; })) return "";
  std::string text;
  for (const uint8_t byte : uuid) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

std::string pci_text(uint32_t domain, uint32_t bus, uint32_t device, uint32_t function) {
  char text[48];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", domain, bus, device, function);
  return text;
}

// One equal name is enough, because an interface may report only one of the two.
bool is_one_card(const CardName& a, const CardName& b) {
  return (!a.uuid.empty() && a.uuid == b.uuid) || (!a.pci.empty() && a.pci == b.pci);
}

std::string to_string(const CardName& card) {
  if (!card.pci.empty()) return "pci " + card.pci;
  return card.uuid.empty() ? "" : "uuid " + card.uuid;
}

}  // namespace tandem
