#include "engine/run/machine/expert_budget.h"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "sync/error.h"
#include "sync/parse_number.h"

namespace tandem {
namespace {

// This part of the free memory stays free if the budget is automatic.
constexpr double kKeptFree = 0.15;
// Without a budget, copies on a GPU get one of so many parts of the experts that fit the memory.
constexpr int64_t kPartsOfSlots = 4;
// With less free memory than the first of these parts a model returns slots, until the second one is free. With more
// than the third one it takes them again, until kKeptFree is free.
constexpr double kLittleFree = 0.05, kEnoughFree = 0.10, kMuchFree = 0.20;

std::string mebibytes(uint64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

// In tenths of a unit. Messages round a budget down and a need up, so a budget that is too small looks too small.
enum class Rounding { down, up };
std::string in_units(double bytes, Rounding rounding) {
  constexpr std::pair<double, const char*> kUnits[] = {{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}};
  const auto* unit = std::ranges::find_if(kUnits, [&](const auto& each) { return bytes >= each.first; });
  if (unit == std::end(kUnits)) --unit;
  const double tenths = bytes / unit->first * 10;
  return fmt::format("{:.15g} {}", (rounding == Rounding::up ? std::ceil(tenths) : std::floor(tenths)) / 10,
                     unit->second);
}

// A limit keeps a huge budget from overflowing the number of slots.
int64_t slots_in(double bytes, const PackedSizes& sizes) {
  return static_cast<int64_t>(std::min(bytes / static_cast<double>(sizes.layer_bytes()), 1e9));
}

bool is_given(const ExpertBudget& budget) { return budget.unit != ExpertBudget::Unit::automatic; }

bool fits(const PackedSizes& sizes, const std::optional<MemoryRoom>& room) {
  return !room || sizes.other_bytes + sizes.expert_bytes() <= room->bytes;
}

// From 0 to `most`. The comparison is written so that NaN, for which every comparison is false, is refused.
std::optional<double> amount_of(std::string_view text, double most) {
  const auto amount = parse_number<double>(text);
  return amount && *amount >= 0 && *amount <= most ? amount : std::nullopt;
}

// Experts of each layer that fit beside the other weights and `taken` experts of each layer.
int64_t experts_that_fit(const PackedSizes& sizes, const MemoryRoom& room, int64_t taken = 0) {
  const double free = static_cast<double>(room.bytes) * (1 - kKeptFree) - static_cast<double>(sizes.other_bytes);
  const int64_t experts = slots_in(std::max(free, 0.0), sizes) - taken;
  if (experts < 1)
    throw Error("there is too little memory for one expert of each layer",
                mebibytes(room.bytes) + " free in " + room.whose,
                "The other weights take " + mebibytes(sizes.other_bytes) + ", and one expert of each layer " +
                    mebibytes(sizes.layer_bytes()));
  return std::min(sizes.experts(), experts);
}

// Whether there are experts at all. Error if only a budget says so, or if a budget is above the machine's memory.
bool has_experts(const PackedSizes& sizes, const ExpertBudget& device, const ExpertBudget& host,
                 uint64_t machine_bytes) {
  require_budget_of_machine(device, "--expert-budget", machine_bytes);
  require_budget_of_machine(host, "--host-budget", machine_bytes);
  if (sizes.records.empty() && (is_given(device) || is_given(host)))
    throw Error("the model has no experts that could move", "--expert-budget, --host-budget",
                "Leave the budget out: all weights of this model are needed for every token");
  return !sizes.records.empty();
}

}  // namespace

// The form decides the unit: `auto`, a share of each layer's experts, or bytes. An amount that rounds to no byte, or
// that no machine has, is refused.
std::optional<ExpertBudget> read_expert_budget(std::string_view text, bool bare_gib) {
  using enum ExpertBudget::Unit;
  constexpr double kMost = 1e15;
  if (text == "auto") return ExpertBudget{};
  if (text.ends_with("%")) {
    const auto share = amount_of(text.substr(0, text.size() - 1), 100);
    return share && *share > 0 ? std::optional(ExpertBudget{percent, *share}) : std::nullopt;
  }
  constexpr std::pair<const char*, int> kUnits[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
  for (const auto& [unit, shift] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const auto count = amount_of(text.substr(0, text.size() - 3), kMost);
    const double all = count ? std::ldexp(*count, shift) : 0;
    return all >= 1 && all <= kMost ? std::optional(ExpertBudget{bytes, all}) : std::nullopt;
  }
  return bare_gib ? read_expert_budget(std::string(text) + "GiB", false) : std::nullopt;
}

// All experts of all layers, packed.
uint64_t PackedSizes::expert_bytes() const {
  uint64_t sum = 0;
  for (const ExpertRecords& each : records) sum += static_cast<uint64_t>(each.count) * each.bytes;
  return sum;
}

// One expert of each layer: what a slot of every layer takes together.
uint64_t PackedSizes::layer_bytes() const {
  uint64_t sum = 0;
  for (const ExpertRecords& each : records) sum += each.bytes;
  return sum;
}

int64_t PackedSizes::experts() const {
  int64_t most = 0;
  for (const ExpertRecords& each : records) most = std::max(most, each.count);
  return most;
}

PackedSizes packed_sizes(std::span<const ExpertRecords> records, std::span<const size_t> slot_bytes) {
  PackedSizes sizes{records};
  sizes.other_bytes = std::accumulate(slot_bytes.begin(), slot_bytes.end(), uint64_t{0}) - sizes.expert_bytes();
  return sizes;
}

// A percentage is of the experts, and bytes are divided by what a slot of each layer takes.
std::optional<int64_t> slots_of_budget(const ExpertBudget& budget, const PackedSizes& sizes, const char* flag) {
  switch (budget.unit) {
    case ExpertBudget::Unit::automatic:
      return std::nullopt;
    case ExpertBudget::Unit::percent:
      return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(sizes.experts()) * budget.amount / 100));
    case ExpertBudget::Unit::bytes:
      break;
  }
  const int64_t slots = slots_in(budget.amount, sizes);
  if (slots < 1)
    throw Error("the budget holds less than one expert of each layer",
                std::string(flag) + " of " + in_units(budget.amount, Rounding::down),
                "Give at least " + in_units(static_cast<double>(sizes.layer_bytes()), Rounding::up));
  return slots;
}

void require_budget_of_machine(const ExpertBudget& budget, const char* flag, uint64_t machine_bytes) {
  const auto machine = static_cast<double>(machine_bytes);
  if (budget.unit != ExpertBudget::Unit::bytes || machine <= 0 || budget.amount <= machine) return;
  throw Error("the budget is above what there is", std::string(flag) + " of " + in_units(budget.amount, Rounding::up),
              "This machine has " + in_units(machine, Rounding::down) + " of memory. Give less, or a share (25%)");
}

uint64_t machine_memory() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes) : 0;
}

