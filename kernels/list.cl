// One kernel that works through a list of whole programs: what a pass of one token is on a CPU device, where launching an operator costs
// more than many of them take (1 to 2 us of 4 to 20, measured on PoCL).
//
// Layout: entries[i] is four 64-bit words: {0, flag line, epoch, serial} waits, {1, flag line, epoch} signals, {2, records} runs a program.
//   A record is {variant, global size 0, 1, 2, words to the next record, arguments...}; variant ALL_ONES ends the program. A buffer argument is
//   a base address and a byte offset, every other one its bits in one word. Addresses are the host's: only for devices whose memory is
//   the host's own (proven at start).
// Work mapping: one work-item does everything, work-items of a kernel in ascending order; so nothing needs a barrier.
// Residence: with idle_looks > 0 the kernel stays for so many looks at its bell after its list (engine/device/opencl/list_doorbell.h). bell, 16
//   words: 0 who accepts (0: nobody, a kernel's own serial: that kernel, ALL_POSTED: a list was posted and not yet taken), 1 the last kernel
//   that is to go, 4 count, 5 serial, 6-7 entries, 8-9 done, of the posted list. The host posts and the kernel leaves by exchanging word 0
//   from the kernel's serial: exactly one of them succeeds, so a list is never lost and never run twice.
// Stamps (STAMPS defined): cycle counts at the start, behind every wait and behind every record, one 64-bit word each, in this order; for a
//   list that is measured (engine/device/opencl/list_stamps.h). Such a kernel does not stay.
// Limits: CASES, which calls the variants, is generated (engine/device/opencl/list_source.h) and put in front, with their sources. done is
//   set to `serial` behind the last entry.
#include "flags.cl"

#define ALL_ONES 0xffffffffffffffffUL

#ifdef STAMPS
#include "cycles.cl"
#define STAMPS_PARAMETER , BUFFER(stamps)
#define FIRST_STAMP AT(volatile ulong, stamps)
#define STAMP(at) (*(at)++ = cycle_stamp())
#else
#define STAMPS_PARAMETER
#define FIRST_STAMP 0
#define STAMP(at)
#endif

// Gives back where the next stamp goes.
INLINE volatile __global ulong *run_records(__global const ulong *at, volatile __global ulong *stamp) {
  for (; at[0] != ALL_ONES; at += at[4]) {
    __global const ulong *a = at + 5;
    size_t work_item[3];
    switch (at[0]) {
      CASES
      default: break;
    }
    STAMP(stamp);
  }
  return stamp;
}

#define ALL_POSTED 0xffffffffu

INLINE void run_entries(__global const ulong *entry, const uint count, volatile __global uint *device, const ulong spins,
                        volatile __global ulong *stamp) {
  STAMP(stamp);
  for (uint i = 0; i < count; ++i, entry += 4) {
    if (entry[0] == 0) {
      wait_for_flag((volatile __global uint *)(size_t)entry[1], (uint)entry[2], device, (uint)entry[3], spins);
      STAMP(stamp);
    } else if (entry[0] == 1) {
      raise_flag((volatile __global uint *)(size_t)entry[1], (uint)entry[2], device);
    } else if (LOAD_ACQUIRE(device) == 0) {
      stamp = run_records((__global const ulong *)(size_t)entry[1], stamp);
    }
  }
}

INLINE bool leave(volatile __global uint *bell, const uint self) {
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  return atomic_cmpxchg(bell, self, 0u) == self;
}

// True: a list was posted. False: nobody posted one for idle_looks, or this kernel was told to go; nobody can post to it any more.
INLINE bool stay(volatile __global uint *bell, const uint self, const ulong idle_looks) {
  if (idle_looks == 0) return false;
  STORE_RELEASE(bell, self);
  for (ulong idle = 1; LOAD_ACQUIRE(bell) == self; ++idle) {
    if ((idle & 63) != 0) continue;
    const bool told = (int)(LOAD_ACQUIRE(bell + 1) - self) >= 0;
    if ((told || idle >= idle_looks) && leave(bell, self)) return false;
  }
  return true;
}

__kernel void list(BUFFER(entries), const uint count, BUFFER(done), const uint serial, BUFFER(state), const ulong spins, BUFFER(bell),
                   const ulong idle_looks STAMPS_PARAMETER) {
  volatile __global uint *device = AT(volatile uint, state), *ring = AT(volatile uint, bell), *ended = AT(volatile uint, done);
  volatile __global const ulong *addresses = (volatile __global const ulong *)(ring + 6);
  __global const ulong *entry = AT(const ulong, entries);
  uint left = count, number = serial;
  for (;;) {
    run_entries(entry, left, device, spins, FIRST_STAMP);
    STORE_RELEASE(ended, number);
    if (!stay(ring, serial, idle_looks)) return;
    left = ring[4];
    number = ring[5];
    entry = (__global const ulong *)(size_t)addresses[0];
    ended = (volatile __global uint *)(size_t)addresses[1];
  }
}
