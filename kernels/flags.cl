// Waiting for flags and raising them inside kernels (H7): the part that gate.cl and list.cl share. Not a source of its own; included.
//
// Layout: a flag line is 16 words, 0: epoch, 1: failure (sync/flag.h; 2: raised twice or by a wrong epoch). device is a state line of the device, 0: failure code (0 none, 1 a flag
//   failed, 2 a wait's time ran out, 3 cancelled by the host), 1: serial number of the wait that failed, 2: of the list that runs (list.cl).
// Orders: the acquire load pairs with Flag::raise() or with another device's raise_flag; the release store pairs with Flag::epoch().
//   A failure passes through: a wait that fails poisons the device's state, every later wait returns at once, and every later signal sets
//   its flag's failure word instead of the epoch, so that nobody hangs.
// Limits: a wait is bounded by `spins` looks (the device measures how long a look takes). With C11_ATOMICS the orders are the language's;
//   without (OpenCL C 1.2) a fence and an atomic exchange are the best there is, and the device's start-up test decides.
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

// The flag's last epoch is this signaller's own store: an epoch that is not above it was raised twice or by the wrong step (failure 2).
INLINE void raise_flag(volatile __global uint *line, const uint epoch, volatile __global uint *device) {
  if (LOAD_ACQUIRE(device) != 0) {
    STORE_RELEASE(line + 1, 1);
  } else if ((int)(epoch - line[0]) <= 0) {
    STORE_RELEASE(line + 1, 2);
  } else {
    STORE_RELEASE(line, epoch);
  }
}
