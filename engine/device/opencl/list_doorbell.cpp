#include "engine/device/opencl/list_doorbell.h"

#include <algorithm>
#include <cstring>

namespace tandem::opencl {
namespace {

constexpr uint32_t kPosted = 0xffffffff;  // kernels/list.cl

// The bell's words from the fourth on.
struct PostedList {
  uint32_t base, serial;
  uint64_t address;
};
static_assert(sizeof(PostedList) <= sizeof(sync::FlagLine::unused));

}  // namespace

ListDoorbell::ListDoorbell(sync::Pool& pool, double look_seconds)
    : slot_(pool.acquire(sizeof(sync::FlagLine), sync::SlotUse::flags, "doorbell of lists")),
      idle_looks_(static_cast<uint64_t>(std::max(64.0, std::chrono::duration<double>(kStays).count() / look_seconds))) {
}

// Only this thread posts, so nobody reads the words until the exchange has published them.
bool ListDoorbell::post(const List& list) {
  uint32_t accepting = resident_;
  if (accepting == 0 || line().epoch.load(std::memory_order_acquire) != accepting) return false;
  const PostedList posted{list.base, list.serial, list.address};
  std::memcpy(line().unused, &posted, sizeof posted);
  return line().epoch.compare_exchange_strong(accepting, kPosted, std::memory_order_seq_cst);
}

void ListDoorbell::dismiss() {
  if (resident_ == 0) return;
  line().failure.store(resident_, std::memory_order_release);
  resident_ = 0;
}

}  // namespace tandem::opencl
