#include "engine/draft/acceptance_rates.h"

#include <algorithm>
#include <bit>

namespace tandem {
namespace {

constexpr double kPriorTrials = 8;  // the weight of a prior

// Rates by the length of the match, for each place of a token.
using Lengths = std::array<double, AcceptanceRates::kLengthClasses>;
using Places = std::array<Lengths, kDraftPlaces>;
// Measured in a replay of 60 summaries, 30 edited texts, 30 dialogues and 150 answers of a user interface's assistant.
constexpr Places kText = {{
    {0.14, 0.47, 0.79, 0.93, 0.93, 0.96, 0.96},  // once
    {0.50, 0.68, 0.68, 0.86, 0.89, 0.90, 0.95},  // again
    {0.09, 0.18, 0.21, 0.26, 0.80, 0.90, 0.95},  // newest
    {0.04, 0.09, 0.08, 0.14, 0.20, 0.25, 0.25},  // other
    {0.15, 0.60, 0.70, 0.93, 0.95, 0.97, 0.97},  // later
}};
constexpr Places kRecords = {{
    {0.08, 0.16, 0.45, 0.66, 0.80, 0.82, 0.88},
    {0.64, 0.74, 0.89, 0.94, 0.97, 0.97, 0.97},
    {0.05, 0.05, 0.34, 0.28, 0.55, 0.55, 0.66},
    {0.03, 0.05, 0.10, 0.15, 0.20, 0.25, 0.25},
    {0.10, 0.38, 0.61, 0.77, 0.83, 0.83, 0.89},
}};
constexpr Places always(double rate) {
  Places places{};
  for (Lengths& lengths : places) lengths.fill(rate);
  return places;
}
// S2: by rank, and not by length. Places are once, again, newest, other and later.
constexpr Places calibrated() {
  Places places = always(0.2);
  places[static_cast<size_t>(DraftPlace::other)].fill(0.06);
  places[static_cast<size_t>(DraftPlace::later)].fill(0.3);
  return places;
}
// By source. Calibrated and reused drafts have no match, so their rates begin low. A draft model begins high enough
// to be tried.
constexpr std::array<Places, kDraftSources> kPriors = {always(0.1),  kText,        kText,       kRecords,
                                                       calibrated(), always(0.25), always(0.75)};

// A class has one place in a flat table: source, then length, then place. prior_of() takes the index apart again.
size_t index_of(const DraftClass& of) {
  const auto source = static_cast<size_t>(of.source), length = static_cast<size_t>(length_class_of(of.length));
  return (source * AcceptanceRates::kLengthClasses + length) * kDraftPlaces + static_cast<size_t>(of.place);
}

double prior_of(size_t index) {
  const size_t place = index % kDraftPlaces, length = index / kDraftPlaces % AcceptanceRates::kLengthClasses,
               source = index / kDraftPlaces / AcceptanceRates::kLengthClasses;
  return kPriors[source][place][length];
}

}  // namespace

// Lengths are classed by powers of two, because rates differ little between long matches.
int length_class_of(int64_t length) {
  if (length <= 1) return 0;
  return std::min<int>(std::bit_width(static_cast<uint64_t>(length - 1)), AcceptanceRates::kLengthClasses - 1);
}

// A class begins with its prior, which counts as some trials. Measured ones soon outweigh it.
AcceptanceRates::AcceptanceRates() {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] = {kPriorTrials, kPriorTrials * prior_of(i)};
}

double AcceptanceRates::probability(const DraftClass& of) const {
  const Counts& counts = counts_[index_of(of)];
  return counts.accepted / counts.tried;
}

// Old trials fade, so that a rate follows what the texts are like now.
void AcceptanceRates::add(const DraftClass& of, bool accepted) {
  Counts& counts = counts_[index_of(of)];
  const double kept = std::min(1.0, (kMemory - 1) / counts.tried);
  // A quarter of a trial of each kind stays, so that no probability becomes 0 or 1.
  counts.tried = std::max(counts.tried * kept, 0.5) + 1;
  counts.accepted = std::clamp(counts.accepted * kept + (accepted ? 1 : 0), 0.25, counts.tried - 0.25);
}

// Counts may come from a file. Broken ones are left out, and the priors stay.
void AcceptanceRates::set_counts(std::span<const Counts> counts) {
  if (counts.size() != counts_.size()) return;
  const bool plausible = std::ranges::all_of(counts, [](const Counts& each) {
    return each.tried >= 1 && each.tried <= kMemory && each.accepted > 0 && each.accepted < each.tried;
  });
  if (plausible) std::ranges::copy(counts, counts_.begin());
}

}  // namespace tandem
