// The tables that packed/loops/act_loops.cpp chooses from. Only that file and the files with the tables include this.
#pragma once

#include "packed/loops/act_loops.h"

namespace tandem {

#if defined(__x86_64__)
extern const ActLoops kAvx2ActLoops, kAvxVnniActLoops, kVnniActLoops, kAmxActLoops;
#elif defined(__aarch64__)
extern const ActLoops kNeonActLoops;
#endif

}  // namespace tandem
