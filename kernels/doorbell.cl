// What waiting costs, by itself: a step whose length is given and whose result is checked, launched like any kernel (probe_step) or taken
// from shared memory by a kernel that stays on the device (doorbell).
//
// Layout: lines of 16 words. done (engine/device/lab/stepped_probe.h): 0 epoch, 4 value, 5 count of steps, 6-7 begin, 8-9 end, in cycles. bell:
//   0 the step wanted, 1 stop, 2 resident (1: a doorbell kernel serves this bell), 4 timed, 6-7 iterations of a step.
// Orders: flags.cl. Everything a step writes lies in the flag's own line, so that one line changes hands. The resident word and the bell are
//   looked at crosswise (the kernel clears resident, then looks at the bell again; the host rings, then looks at resident), so both
//   sides use exchanges, which are ordered with everything before and after on every memory model that has them.
// Work mapping: one work-item.
// Limits: the doorbell ends after idle_looks looks at a bell that nobody rings. HAS_CYCLES: the compiler has the processor's cycle counter.
#include "flags.cl"

#ifdef HAS_CYCLES
// Not before what was computed, not after what comes: the counter alone is no fence.
INLINE ulong cycles(void) {
  __builtin_ia32_lfence();
  const ulong now = __builtin_readcyclecounter();
  __builtin_ia32_lfence();
  return now;
}
#else
INLINE ulong cycles(void) { return 0; }
#endif

#ifdef C11_ATOMICS
#define EXCHANGE(p, value) \
  atomic_exchange_explicit((__global atomic_uint *)(p), (value), memory_order_seq_cst, memory_scope_device)
#else
INLINE uint exchange(volatile __global uint *p, uint value) {
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  const uint old = atomic_xchg(p, value);
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  return old;
}
#define EXCHANGE(p, value) exchange(p, value)
#endif

// `count` is what line[5] will hold: the caller knows it, so that the line need not be read while the host looks at it.
INLINE void run_step(volatile __global uint *line, const uint step, const uint count, const ulong iterations, const uint timed) {
  volatile __global ulong *times = (volatile __global ulong *)(line + 6);
  const ulong begin = timed ? cycles() : 0;
  uint x = 0x9e3779b9u;
  for (ulong i = 0; i < iterations; ++i) {
    x = x * 747796405u + 2891336453u;
    x ^= x >> 15;
  }
  if (timed) {
    times[0] = begin;
    line[4] = x + step;  // volatile: the chain is behind us
    times[1] = cycles();
  }
  line[4] = x + step;
  line[5] = count;
  STORE_RELEASE(line, step);
}

__kernel void probe_step(BUFFER(done), const uint step, const ulong iterations, const uint timed) {
  run_step(AT(volatile uint, done), step, AT(volatile uint, done)[5] + 1, iterations, timed);
}

// A step behind its gate in one kernel, as the list kernel has it: starting a queued kernel costs as much again as the gate.
// What it reads of the done line it reads before it waits.
__kernel void gated_step(BUFFER(go), BUFFER(state), const uint serial, const ulong spins, BUFFER(done), const uint step, const ulong iterations,
                         const uint timed) {
  const uint count = AT(volatile uint, done)[5] + 1;
  wait_for_flag(AT(volatile uint, go), step, AT(volatile uint, state), serial, spins);
  if (LOAD_ACQUIRE(AT(volatile uint, state)) == 0) run_step(AT(volatile uint, done), step, count, iterations, timed);
}

// Between looks at the bell, every fourth time: looks without it hold the line up on its way (a quarter of the round trip between distant
// cores, measured), looks that all have it see the bell late (half as much again between near ones).
#ifdef __has_builtin
#if __has_builtin(__builtin_ia32_pause)
#define PAUSE() __builtin_ia32_pause()
#endif
#endif
#ifndef PAUSE
#define PAUSE()
#endif

__kernel void doorbell(BUFFER(bell), BUFFER(done), const ulong idle_looks) {
  volatile __global uint *ring = AT(volatile uint, bell), *line = AT(volatile uint, done);
  uint step = LOAD_ACQUIRE(line), count = line[5];
  EXCHANGE(ring + 2, 1);
  for (ulong idle = 1;; ++idle) {
    const uint wanted = LOAD_ACQUIRE(ring);
    if ((int)(wanted - step) > 0) {
      const ulong iterations = *(volatile __global ulong *)(ring + 6);
      const uint timed = ring[4];
      while (step != wanted) run_step(line, ++step, ++count, iterations, timed);
      idle = 0;
      continue;
    }
    if ((idle & 3) == 0) PAUSE();
    if ((idle & 63) == 0) {
      const bool stop = LOAD_ACQUIRE(ring + 1) != 0;
      if (!stop && idle < idle_looks) continue;
      EXCHANGE(ring + 2, 0);
      if (stop || (int)(LOAD_ACQUIRE(ring) - step) <= 0) return;
      EXCHANGE(ring + 2, 1);
      idle = 0;
    }
  }
}
