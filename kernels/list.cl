// Executes a list of whole programs in one kernel. A pass of a few tokens runs so on a CPU device. Launching an
// operator there costs more than many operators take (1 to 2 us of 4 to 20, measured on PoCL).
//
// Layout: one run of 64-bit words, a sequence of records: {variant, global size 0, 1, 2, words to the next
//   record, arguments...}.
//   A buffer argument is a base address and a byte offset; every other argument is its bits in one word.
//   Three records have a marker in place of a variant: WAIT {.., flag line, epoch, number} and SIGNAL {.., flag line,
//   epoch}, five words each, and END.
//   Addresses are the host's, so lists are only for devices that share the host's memory (proven at start).
//   The kernel only reads the list. Its epochs count from `base`, so one list serves every pass.
// Work mapping: one work-item executes everything, and runs the work-items of a kernel in ascending order. So no
//   barrier is needed.
// Residence: with idle_looks > 0 the kernel stays after its list, for idle_looks looks at its
//   bell (engine/device/opencl/list_doorbell.h).
//   bell is 16 words. Word 0 says who accepts a list. 0 means no kernel, a kernel's own serial means that kernel, and
//   ALL_POSTED means that a posted list waits.
//   Word 1 is the last kernel that must leave. Words 4, 5 and 6-7 are base, serial and address of the posted list.
//   The host posts and the kernel leaves by exchanging word 0 from the kernel's serial. Exactly one of them succeeds,
//   so a list is never lost and never runs twice.
// Stamps: where STAMPS is defined and `stamps` is not 0, the kernel writes cycle counts from address `stamps` on, one
//   64-bit word each. It stamps its start, then the end of every wait and of every record of a variant, in this
//   order. The host asks for stamps when it measures a list (engine/device/opencl/list_stamps.h); such a kernel must
//   not stay resident.
// Limits: CASES calls the variants. The host generates it (engine/device/opencl/list_source.h) and puts it in front,
//   together with the sources of the variants.
//   The kernel sets `done` to `serial` after the last record. A failed wait reports OF_LIST and its number, in a device
//   state whose word 2 is the serial.
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

// Megabytes of weights pass through the caches between two runs of the same record, so the records are no longer
// cached. They are prefetched.
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
      size_t work_item[6] = {0, 0, 0, at[1], at[2], at[3]};  // its global id, then the global size
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

// True: the host posted a list. False: idle_looks passed without one, or the host asked this kernel to leave; no list
// can arrive any more.
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
  volatile __global uint *device = PTR(volatile uint, state), *ring = PTR(volatile uint, bell);
  volatile __global const ulong *posted = (volatile __global const ulong *)(ring + 6);
  ulong list = address;
  uint from = base, number = serial;
  for (;;) {
    run_list((__global const ulong *)(size_t)list, from, number, device, spins,
             (volatile __global ulong *)(size_t)stamps);
    STORE_RELEASE(PTR(volatile uint, done), number);
    if (!stay(ring, serial, idle_looks)) return;
    from = ring[4];
    number = ring[5];
    list = posted[0];
  }
}
