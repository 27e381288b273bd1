// Measures the cost of waiting. A step does a chosen amount of work, and the host checks its result. The host launches
// it like any kernel (probe_step), or a resident kernel takes it from shared memory (doorbell).
//
// Layout: lines of 16 words.
//   done (engine/device/lab/stepped_probe.h)  0 epoch, 4 value, 5 count of steps, 6-7 begin, 8-9 end, in cycles
//   bell                                      0 the step wanted, 1 stop, 2 resident (1: a doorbell kernel serves this
//                                             bell), 4 timed, 6-7 iterations of a step
// Orders: flags.cl. A step writes only to the flag's own line, so that one line changes hands.
//   The kernel clears `resident` and then looks at the bell again; the host rings and then looks at `resident`. Each
//   side writes one word and reads the other's, so both use exchanges. An exchange is ordered with everything before
//   and after it in every memory model that offers exchanges.
// Work mapping: one work-item.
// Limits: the doorbell ends after idle_looks looks at a bell that does not ring. HAS_CYCLES: the compiler can read the
//   processor's cycle counter.
#include "flags.cl"

#ifdef HAS_CYCLES
// The fences keep the reading after earlier work and before later work; the counter alone does not order them.
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

// `count` is the new value of line[5]. The caller counts, so that the kernel need not read the line while the host
// looks at it.
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
    line[4] = x + step;  // volatile: the chain is complete here
    times[1] = cycles();
  }
  line[4] = x + step;
  line[5] = count;
  STORE_RELEASE(line, step);
}

__kernel void probe_step(BUFFER(done), const uint step, const ulong iterations, const uint timed) {
  run_step(PTR(volatile uint, done), step, PTR(volatile uint, done)[5] + 1, iterations, timed);
}

// A step behind its gate in one kernel, as in the list kernel: starting a second queued kernel costs as much as the
// gate itself.
// The kernel reads the done line before it waits.
__kernel void gated_step(BUFFER(go), BUFFER(state), const uint serial, const ulong spins, BUFFER(done), const uint step, const ulong iterations,
                         const uint timed) {
  const uint count = PTR(volatile uint, done)[5] + 1;
  wait_for_flag(PTR(volatile uint, go), step, PTR(volatile uint, state), serial, spins);
  if (LOAD_ACQUIRE(PTR(volatile uint, state)) == 0) run_step(PTR(volatile uint, done), step, count, iterations, timed);
}

// A pause between looks at the bell, every fourth time. Looks without a pause delay the line on its way, by a quarter
// of the round trip between distant cores (measured). With a pause after each look the kernel sees the bell late, by
// half the round trip between near cores.
#ifdef __has_builtin
#if __has_builtin(__builtin_ia32_pause)
#define PAUSE() __builtin_ia32_pause()
#endif
#endif
#ifndef PAUSE
#define PAUSE()
#endif

__kernel void doorbell(BUFFER(bell), BUFFER(done), const ulong idle_looks) {
  volatile __global uint *ring = PTR(volatile uint, bell), *line = PTR(volatile uint, done);
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
