// The numbers that 4-bit codes stand for, for 16 rows at once; the simd kernels share it. Other kernels include this
// file; it is never built alone.
//
// Option BOOK: code_book.cl. A processor that looks up bytes or floats by one instruction does so.
#define WORDS uint16
#include "code_book.cl"

#if BOOK
#define FOUR_WORDS BOOK_WORD(0), BOOK_WORD(1), BOOK_WORD(2), BOOK_WORD(3)
#ifdef __clang__
#if defined(__AVX512BW__) && __has_builtin(__builtin_ia32_pshufb512)
#define LOOKUP_BYTES 64
#elif defined(__AVX2__) && __has_builtin(__builtin_ia32_pshufb256)
#define LOOKUP_BYTES 32
#endif
#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_permvarsf512)
#define LOOKUP_FLOATS
#endif
#endif

// The numbers of the codes in the bytes of 16 words, as signed bytes.
#if LOOKUP_BYTES == 64
INLINE uint16 numbers_of_rows(const uint16 codes) {
  const uint16 book = (uint16)(FOUR_WORDS, FOUR_WORDS, FOUR_WORDS, FOUR_WORDS);
  return __builtin_astype(__builtin_ia32_pshufb512(__builtin_astype(book, char64), __builtin_astype(codes, char64)), uint16);
}
#elif LOOKUP_BYTES == 32
INLINE uint8 numbers_of_eight(const uint8 codes) {
  const uint8 book = (uint8)(FOUR_WORDS, FOUR_WORDS);
  return __builtin_astype(__builtin_ia32_pshufb256(__builtin_astype(book, char32), __builtin_astype(codes, char32)), uint8);
}
INLINE uint16 numbers_of_rows(const uint16 codes) { return (uint16)(numbers_of_eight(codes.lo), numbers_of_eight(codes.hi)); }
#else
INLINE uint16 numbers_of_rows(const uint16 codes) { return numbers_of(codes); }
#endif

// Makes codes ready for number_of_byte(), which gives the numbers of the codes in byte `byte` of the words.
#ifdef LOOKUP_FLOATS
#define READY_CODES(words) (words)  // the lookup ignores all but the lowest four bits of a word
INLINE float16 number_of_byte(const uint16 words, const int byte) {
  const int16 book = convert_int16(__builtin_astype((uint4)(FOUR_WORDS), char16));
  return __builtin_ia32_permvarsf512(convert_float16(book), as_int16(words >> 8 * byte));
}
#else
#define READY_CODES(words) numbers_of_rows((words) & 0x0f0f0f0fu)
INLINE float16 number_of_byte(const uint16 numbers, const int byte) {
  return convert_float16(as_int16(numbers << 8 * (3 - byte)) >> 24);
}
#endif
#else
#define numbers_of_rows(codes) (codes)
#endif
