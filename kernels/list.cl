// One kernel that works through a list of whole programs: what a pass of a few tokens is on a CPU device, where launching an operator costs
// more than many of them take (1 to 2 us of 4 to 20, measured on PoCL).
//
// Layout: one run of 64-bit words. A record is {variant, global size 0, 1, 2, words to the next record, arguments...}. A buffer argument is
//   a base address and a byte offset, every other one its bits in one word. In place of a variant: WAIT {.., flag line, epoch, number}, SIGNAL
//   {.., flag line, epoch}, both five words long, END. Addresses are the host's: only for devices whose memory is the host's own (proven at
//   start). The list is only read: epochs in it count from `base`, so one list serves every pass.
// Work mapping: one work-item does everything, work-items of a kernel in ascending order; so nothing needs a barrier.
// Residence: with idle_looks > 0 the kernel stays for so many looks at its bell after its list (engine/device/opencl/list_doorbell.h). bell, 16
//   words: 0 who accepts (0: nobody, a kernel's own serial: that kernel, ALL_POSTED: a list was posted and not yet taken), 1 the last kernel
//   that is to go, 4 base, 5 serial, 6-7 address, of the posted list. The host posts and the kernel leaves by exchanging word 0
//   from the kernel's serial: exactly one of them succeeds, so a list is never lost and never run twice.
// Stamps (where STAMPS is defined, and `stamps`, the address of their first word, is not 0): cycle counts at the start, behind every wait and
//   behind every record of a variant, one 64-bit word each, in this order; for a list that is measured (engine/device/opencl/list_stamps.h).
//   It must not stay then.
// Limits: CASES, which calls the variants, is generated (engine/device/opencl/list_source.h) and put in front, with their sources. done is
//   set to `serial` behind the last record; a failed wait is told by OF_LIST and its number, in a device's state whose word 2 is the serial.
#include "flags.cl"

#define END 0xffffffffffffffffUL
#define WAIT 0xfffffffffffffffeUL
#define SIGNAL 0xfffffffffffffffdUL
#define OF_LIST 0x80000000u

#ifdef STAMPS
#include "cycles.cl"
#define STAMP(at) \
  if (at) *(at)++ = cycle_stamp()
#else
#define STAMP(at)
#endif

// Records of the same few operators lie megabytes of weights apart in time: they have left the caches when their turn comes again.
#define FETCH_RECORDS(at) \
  PREFETCH(at, 512);      \
  PREFETCH(at, 576);      \
  PREFETCH(at, 640)

INLINE void run_list(__global const ulong *at, const uint base, const uint serial, volatile __global uint *device, const ulong spins,
                     volatile __global ulong *stamp) {
  if (LOAD_ACQUIRE(device) == 0) device[2] = serial;
  STAMP(stamp);
  for (; at[0] != END; at += at[4]) {
    FETCH_RECORDS(at);
    volatile __global uint *line = (volatile __global uint *)(size_t)at[1];
    if (at[0] == SIGNAL) {
      raise_flag(line, base + (uint)at[2], device);
      continue;
    }
    if (at[0] == WAIT) {
      wait_for_flag(line, base + (uint)at[2], device, OF_LIST | (uint)at[3], spins);
    } else if (LOAD_ACQUIRE(device) != 0) {
      continue;
    } else {
      __global const ulong *a = at + 5;
      size_t work_item[6] = {0, 0, 0, at[1], at[2], at[3]};  // its place, and how many there are
      switch (at[0]) {
        CASES
        default: break;
      }
    }
    STAMP(stamp);
  }
}

#define ALL_POSTED 0xffffffffu

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

__kernel void list(const ulong address, const uint base, const uint serial, BUFFER(done), BUFFER(state), const ulong spins, BUFFER(bell),
                   const ulong idle_looks, const ulong stamps) {
  volatile __global uint *device = AT(volatile uint, state), *ring = AT(volatile uint, bell);
  volatile __global const ulong *posted = (volatile __global const ulong *)(ring + 6);
  ulong list = address;
  uint from = base, number = serial;
  for (;;) {
    run_list((__global const ulong *)(size_t)list, from, number, device, spins,
             (volatile __global ulong *)(size_t)stamps);
    STORE_RELEASE(AT(volatile uint, done), number);
    if (!stay(ring, serial, idle_looks)) return;
    from = ring[4];
    number = ring[5];
    list = posted[0];
  }
}
