// One side of a launch of memory-ordering litmus tests. It follows kernels/litmus.cl step by step, which has the layout
// and the meaning of results.
//
// Orders: device-scope atomics, acquire and release over buffer memory; data are volatile, coherent accesses. Vulkan
//   promises only at submissions that the host and a running shader see each other's stores. So the tests show what the
//   driver does.
// Work mapping: the first of 8 invocations. lavapipe runs 8 at once whatever the work-group's size, and a loop goes on
//   until all of them leave it. An invocation outside the work-group reads zeros, so its wait would never end and would
//   count against the loop limit. Behind an `if` it does not run.
// Limits: `looks` bounds all waiting.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_memory_scope_semantics : require
#include "limits.h"

layout(local_size_x = 8) in;
layout(set = 0, binding = 0, std430) volatile buffer memory_block { uint memory[]; };
layout(push_constant) uniform Args { uint memory_offset, kind, side, round, looks, seed; };

#define LOAD_ACQUIRE(at) atomicLoad(memory[at], gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquire)
#define STORE_RELEASE(at, value) atomicStore(memory[at], value, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelease)

const uint INSTANCES = 128u, LINE = 16u, MESSAGE_PASSING = 0u, MANY_LINES = 1u, STORE_BUFFERING = 2u, FALSE_SHARING = 3u, BROKEN = 4u, DEPENDENT_READS = 8u,
           ADDITIONS = 32u, BROKEN_PAUSE = 64u;

uint mixed(uint x) {
  x = x * 747796405u + 2891336453u;
  x ^= x >> 15;
  x *= 0x2c1b3c6du;
  return x ^ (x >> 13);
}

void walk() {
  const uint mine = memory_offset + side * LINE, theirs = memory_offset + (1u - side) * LINE;
  const uint results = memory_offset + (2u + side * 8u) * LINE;
  const bool broken = kind >= BROKEN;
  const uint test = broken ? kind - BROKEN : kind;
  const uint stride = test == MANY_LINES ? 65u : 2u;
  uint left = looks;
  for (uint i = 0u; i < 128u; ++i) {
    const uint at = memory_offset + (18u + i * stride) * LINE;
    const uint here = round * (INSTANCES + 1u) + i, lines = test == MANY_LINES ? 1u + mixed(seed + i) % 64u : 1u;
    uint result = 0u;
    STORE_RELEASE(mine, here);
    // trips <= TANDEM_LITMUS_LOOKS / 128   all instances together take from one store of looks
    for (; left > 0u; --left) {
      const uint ahead = LOAD_ACQUIRE(theirs) - here;
      if (int(ahead) >= 0) {
        result = ahead <= 1u ? 4u : 0u;
        break;
      }
    }
    const uint moment = mixed(seed * 2u + side + 2u * INSTANCES * i) % 16u;
    // trips <= 16
    for (uint l = 0u; l < moment; ++l)
      if (LOAD_ACQUIRE(mine) == 0xffffffffu) break;
    if (test == STORE_BUFFERING) {
      STORE_RELEASE(at + side * LINE, round);
      result |= uint(LOAD_ACQUIRE(at + (1u - side) * LINE) == round);
    } else if (test == FALSE_SHARING) {
      // trips <= 32
      for (uint n = 0u; n < ADDITIONS; ++n) memory[at + (broken ? 0u : side)] += 1u;
    } else if (side == 0u) {
      if (broken) {
        STORE_RELEASE(at, round);
        // trips <= 64
        for (uint l = 0u; l < BROKEN_PAUSE; ++l)
          if (LOAD_ACQUIRE(mine) == 0xffffffffu) break;
      }
      // trips <= 64
      for (uint l = 0u; l < lines; ++l) memory[at + (1u + l) * LINE + l % LINE] = round;
      if (!broken) STORE_RELEASE(at, round);
    } else {
      result |= uint(LOAD_ACQUIRE(at) == round);
      if (test == MESSAGE_PASSING) {
        result |= uint(memory[at + LINE] == round) << 1;
      } else {
        // trips <= 1   from the same store of looks, counted above
        while ((result & 1u) == 0u && left > 0u) {
          --left;
          const bool gone = int(LOAD_ACQUIRE(theirs) - here) > 0;  // the left side stored its flag before it went on
          if (LOAD_ACQUIRE(at) == round) {
            result |= 1u | 8u;
          } else if (gone) {
            result |= 16u;
            break;
          }
        }
        if ((result & 1u) != 0u) {
          uint old = 0u;
          // trips <= 64
          for (uint l = 0u; l < lines; ++l) old += uint(memory[at + (1u + l) * LINE + l % LINE] != round);
          result |= old << 16;
        }
      }
    }
    memory[results + i] = result;
  }
  STORE_RELEASE(mine, round * (INSTANCES + 1u) + INSTANCES);
}

// Reads as many lines as there are looks; each line names the next one.
void read_chain() {
  uint line = round;
  // trips <= TANDEM_LITMUS_LOOKS
  for (uint left = looks; left > 0u; --left) line = memory[memory_offset + line * LINE];
  memory[memory_offset + (2u + side * 8u) * LINE] = line;
}

void main() {
  if (gl_LocalInvocationIndex == 0u) {
    if (kind == DEPENDENT_READS) {
      read_chain();
    } else {
      walk();
    }
  }
}
