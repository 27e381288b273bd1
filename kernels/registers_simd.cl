// Says how much of a simd kernel's work is in registers at a time. Kernels include this file after their options are
// defined; it is never built alone.
//
// Options: REGISTERS is the number of float16 that the processor's vector registers hold (AVX-512 32, AVX2 8). With
//   TOKENS the kernel also defines STRIP_REGISTERS before it includes this file: the float16 of scales and minima that
//   each block of 16 rows needs.
// SUMS is the number of float16 sums that fit beside the operands. AT_ONCE is the number of a work-item's BLOCKS that
// share a pass over a strip of columns.
#ifndef REGISTERS
#define REGISTERS 32
#endif
#define SUMS (REGISTERS >= 32 ? 16 : 6)

#ifdef TOKENS
#define FITS(blocks) (BLOCKS % (blocks) == 0 && (TOKENS + STRIP_REGISTERS) * (blocks) <= REGISTERS)
#define AT_ONCE (FITS(4) ? 4 : FITS(2) ? 2 : 1)
#else
#define AT_ONCE BLOCKS
#endif
