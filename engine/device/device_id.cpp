// Ids of devices as users write them: a prefix, a number, and parameters.
#include "engine/device/device_id.h"

#include <algorithm>

#include "sync/parse_number.h"

namespace tandem {
namespace {

constexpr const char* kLetters = "abcdefghijklmnopqrstuvwxyz";

// Returns the text before the next `end` and removes both from `text`; without `end`, takes all of it.
std::string_view take_until(char end, std::string_view& text) {
  const size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return taken;
}

std::optional<int> number(std::string_view digits) {
  constexpr size_t kMostDigits = 4;
  if (digits.size() > kMostDigits || digits.starts_with('-')) return std::nullopt;  // "-0" is a number to the parser
  return parse_number<int>(digits);
}

}  // namespace

// Splits the text at '?', the device's part at ':' and the parameters at '&' and '='.
std::optional<DeviceId> parse_device_id(std::string_view text) {
  const bool asks = text.find('?') != std::string_view::npos;
  std::string_view device = take_until('?', text);
  const bool numbered = device.find(':') != std::string_view::npos;
  DeviceId id;
  id.prefix = take_until(':', device);
  if (id.prefix.empty() || id.prefix.find_first_not_of(kLetters) != std::string::npos) return std::nullopt;
  if (numbered) {
    const std::optional<int> index = number(device);
    if (!index) return std::nullopt;
    id.index = *index;
  }
  if (asks && text.empty()) return std::nullopt;
  while (!text.empty()) {
    std::string_view value = take_until('&', text);
    const std::string name(take_until('=', value));
    if (name.empty() || !id.parameters.emplace(name, value).second) return std::nullopt;
  }
  return id;
}

// The numbers stand between ':' and the parameters.
std::vector<std::string> devices_of_range(std::string_view text) {
  const size_t parameters = std::min(text.find('?'), text.size());
  const size_t colon = text.substr(0, parameters).find(':');
  const size_t dash = text.substr(0, parameters).find('-', colon == std::string_view::npos ? 0 : colon);
  if (colon == std::string_view::npos || dash == std::string_view::npos) return {std::string(text)};
  const std::optional<int> first = number(text.substr(colon + 1, dash - colon - 1));
  const std::optional<int> last = number(text.substr(dash + 1, parameters - dash - 1));
  if (!first || !last || *last < *first || *last - *first >= kMostOfRange) return {std::string(text)};
  std::vector<std::string> ids;
  for (int index = *first; index <= *last; ++index)
    ids.push_back(std::string(text.substr(0, colon + 1)) + std::to_string(index) +
                  std::string(text.substr(parameters)));
  return ids;
}

std::string to_string(const DeviceParameters& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters) text += (text.empty() ? "" : "&") + name + "=" + value;
  return text;
}

}  // namespace tandem
