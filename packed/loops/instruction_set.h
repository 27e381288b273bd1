// The instruction sets that loops are compiled for, ascending: each has all instructions of the ones before it.
#pragma once

#include <cstdint>

namespace tandem {

enum class InstructionSet : uint8_t { portable, avx2, avx512 };
inline const char* to_string(InstructionSet set) {
  return set == InstructionSet::avx512 ? "avx512" : set == InstructionSet::avx2 ? "avx2" : "portable";
}

}  // namespace tandem
