// One kernel that works through a list of whole programs: what a pass of one token is on a CPU device, where launching an operator costs
// more than many of them take (1 to 2 us of 4 to 20, measured on PoCL).
//
// Layout: entries[i] is four 64-bit words: {0, flag line, epoch, serial} waits, {1, flag line, epoch} signals, {2, records} runs a program.
//   A record is {variant, global size 0, 1, 2, words to the next record, arguments...}; variant ALL_ONES ends the program. A buffer argument is
//   a base address and a byte offset, every other one its bits in one word. Addresses are the host's: only for devices whose memory is
//   the host's own (proven at start).
// Work mapping: one work-item does everything, work-items of a kernel in ascending order; so nothing needs a barrier.
// Limits: CASES, which calls the variants, is generated (engine/device/opencl/list_source.h) and put in front, with their sources. done is
//   set to `serial` behind the last entry.
#include "flags.cl"

#define ALL_ONES 0xffffffffffffffffUL

INLINE void run_records(__global const ulong *at) {
  for (; at[0] != ALL_ONES; at += at[4]) {
    __global const ulong *a = at + 5;
    size_t work_item[3];
    switch (at[0]) {
      CASES
      default: break;
    }
  }
}

__kernel void list(BUFFER(entries), const uint count, BUFFER(done), const uint serial, BUFFER(state), const ulong spins) {
  volatile __global uint *device = AT(volatile uint, state);
  for (uint i = 0; i < count; ++i) {
    __global const ulong *entry = AT(const ulong, entries) + i * 4;
    if (entry[0] == 0) {
      wait_for_flag((volatile __global uint *)(size_t)entry[1], (uint)entry[2], device, (uint)entry[3], spins);
    } else if (entry[0] == 1) {
      raise_flag((volatile __global uint *)(size_t)entry[1], (uint)entry[2], device);
    } else if (LOAD_ACQUIRE(device) == 0) {
      run_records((__global const ulong *)(size_t)entry[1]);
    }
  }
  STORE_RELEASE(AT(volatile uint, done), serial);
}
