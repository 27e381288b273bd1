// The identity of a graphics card, independent of the interface: its UUID and its place on the bus.
//
// All functions are pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace tandem {

struct CardName {
  std::string uuid;  // 32 hexadecimal digits; "": the driver does not say, or the device is not a card
  std::string pci;   // "0000:65:00.0"; "": likewise
  bool operator==(const CardName&) const = default;
};

std::string uuid_text(const std::array<uint8_t, 16>& uuid);  // "": all bytes are zero
std::string pci_text(uint32_t domain, uint32_t bus, uint32_t device, uint32_t function);

// Whether both names say that they are the same card, by UUID or by place.
bool is_one_card(const CardName& a, const CardName& b);
std::string to_string(const CardName& card);  // "pci 0000:65:00.0", "uuid 01..."; "": the card has no name

}  // namespace tandem
