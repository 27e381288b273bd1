#include "engine/device/opencl/program_list.h"

#include <algorithm>
#include <set>

#include "engine/device/opencl/list_source.h"

namespace tandem::opencl {
namespace {

// Keeps one signal for each flag: the last one. A flag's epochs rise, so its last signal stands for the earlier ones.
void raise_last(const sync::Signal& signal, std::vector<sync::Signal>& signals) {
  const auto known = std::ranges::find_if(
      signals, [&](const sync::Signal& other) { return &other.flag.line() == &signal.flag.line(); });
  known == signals.end() ? signals.push_back(signal) : void(*known = signal);
}

}  // namespace

// Writes waits, records and signals one after the other, as 64-bit words. The words go into memory of the pool, where
// the device reads them in place.
ProgramList::ProgramList(std::span<const ListedLaunch> launches, sync::Pool& pool) : pool_(pool) {
  if (!launches.empty()) name_ = launches.front().program->name;
  std::vector<uint64_t> words;
  std::set<uint64_t> variants;
  for (const auto& [program, waits, signal] : launches) {
    // A wait is a part without a program: the kernel stamps its end, but it gets no span.
    for (const sync::WaitFor& wait : waits) {
      append_wait(wait, static_cast<uint32_t>(waits_.size()), words);
      waits_.push_back(wait);
      parts_.push_back({});
    }
    words.insert(words.end(), program->records.begin(), program->records.end());
    for (const int op : program->operator_of) parts_.push_back({program->owner, op});
    variants.insert(program->variants.begin(), program->variants.end());
    if (!signal.flag) continue;
    append_signal(signal, words);
    raise_last(signal, signals_);
  }
  append_end(words);
  // The variants are sorted, so std::ranges::includes() can compare sets of them.
  variants_.assign(variants.begin(), variants.end());
  sync::Slot& slot = pool.acquire(words.size() * sizeof(uint64_t), sync::SlotUse::flags, "list of programs");
  std::ranges::copy(words, slot.as<uint64_t>());
  words_ = &slot;
}

ProgramList::~ProgramList() { pool_.release(*words_); }

uint64_t ProgramList::address() const { return reinterpret_cast<uintptr_t>(words_->data()); }

}  // namespace tandem::opencl
