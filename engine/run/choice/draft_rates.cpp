#include "engine/run/choice/draft_rates.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace tandem {
namespace {

// The number changes with the classes of rates.
constexpr const char* kKey = "drafts 2";

std::optional<AcceptanceRates::Counts> counts_of(const nlohmann::json& pair) {
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number()) return std::nullopt;
  return AcceptanceRates::Counts{pair[0], pair[1]};
}

}  // namespace

AcceptanceRates kept_draft_rates(const DiskCache& cache) {
  AcceptanceRates rates;
  const auto kept = cache.value(kKey);
  if (!kept || !kept->is_array()) return rates;
  std::vector<AcceptanceRates::Counts> counts;
  for (const nlohmann::json& pair : *kept) {
    const auto read = counts_of(pair);
    if (!read) return rates;
    counts.push_back(*read);
  }
  rates.set_counts(counts);
  return rates;
}

void keep_draft_rates(const AcceptanceRates& rates, DiskCache& cache) {
  nlohmann::json counts = nlohmann::json::array();
  for (const AcceptanceRates::Counts& each : rates.counts()) counts.push_back({each.tried, each.accepted});
  if (cache.value(kKey) != counts) cache.set(kKey, std::move(counts));
}

}  // namespace tandem
