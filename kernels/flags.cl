// Waits for flags and raises them inside kernels (H7): the part that gate.cl and list.cl share. Other kernels include
// this file; it is never built alone.
//
// Layout: lines of 16 words.
//   flag line (sync/flag.h)   0 epoch, 1 failure (2: raised twice or by a wrong epoch).
//   state line of the device  0 failure code (0 none, 1 a flag failed, 2 a wait ran out of time, 3 the host cancelled);
//                             1 serial number of the wait that failed; 2 serial number of the list that runs (list.cl).
// Orders: the acquire load pairs with Flag::raise() or with another device's raise_flag; the release store pairs
//   with Flag::epoch().
//   A failure propagates. A wait that fails poisons the device's state, and every later wait returns at once. Every
//   later signal sets its flag's failure word instead of the epoch, so that no waiter hangs.
// Limits: a wait takes at most `spins` looks (the device measures how long a look takes). With C11_ATOMICS the language
//   defines the orders. OpenCL C 1.2 offers nothing better than a fence and an atomic exchange; there the device's
//   start-up test decides.
#ifdef C11_ATOMICS
#define LOAD_ACQUIRE(p) \
  atomic_load_explicit((__global atomic_uint *)(p), memory_order_acquire, memory_scope_device)
#define STORE_RELEASE(p, value) \
  atomic_store_explicit((__global atomic_uint *)(p), (value), memory_order_release, memory_scope_device)
#else
INLINE uint load_acquire(volatile __global uint *p) {
  const uint value = *p;
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  return value;
}
INLINE void store_release(volatile __global uint *p, uint value) {
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  atomic_xchg(p, value);
}
#define LOAD_ACQUIRE(p) load_acquire(p)
#define STORE_RELEASE(p, value) store_release(p, value)
#endif

INLINE void wait_for_flag(volatile __global uint *line, const uint epoch, volatile __global uint *device, const uint serial,
                          const ulong spins) {
  uint code = 2;
  for (ulong spin = 0; spin < spins; ++spin) {
    if ((int)(LOAD_ACQUIRE(line) - epoch) >= 0) {
      code = LOAD_ACQUIRE(line + 1) ? 1 : 0;
      break;
    }
    if ((spin & 63) == 0) {
      if (LOAD_ACQUIRE(device) != 0) return;
      if (LOAD_ACQUIRE(line + 1) != 0) {
        code = 1;
        break;
      }
    }
  }
  if (code != 0 && LOAD_ACQUIRE(device) == 0) {
    device[1] = serial;
    STORE_RELEASE(device, code);
  }
}

// Only this signaller stores the flag's epoch. An epoch that is not above the last one was raised twice or by the wrong
// step (failure 2).
INLINE void raise_flag(volatile __global uint *line, const uint epoch, volatile __global uint *device) {
  if (LOAD_ACQUIRE(device) != 0) {
    STORE_RELEASE(line + 1, 1);
  } else if ((int)(epoch - line[0]) <= 0) {
    STORE_RELEASE(line + 1, 2);
  } else {
    STORE_RELEASE(line, epoch);
  }
}
