#include "engine/device/opencl/list_doorbell.h"

#include <algorithm>
#include <cstring>

namespace tandem::opencl {
namespace {

constexpr uint32_t kPosted = 0xffffffff;  // ALL_POSTED in kernels/list.cl

// The words 4 to 7 of the bell's line, as kernels/list.cl reads them.
struct PostedList {
  uint32_t base, serial;
  uint64_t address;
};
static_assert(sizeof(PostedList) <= sizeof(sync::FlagLine::unused));

}  // namespace

// The limit of idle looks is kStays in looks. The kernel checks it at every 64th look, so fewer than 64 looks would not
// be noticed.
ListDoorbell::ListDoorbell(sync::Pool& pool, double look_seconds)
    : slot_(pool.acquire(sizeof(sync::FlagLine), sync::SlotUse::flags, "doorbell of lists")),
      idle_looks_(static_cast<uint64_t>(std::max(64.0, std::chrono::duration<double>(kStays).count() / look_seconds))) {
}

// Writes the list, then exchanges word 0 from the kernel's serial number to kPosted. The kernel leaves by exchanging
// the same word, so exactly one of the two succeeds. Only this thread posts, so no kernel reads the words before the
// exchange has published them.
bool ListDoorbell::post(const List& list) {
  uint32_t accepting = resident_;
  if (accepting == 0 || line().epoch.load(std::memory_order_acquire) != accepting) return false;
  const PostedList posted{list.base, list.serial, list.address};
  std::memcpy(line().unused, &posted, sizeof posted);
  return line().epoch.compare_exchange_strong(accepting, kPosted, std::memory_order_seq_cst);
}

// Word 1 of the line holds the serial number of the last kernel that must leave.
void ListDoorbell::dismiss() {
  if (resident_ == 0) return;
  line().failure.store(resident_, std::memory_order_release);
  resident_ = 0;
}

}  // namespace tandem::opencl
