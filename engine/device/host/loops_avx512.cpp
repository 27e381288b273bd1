#define LOOPS_SET InstructionSet::avx512
#define LOOPS_TABLE kAvx512Loops
#include "engine/device/host/loops_all.h"
