#include "engine/model/layer_names.h"

#include <charconv>

namespace tandem {
namespace {

constexpr std::string_view kLayers = "blk.";

}  // namespace

std::optional<int64_t> layer_of(std::string_view name) {
  if (!name.starts_with(kLayers)) return std::nullopt;
  int64_t layer = 0;
  // from_chars() reads a minus sign too. A layer's number is not negative, and a point must follow it.
  const auto [end, error] = std::from_chars(name.data() + kLayers.size(), name.data() + name.size(), layer);
  const bool is_one = error == std::errc() && layer >= 0 && end != name.data() + name.size() && *end == '.';
  return is_one ? std::optional(layer) : std::nullopt;
}

std::string_view name_in_layer(std::string_view name) {
  return layer_of(name) ? name.substr(name.find('.', kLayers.size()) + 1) : name;
}

}  // namespace tandem
