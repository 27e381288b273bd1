// How much of a simd kernel's work is in registers at a time. Not a source of its own; included where the options are known.
//
// Options: REGISTERS, how many float16 the processor's vector registers hold (AVX-512 32, AVX2 8). With TOKENS, before it is included:
//   RUN_REGISTERS, float16 of scales and minima that each block of 16 rows needs.
// SUMS: float16 of sums beside operands. AT_ONCE: of a work-item's BLOCKS, those that share a pass over a run of columns.
#ifndef REGISTERS
#define REGISTERS 32
#endif
#define SUMS (REGISTERS >= 32 ? 16 : 6)

#ifdef TOKENS
#define FITS(blocks) (BLOCKS % (blocks) == 0 && (TOKENS + RUN_REGISTERS) * (blocks) <= REGISTERS)
#define AT_ONCE (FITS(4) ? 4 : FITS(2) ? 2 : 1)
#else
#define AT_ONCE BLOCKS
#endif