// A budget of the user's counts as it is. Without one, experts move only if the model does not fit the free memory, of
// which a part stays free.
std::optional<int64_t> expert_slots(const ExpertBudget& device, const ExpertBudget& host, const PackedSizes& sizes,
                                    const std::optional<MemoryRoom>& room, uint64_t machine_bytes) {
  if (!has_experts(sizes, device, host, machine_bytes)) return std::nullopt;
  int64_t slots = sizes.experts();
  if (is_given(device) || is_given(host)) {
    slots = std::min({slots, slots_of_budget(device, sizes, "--expert-budget").value_or(slots),
                      slots_of_budget(host, sizes, "--host-budget").value_or(slots)});
  } else if (!fits(sizes, room)) {
    slots = experts_that_fit(sizes, *room);
  }
  if (slots >= sizes.experts()) return std::nullopt;
  return slots;
}

// Copies take memory beside what they are copies of.
std::optional<CopiedExperts> copied_experts(const ExpertBudget& device, const ExpertBudget& host,
                                            const PackedSizes& sizes, const std::optional<MemoryRoom>& room,
                                            uint64_t machine_bytes) {
  if (!has_experts(sizes, device, host, machine_bytes)) return std::nullopt;
  const int64_t all = sizes.experts();
  if (is_given(host) && !is_given(device))
    throw Error("the host's budget does not say how many experts the GPU holds", "--host-budget with --expert-copies",
                "Give --expert-budget too");
  int64_t slots = all;
  if (is_given(device))
    slots = std::min(all, *slots_of_budget(device, sizes, "--expert-budget"));
  else if (!fits(sizes, room))
    slots = std::max<int64_t>(1, experts_that_fit(sizes, *room) / kPartsOfSlots);
  else
    return std::nullopt;
  int64_t in_host = all;
  if (is_given(host))
    in_host = std::min(all, *slots_of_budget(host, sizes, "--host-budget"));
  else if (room && slots < all)  // otherwise the host's memory is asked for no expert
    in_host = experts_that_fit(sizes, *room, slots);
  return CopiedExperts{slots, in_host};
}

int64_t slots_from_now_on(const SlotRoom& room) {
  const auto first = static_cast<double>(room.first_bytes), free = static_cast<double>(room.free_bytes);
  const auto layer = static_cast<double>(room.layer_bytes);
  if (free < kLittleFree * first)
    return std::max<int64_t>(1, room.now - static_cast<int64_t>(std::ceil((kEnoughFree * first - free) / layer)));
  if (free > kMuchFree * first)
    return std::min(room.most, room.now + static_cast<int64_t>((free - kKeptFree * first) / layer));
  return room.now;
}

}  // namespace tandem
