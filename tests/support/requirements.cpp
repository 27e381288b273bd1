#include "tests/support/requirements.h"

#include <cstdlib>

namespace tandem::test {

const char* required_by(Needs what) {
  switch (what) {
    case Needs::opencl:
      return "REQUIRE_OPENCL";
    case Needs::vulkan:
      return "REQUIRE_VULKAN";
    case Needs::data:
      return "REQUIRE_DATA";
  }
  return "";
}

bool is_required(Needs what) {
  const char* value = std::getenv(required_by(what));
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

std::optional<Needs> needs_of(std::string_view device) {
  if (device.starts_with("opencl")) return Needs::opencl;
  if (device.starts_with("vulkan")) return Needs::vulkan;
  return std::nullopt;
}

std::string absence(std::optional<Needs> what, const std::string& reason) {
  return what && is_required(*what) ? reason + ", and " + required_by(*what) + " is set" : reason;
}

}  // namespace tandem::test
