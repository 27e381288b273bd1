// One side of a launch of memory-ordering litmus tests (engine/device/lab/litmus.h defines them and the results that
// they forbid).
//
// Layout: lines of 16 words.
//   lines 0 and 1          how far the left and the right side are.
//   lines 2-9 and 10-17    a result word per instance, left and right.
//   lines from 18 on       the instances, each of 1 + 64 lines (many lines) or 2 lines.
//   In an instance, word 0 of line 0 is the flag (or x). The data (or y) is in the lines behind it, word l % 16 of line
//   1 + l. False sharing uses words 0 and 1 of line 0.
// Result: bits of a result word.
//   bit 0        the flag (or the other side's word) is new.
//   bit 1        the data is new.
//   bit 2        this side saw the other one at this instance.
//   bit 3        the flag arrived while this side waited for it.
//   bit 4        the left side went on while the flag was still old.
//   from bit 16  the number of lines that were old.
// Orders: flags.cl. Data are plain volatile accesses, like the results of a step.
// Work mapping: one work-item. Limits: `looks` bounds all waiting. engine/device/lab/litmus_thread.cpp and
//   shaders/litmus.comp do the same.
#include "flags.cl"

#define INSTANCES 128u
#define LINE 16u
#define MESSAGE_PASSING 0u
#define MANY_LINES 1u
#define STORE_BUFFERING 2u
#define FALSE_SHARING 3u
#define BROKEN 4u
#define DEPENDENT_READS 8u
#define ADDITIONS 32u
#define BROKEN_PAUSE 1024u
#define LONGEST_PAUSE_BITS 9

INLINE uint mixed(uint x) {
  x = x * 747796405u + 2891336453u;
  x ^= x >> 15;
  x *= 0x2c1b3c6du;
  return x ^ (x >> 13);
}

// Delays by looks at a word of this side that never has this value; a look takes some nanoseconds.
INLINE void pause_looks(volatile __global uint *mine, const uint looks) {
  for (uint i = 0; i < looks; ++i)
    if (LOAD_ACQUIRE(mine) == 0xffffffffu) return;
}

INLINE uint left_side(const uint test, const uint broken, volatile __global uint *flag, volatile __global uint *mine, const uint lines,
                      const uint round) {
  if (broken) {
    STORE_RELEASE(flag, round);
    pause_looks(mine, BROKEN_PAUSE);
  }
  for (uint l = 0; l < lines; ++l) flag[(1 + l) * LINE + l % LINE] = round;
  if (!broken) STORE_RELEASE(flag, round);
  return 0;
}

INLINE uint right_side(const uint test, volatile __global uint *flag, volatile __global uint *theirs, const uint lines, const uint round,
                       const uint here, uint *looks) {
  if (test == MESSAGE_PASSING) {
    const uint seen = LOAD_ACQUIRE(flag) == round;
    return seen | (flag[LINE] == round) << 1;
  }
  uint result = LOAD_ACQUIRE(flag) == round;
  while (!(result & 1) && *looks > 0) {
    --*looks;
    const uint gone = (int)(LOAD_ACQUIRE(theirs) - here) > 0;  // the left side stored its flag before it went on
    if (LOAD_ACQUIRE(flag) == round) {
      result |= 1 | 1 << 3;
    } else if (gone) {
      return result | 1 << 4;
    }
  }
  if (!(result & 1)) return result;
  uint old = 0;
  for (uint l = 0; l < lines; ++l) old += flag[(1 + l) * LINE + l % LINE] != round;
  return result | old << 16;
}

__kernel void litmus(BUFFER(memory), const uint kind, const uint side, const uint round, uint looks, const uint seed) {
  volatile __global uint *const words = PTR(volatile uint, memory);
  volatile __global uint *const mine = words + side * LINE, *const theirs = words + (1 - side) * LINE;
  volatile __global uint *const results = words + (2 + side * 8) * LINE;
  const uint broken = kind >= BROKEN, test = broken ? kind - BROKEN : kind;
  const uint stride = test == MANY_LINES ? 65 : 2;
  if (kind == DEPENDENT_READS) {  // each read is of the line that the read before it named
    uint line = round;
    for (; looks > 0; --looks) line = words[line * LINE];
    results[0] = line;
    return;
  }
  for (uint i = 0; i < INSTANCES; ++i) {
    volatile __global uint *const instance = words + (18 + i * stride) * LINE;
    const uint here = round * (INSTANCES + 1) + i, lines = test == MANY_LINES ? 1 + mixed(seed + i) % 64 : 1;
    uint result = 0;
    STORE_RELEASE(mine, here);
    for (; looks > 0; --looks) {
      const uint ahead = LOAD_ACQUIRE(theirs) - here;
      if ((int)ahead < 0) continue;
      result = ahead <= 1 ? 1 << 2 : 0;
      break;
    }
    const uint moment = mixed(seed * 2 + side + 2 * INSTANCES * i);
    pause_looks(mine, (moment >> 8) % (1u << moment % (LONGEST_PAUSE_BITS + 1)));
    if (test == STORE_BUFFERING) {
      STORE_RELEASE(instance + side * LINE, round);
      result |= LOAD_ACQUIRE(instance + (1 - side) * LINE) == round;
    } else if (test == FALSE_SHARING) {
      for (uint n = 0; n < ADDITIONS; ++n) instance[broken ? 0 : side] += 1;
    } else if (side == 0) {
      result |= left_side(test, broken, instance, mine, lines, round);
    } else {
      result |= right_side(test, instance, theirs, lines, round, here, &looks);
    }
    results[i] = result;
  }
  STORE_RELEASE(mine, round * (INSTANCES + 1) + INSTANCES);
}
