// The names of a graphics card that do not depend on the interface: its UUID and its place on the bus.
//
// All functions are pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace tandem {

struct CardName {
  std::string uuid;  // 32 hexadecimal digits; "": the driver does not say, or it is no card
  std::string pci;   // "0000:65:00.0"; likewise
  bool operator==(const CardName&) const = default;
};

std::string uuid_text(const std::array<uint8_t, 16>& uuid);  // "" where all are zero
std::string pci_text(uint32_t domain, uint32_t bus, uint32_t device, uint32_t function);

// Whether both say that they are the same card, by one name or the other.
bool is_one_card(const CardName& a, const CardName& b);
std::string to_string(const CardName& card);  // "pci 0000:65:00.0", "uuid 01..."; "": it has no name

}  // namespace tandem
