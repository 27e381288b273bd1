// A bound on the speed of a text on a card, by bytes alone: what a token reads from the card's memory, and what it must
// fetch over the link.
#include "engine/moe/card_speed.h"

#include <charconv>
#include <set>
#include <sstream>

#include "engine/moe/mixture_shape.h"
#include "sync/error.h"

namespace tandem {

// Reads `key=value` parts in any order. Speeds and memory are all required, because a missing one would silently change
// the curve.
Card parse_card(const std::string& text) {
  const auto refuse = [&](const std::string& problem) {
    throw Error("a card cannot be understood: " + problem, text.substr(0, 120),
                "Write it as gbps=960,memory=16,link=63, in GB and GB/s");
  };
  Card card{text.substr(0, 80), 0, 0, 0};
  std::set<std::string> seen;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t equals = part.find('=');
    const std::string key = part.substr(0, equals), value = equals == std::string::npos ? "" : part.substr(equals + 1);
    if (!seen.insert(key).second) refuse(key.substr(0, 40) + " is there twice");
    if (key == "name") {
      card.name = value;
      continue;
    }
    double* const target = key == "gbps"     ? &card.bytes_per_second
                           : key == "memory" ? &card.memory_bytes
                           : key == "link"   ? &card.link_bytes_per_second
                                             : nullptr;
    if (target == nullptr) refuse("there is no key '" + key.substr(0, 40) + "'");
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool is_number = error == std::errc() && end == value.data() + value.size();
    if (!is_number || !(number > 0) || !(number <= 1e6)) refuse(key + " is no number above 0 and up to a million");
    *target = number * 1e9;
  }
  if (card.bytes_per_second == 0) refuse("gbps is missing");
  if (card.memory_bytes == 0) refuse("memory is missing");
  if (card.link_bytes_per_second == 0) refuse("link is missing");
  return card;
}

double ExpertBytes::held(double budget) const {
  return other_held + budget * expert * static_cast<double>(layers * experts);
}

// The embedding is held but hardly read: a token reads one of its rows. A tied output is the same matrix.
ExpertBytes expert_bytes(const ModelConfig& config, StorageType type) {
  const MixtureShape shape = mixture_shape(config);
  const double bytes_of_weight =
      static_cast<double>(info(type).block_bytes) / static_cast<double>(info(type).block_values);
  const auto sized = [&](int64_t weights) { return static_cast<double>(weights) * bytes_of_weight; };
  ExpertBytes bytes{shape.layers, shape.experts, shape.used, 0, 0, 0};
  const int64_t H = config.hidden, dense = config.layers - shape.layers;
  bytes.expert = sized(3 * H * shape.expert.feed_forward);
  const double output = sized(config.vocabulary * H),
               routers = 4.0 * static_cast<double>(shape.layers * shape.experts * H);
  bytes.other_read = sized(config.layers * shape.projection_weights + dense * 3 * H * config.feed_forward +
                           shape.layers * 3 * H * shape.shared_feed_forward) +
                     routers + output;
  bytes.other_held = bytes.other_read + (config.tied_output ? 0 : output);
  return bytes;
}

// One token after another, so both times add up. Overlapping them would be faster by a factor of two at most.
double tokens_per_second(const ExpertBytes& model, const Card& card, double hit_rate) {
  const double experts = model.expert * static_cast<double>(model.layers * model.used);
  const double seconds =
      (model.other_read + experts) / card.bytes_per_second + (1 - hit_rate) * experts / card.link_bytes_per_second;
  return 1 / seconds;
}

// The first point behind which a gigabyte more gives less than 5 % more speed.
std::optional<size_t> knee_of(std::span<const SpeedPoint> points) {
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    const double gigabytes = (points[i + 1].bytes - points[i].bytes) / 1e9,
                 more = points[i + 1].tokens_per_second / points[i].tokens_per_second - 1;
    if (gigabytes > 0 && more / gigabytes < 0.05) return i;
  }
  return std::nullopt;
}

}  // namespace tandem
